"""Which resource needs which: built by a visible list of small passes."""

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from calor.server.errors import InvalidInput, Problem
from calor.server.template import Model, ResourceDefinition, references

Edges = dict[str, set[str]]
"""Name → the names that it needs."""


class CircularDependency(InvalidInput):
    """The cycle, in order, each needing the next; the last needs the first."""

    def __init__(self, cycle: Sequence[str], problem: Problem) -> None:
        super().__init__([problem])
        self.cycle = tuple(cycle)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.cycle, self.problems[0])

    @property
    def type_name(self) -> str:
        return "CircularDependencyException"


@dataclass(frozen=True)
class Graph:
    """``requires[name]`` must exist before ``name``; all names are keys. ``order`` is topological and stable."""

    requires: Mapping[str, frozenset[str]]
    order: tuple[str, ...]
    dependents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def required_by(self, name: str) -> tuple[str, ...]:
        """Who needs ``name`` directly, sorted."""
        return self.dependents.get(name, ())

    def levels(self) -> list[list[str]]:
        """Groups that can be created at once, each sorted; deletion goes the other way."""
        level: dict[str, int] = {}
        for name in self.order:
            level[name] = max((level[need] + 1 for need in self.requires[name]), default=0)
        groups: list[list[str]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
        for name in sorted(level):
            groups[level[name]].append(name)
        return groups


@dataclass(frozen=True)
class Facts:
    """What the passes look at: the model, and what resource types know of it."""

    model: Model
    hidden: Mapping[str, frozenset[str]]
    loose: frozenset[str]


def explicit(facts: Facts, edges: Edges) -> None:
    """``depends_on``."""
    for name, resource in facts.model.resources.items():
        edges[name].update(resource.depends_on)


def implicit(facts: Facts, edges: Edges) -> None:
    """``get_resource`` and ``get_attr`` in properties and metadata; what is there already (``external_id``) needs
    nothing."""
    for name, resource in facts.model.resources.items():
        if resource.external_id is None:
            edges[name].update(use for use in _uses(resource))


def _uses(resource: ResourceDefinition) -> Iterator[str]:
    for tree in (resource.properties, resource.metadata):
        for use in references(tree):
            yield use.resource


def without_strangers(facts: Facts, edges: Edges) -> None:
    """Only resources of the model are nodes; those that nobody needs to wait for are dropped."""
    for name, needs in edges.items():
        edges[name] = {need for need in needs if need in edges and need not in facts.loose}


def of_types(facts: Facts, edges: Edges) -> None:
    """What types need though the template does not say so (a port its network's subnets).

    The user did not ask for these, so one that would close a circle is left out.
    """
    if not facts.hidden or len(_ordered(edges, _turned(edges))) < len(edges):
        return  # a circle that the template has itself is reported as it is
    for name in sorted(facts.hidden.keys() & edges.keys()):
        new = (need for need in facts.hidden[name] - facts.loose - edges[name] if need in edges and need != name)
        for need in sorted(new):
            if not _reaches(edges, need, name):
                edges[name].add(need)


def _reaches(edges: Edges, start: str, goal: str) -> bool:
    """Whether ``start`` needs ``goal``, directly or not."""
    seen, waiting = {start}, [start]
    while waiting:
        for need in edges[waiting.pop()] - seen:
            if need == goal:
                return True
            seen.add(need)
            waiting.append(need)
    return False


PASSES: tuple[Callable[[Facts, Edges], None], ...] = (explicit, implicit, without_strangers, of_types)


def build_graph(
    model: Model,
    hidden: Mapping[str, frozenset[str]] | None = None,
    loose: frozenset[str] = frozenset(),
) -> Graph:
    """The graph of a model. ``hidden`` are further needs that types know of (`ResourceType.hidden_dependencies`);
    ``loose`` are resources that their dependents need not wait for.

    A hidden need that would close a cycle is dropped: the user did not ask for it. Raises `CircularDependency`.
    """
    facts = Facts(model, hidden or {}, loose)
    edges: Edges = {name: set() for name in model.resources}
    for step in PASSES:
        step(facts, edges)
    dependents = _turned(edges)
    order = _ordered(edges, dependents)
    if len(order) < len(edges):
        raise _circle(model, edges, set(edges) - set(order))
    requires = {name: frozenset(needs) for name, needs in edges.items()}
    return Graph(requires, tuple(order), {name: tuple(names) for name, names in dependents.items()})


def _turned(edges: Edges) -> dict[str, list[str]]:
    dependents: dict[str, list[str]] = {name: [] for name in edges}
    for name in sorted(edges):
        for need in edges[name]:
            dependents[need].append(name)
    return dependents


def _ordered(edges: Edges, dependents: Mapping[str, Sequence[str]]) -> list[str]:
    """Topological; of what could come next, what stands first in the template. Nodes on cycles are left out."""
    place = {name: number for number, name in enumerate(edges)}
    names = list(edges)
    waiting = {name: len(needs) for name, needs in edges.items()}
    ready = [place[name] for name, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        name = names[heapq.heappop(ready)]
        order.append(name)
        for dependent in dependents[name]:
            waiting[dependent] -= 1
            if waiting[dependent] == 0:
                heapq.heappush(ready, place[dependent])
    return order


def _circle(model: Model, edges: Edges, left: set[str]) -> CircularDependency:
    """One cycle among the nodes that could not be ordered."""
    here = next(name for name in edges if name in left)
    path: dict[str, int] = {}
    while here not in path:
        path[here] = len(path)
        here = min(edges[here] & left, key=list(edges).index)
    cycle = list(path)[path[here] :]
    text = " → ".join([*cycle, cycle[0]])
    message = f"These resources need each other in a circle: {text}. Take one of the references away."
    problem = model.template.source.problem(
        message, model.template.path("resources", cycle[0]), code="circular-dependency"
    )
    return CircularDependency(cycle, problem)
