"""Which resource needs which: built by a visible list of small passes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from calor.server.errors import InvalidInput, Problem
from calor.server.template import Model


class CircularDependency(InvalidInput):
    """The cycle, in order, each needing the next; the last needs the first."""

    def __init__(self, cycle: Sequence[str], problem: Problem) -> None:
        super().__init__([problem])
        self.cycle = tuple(cycle)


@dataclass(frozen=True)
class Graph:
    """``requires[name]`` must exist before ``name``; all names are keys. ``order`` is topological, stable."""

    requires: Mapping[str, frozenset[str]]
    order: tuple[str, ...]

    def required_by(self, name: str) -> tuple[str, ...]:
        """Who needs ``name`` directly, sorted."""
        raise NotImplementedError

    def levels(self) -> list[list[str]]:
        """Groups that can be created at once; deletion goes the other way."""
        raise NotImplementedError


def build_graph(model: Model, hidden: Mapping[str, frozenset[str]] | None = None) -> Graph:
    """The graph of a model. ``hidden`` are further needs that types know of (`ResourceType.hidden_dependencies`).

    Raises `CircularDependency`.
    """
    raise NotImplementedError
