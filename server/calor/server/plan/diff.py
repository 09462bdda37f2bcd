"""Compares what is wanted with the rows that exist and says what to do, and why."""

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from calor.server.template import UNKNOWN, DeletionPolicy, has_unknown, reveal
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
    """One row: an incarnation of a resource. ``properties`` are the converted ones it was last given.

    Of several rows of one name the last is the current one; the others are left-overs to delete.
    """

    id: str
    name: str
    type: str
    properties: Mapping[str, Any] | None  # None: it never had valid ones
    physical_id: str | None = None
    created: bool = True  # its create was completed once
    failed: bool = False  # its last action failed: a create that never completed replaces, an update is repeated
    unhealthy: bool = False  # marked unhealthy, or its check failed: it is replaced
    metadata: Mapping[str, Any] = field(default_factory=dict)
    update_policy: Mapping[str, Any] = field(default_factory=dict)
    deletion_policy: DeletionPolicy = DeletionPolicy.DELETE
    external_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Step:
    """What to do with one resource. ``existing`` is None for CREATE, ``wanted`` for DELETE.

    ``changed`` are the changed top-level properties, ``unknown`` those of them that are known after create only
    (the step may turn out to be NONE). ``retain``: a DELETE or REPLACE leaves the physical resource alone.
    ``refused``: why the action is forbidden (restricted_actions, an immutable property); empty if it is not.
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
    refused: str = ""


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
    ) -> str | None:
        """`ResourceType.must_replace`; ``changed`` has only properties whose new value is known."""
        ...

    def keeps(
        self, type_name: str, was: Mapping[str, Any], want: Mapping[str, Any], changed: frozenset[str]
    ) -> frozenset[str]:
        """`ResourceType.keeps`; values in ``want`` may be UNKNOWN."""
        ...


def diff(wanted: Sequence[Wanted], existing: Sequence[Existing], rules: TypeRules) -> list[Step]:
    """One step for each wanted resource, in the order given, then a DELETE for each row that nobody wants."""
    rows = {row.name: row for row in existing}
    names = {want.name for want in wanted}
    steps = [decide(want, rows.get(want.name), rules) for want in wanted]
    current = {row.id for row in rows.values() if row.name in names}
    return [*steps, *(_delete(row, in_template=row.name in names) for row in existing if row.id not in current)]


def _delete(row: Existing, *, in_template: bool) -> Step:
    text = "an earlier incarnation, no longer used" if in_template else "no longer in the template"
    return Step(
        name=row.name,
        action=Action.DELETE,
        type=row.type,
        reasons=(Reason(text),),
        existing=row,
        retain=_retains(row),
    )


def _retains(row: Existing) -> bool:
    return row.deletion_policy is DeletionPolicy.RETAIN or row.external_id is not None


def decide(want: Wanted, row: Existing | None, rules: TypeRules) -> Step:
    """The step for one wanted resource and its current row."""
    if row is None:
        unknown = frozenset(name for name, value in want.properties.items() if has_unknown(value))
        return Step(name=want.name, action=Action.CREATE, type=want.type, unknown=unknown, wanted=want)
    step = Step(name=want.name, action=Action.NONE, type=want.type, wanted=want, existing=row)
    cause = _cause_to_replace(want, row, rules)
    if cause:
        reason = Reason(cause, forces_replacement=True)
        return _guarded(replace(step, action=Action.REPLACE, reasons=(reason,), retain=_retains(row)))
    return _guarded(_compared(step, want, row, rules))


def _cause_to_replace(want: Wanted, row: Existing, rules: TypeRules) -> str:
    """A cause that no comparison of properties is needed for."""
    if rules.canonical(want.type) != rules.canonical(row.type):
        return f"the type changes from {row.type} to {want.type}"
    if row.external_id != want.external_id:
        return f"the external id changes from {row.external_id!r} to {want.external_id!r}"
    if row.unhealthy:
        return "it is marked unhealthy"
    if row.failed and not row.created:
        return "its creation failed"
    if row.properties is None:
        return "it never had valid properties"
    return ""


def _compared(step: Step, want: Wanted, row: Existing, rules: TypeRules) -> Step:
    was = row.properties or {}
    schema = rules.schema(want.type)
    changes = {
        name: unknown
        for name, unknown in compare(was, want.properties)
        if unknown or not _same_set(schema.get(name), was.get(name), want.properties.get(name))
    }
    changed = frozenset(changes)
    kept = rules.keeps(want.type, was, want.properties, changed) if changed else frozenset()
    reasons = [_property_reason(name, changes[name], schema.get(name), name in kept) for name in sorted(changes)]
    known = frozenset(name for name, unknown in changes.items() if not unknown)
    demanded = rules.must_replace(want.type, was, want.properties, known) if known else None
    if demanded:
        reasons.append(Reason(demanded, forces_replacement=True))
    reasons += [Reason(text) for text in _other_changes(want, row)]
    action = Action.NONE
    if any(reason.forces_replacement for reason in reasons):
        action = Action.REPLACE
    elif reasons:
        action = Action.UPDATE
    immutable = [name for name in sorted(changed) if name in schema and schema[name].immutable]
    return replace(
        step,
        action=action,
        reasons=tuple(reasons),
        changed=changed,
        unknown=changed - known,
        retain=action is Action.REPLACE and _retains(row),
        refused=f"the property {immutable[0]!r} cannot be changed" if immutable else "",
    )


def _property_reason(name: str, unknown: bool, schema: PropertySchema | None, kept: bool) -> Reason:
    forces = not kept and (schema is None or not schema.update_allowed)
    text = f"{name} changes" + (" (known after create)" if unknown else "")
    return Reason(text, property=name, forces_replacement=forces)


def _other_changes(want: Wanted, row: Existing) -> Iterator[str]:
    if not same(row.metadata, want.metadata):
        yield "the metadata changes"
    if not same(row.update_policy, want.update_policy):
        yield "the update policy changes"
    if row.deletion_policy is not want.deletion_policy:
        yield f"the deletion policy changes to {want.deletion_policy.value}"
    if row.failed:
        yield "its last action failed"


def _guarded(step: Step) -> Step:
    """The step, refused where the environment restricts the action."""
    if step.refused or step.wanted is None or step.action.value not in step.wanted.restricted_actions:
        return step
    return replace(step, refused=f"the environment forbids to {step.action.value} this resource (restricted_actions)")


def compare(was: Mapping[str, Any], want: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """The top-level properties that differ, with whether that is known after create only. None equals absence."""
    for name in dict.fromkeys([*was, *want]):
        old, new = was.get(name), want.get(name)
        if has_unknown(new):
            yield name, True
        elif not same(old, new):
            yield name, False


def _same_set(schema: PropertySchema | None, old: Any, new: Any) -> bool:
    """Whether two lists differ in their order only, which means nothing of such a property (F123)."""
    if schema is None or not schema.unordered:
        return False
    old, new = reveal(old), reveal(new)
    if not isinstance(old, list | tuple) or not isinstance(new, list | tuple) or len(old) != len(new):
        return False
    left = list(old)
    for item in new:
        if item not in left:
            return False
        left.remove(item)
    return True


def same(old: Any, new: Any) -> bool:
    """Equal in value, however it is wrapped. What is unknown equals nothing."""
    return old is not UNKNOWN and new is not UNKNOWN and bool(reveal(old) == reveal(new))
