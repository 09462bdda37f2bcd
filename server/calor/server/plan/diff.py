"""Compares what is wanted with the rows that exist and says what to do, and why."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from calor.server.template.model import DeletionPolicy
from calor.server.template.properties import PropertySchema


class Action(enum.Enum):
    NONE = "none"
    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    DELETE = "delete"


@dataclass(frozen=True)
class Reason:
    """Why a step is what it is. ``property`` is the top-level property, ``""`` where it is another cause."""

    text: str
    property: str = ""
    forces_replacement: bool = False


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """One resource as the revision wants it; ``properties`` are converted (`template.convert`), may hold UNKNOWN."""

    name: str
    type: str
    properties: Mapping[str, Any]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    update_policy: Mapping[str, Any] = field(default_factory=dict)
    deletion_policy: DeletionPolicy = DeletionPolicy.DELETE
    external_id: str | None = None
    restricted_actions: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Existing:
    """One row: the current incarnation of a resource. ``properties`` are the converted ones it was last given."""

    id: str
    name: str
    type: str
    properties: Mapping[str, Any] | None  # None: it never had valid ones
    physical_id: str | None = None
    created: bool = True  # its create was completed once
    failed: bool = False  # its last action failed (a failed create or check replaces, a failed update is repeated)
    unhealthy: bool = False  # marked unhealthy
    metadata: Mapping[str, Any] = field(default_factory=dict)
    update_policy: Mapping[str, Any] = field(default_factory=dict)
    deletion_policy: DeletionPolicy = DeletionPolicy.DELETE
    external_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Step:
    """What to do with one resource. ``existing`` is None for CREATE, ``wanted`` for DELETE.

    ``changed`` are the changed top-level properties, ``unknown`` those of them that are known after create only
    (the step may turn out to be NONE). ``retain``: a DELETE or REPLACE leaves the physical resource alone.
    """

    name: str
    action: Action
    type: str
    reasons: tuple[Reason, ...] = ()
    changed: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    wanted: Wanted | None = None
    existing: Existing | None = None
    retain: bool = False
    refused: str = ""  # why the action is forbidden (restricted_actions)


class TypeRules(Protocol):
    """What the planner asks about types; the engine answers from its registry."""

    def schema(self, type_name: str) -> Mapping[str, PropertySchema]:
        """Empty for a type that is not known (then every change replaces)."""
        ...

    def canonical(self, type_name: str) -> str:
        """The same text for all aliases of one type (F128)."""
        ...

    def must_replace(
        self, type_name: str, was: Mapping[str, Any], want: Mapping[str, Any], changed: frozenset[str]
    ) -> str | None: ...

    def keeps(
        self, type_name: str, was: Mapping[str, Any], want: Mapping[str, Any], changed: frozenset[str]
    ) -> frozenset[str]: ...


def diff(wanted: Sequence[Wanted], existing: Sequence[Existing], rules: TypeRules) -> list[Step]:
    """One step for each wanted resource, in the order given, then a DELETE for each row that nobody wants."""
    raise NotImplementedError
