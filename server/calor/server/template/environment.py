"""Environments: parameters, defaults, the resource registry, hooks; several merged in order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from calor.server.errors import Problem


@dataclass(frozen=True, kw_only=True)
class Environment:
    """One environment, or several merged. ``resource_registry`` is the plain map as written."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    parameter_defaults: Mapping[str, Any] = field(default_factory=dict)
    parameter_merge_strategies: Mapping[str, str] = field(default_factory=dict)
    resource_registry: Mapping[str, Any] = field(default_factory=dict)
    encrypted_param_names: tuple[str, ...] = ()
    event_sinks: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[Problem, ...] = ()
    file: str = ""

    def raw(self) -> dict[str, Any]:
        """The plain mapping that ``environment show`` gives (hidden parameters are the caller's to mask)."""
        raise NotImplementedError

    def type_of(self, resource_type: str, resource_name: str = "") -> str:
        """What the registry maps a type to: another type or a template's file name. Itself where nothing maps it."""
        raise NotImplementedError

    def hooks(self, resource_name: str) -> frozenset[str]:
        """``pre-create`` … that are set for a resource; ``*`` patterns match names."""
        raise NotImplementedError

    def restricted_actions(self, resource_name: str) -> frozenset[str]:
        """Of ``update``, ``replace``."""
        raise NotImplementedError

    def nested(self, resource_name: str) -> "Environment":
        """The environment of a child stack: registry part below ``resources.NAME`` moved up, no parameters."""
        raise NotImplementedError


def parse_environment(text: str | Mapping[str, Any] | None, *, file: str = "environment") -> Environment:
    """Read one environment. Raises `InvalidInput` with all its problems."""
    raise NotImplementedError


def merge_environments(environments: Sequence[Environment]) -> Environment:
    """Merged in order by their merge strategies; later ones win. Conflicting strategies are `InvalidInput`."""
    raise NotImplementedError
