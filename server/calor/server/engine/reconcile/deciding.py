"""What a revision wants of one resource, and which of its incarnations can become that. Decides; does nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from calor.server.engine.durable.sealing import Sealing
from calor.server.engine.reconcile import attributes
from calor.server.engine.reconcile.bench import Bench
from calor.server.engine.revision.kinds import Rules, schema, typed
from calor.server.engine.revision.scope import key_of
from calor.server.plan import Action as Do
from calor.server.plan import Existing, Step, Wanted, diff
from calor.server.resources.base import ResourceType
from calor.server.resources.registry import aliased
from calor.server.store.rows import ResourceRow
from calor.server.store.states import Action, Status
from calor.server.template import DeletionPolicy, plain, resolve, reveal
from calor.server.template.properties import Custom, PropertySchema


@dataclass(frozen=True, kw_only=True)
class Want:
    """``properties`` are converted, with the names of cloud objects turned into ids."""

    name: str
    type: str
    properties: Mapping[str, Any]
    metadata: Mapping[str, Any]
    deletion_policy: str
    external_id: str | None
    requires: tuple[str, ...]
    restricted: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Choice:
    """``row`` is the incarnation to keep or update, or the one to be replaced; ``discard`` are failed creations that
    go before a new one is made, since they may hold its name."""

    action: Do
    row: ResourceRow | None = None
    changed: frozenset[str] = frozenset()
    discard: tuple[ResourceRow, ...] = ()
    refused: str = ""


async def wanted(bench: Bench, name: str) -> Want:
    """Raises `InvalidInput` for values that only now turn out to be wrong."""
    definition, kind = bench.blueprint.definition(name), bench.blueprint.kinds[name]
    await attributes.refresh_moved(bench, name)
    properties = bench.blueprint.properties(name, bench.scope, _given(bench, name, definition.type))
    if has_names(kind):
        properties = await bench.tools.lookup.resolve_names(bench.cloud, schema(kind), properties)
    external = reveal(resolve(definition.external_id, bench.scope)) if definition.external_id is not None else None
    policy = definition.deletion_policy
    return Want(
        name=name,
        type=definition.type,
        properties=properties,
        metadata=plain(resolve(definition.metadata, bench.scope)) if definition.metadata else {},
        deletion_policy=policy.value if isinstance(policy, DeletionPolicy) else str(policy),
        external_id=None if external is None else str(external),
        requires=tuple(sorted(bench.blueprint.graph.requires[name])),
        restricted=bench.blueprint.model.environment.restricted_actions(name),
    )


def _given(bench: Bench, name: str, type_name: str) -> Mapping[str, Any] | None:
    """What the incarnation that may stay was given, where the operator's options matter for its type."""
    if not bench.blueprint.kinds[name].set_by:
        return None
    rows = [row for row in bench.tree.named(bench.stack_id, name) if stays(row, type_name)]
    return bench.tools.sealing.value(rows[0].properties) if rows else None


def stays(row: ResourceRow, type_name: str) -> bool:
    """Whether a row has an incarnation of the type whose creation has ended well."""
    if row.properties is None or not same_type(row, type_name) or row.action is Action.DELETE:
        return False
    return row.action is not Action.CREATE or row.status is Status.COMPLETE


def same_type(row: ResourceRow, type_name: str) -> bool:
    """Also under another name of the type (F128)."""
    return aliased(row.type) == aliased(type_name)


_NAMED: dict[type[Any], bool] = {}


def has_names(kind: ResourceType[Any]) -> bool:
    """Whether any property may be the name of a cloud object."""
    known = _NAMED.get(type(kind))
    if known is None:
        known = _NAMED[type(kind)] = any(_names(one) for one in schema(kind).values())
    return known


def _names(one: PropertySchema) -> bool:
    return any(isinstance(rule, Custom) for rule in one.constraints) or any(
        _names(inner) for inner in (one.schema or {}).values()
    )


def choose(bench: Bench, name: str, want: Want) -> Choice:
    """The newest incarnation that can stay; going back to an older one beats making another (F014)."""
    discard: list[ResourceRow] = []
    predecessor: ResourceRow | None = None
    changed: frozenset[str] = frozenset()
    refused = ""
    for row in bench.tree.named(bench.stack_id, name):
        if row.action is Action.DELETE:
            if row.replaced_by is None:  # its deletion was cut short, and now the name is wanted again
                discard.append(row)
            continue
        if row.properties is None or (row.action is Action.CREATE and row.status is not Status.COMPLETE):
            if bench.blueprint.kinds[name].is_nested and row.child_id and same_type(row, want.type):
                return Choice(action=Do.UPDATE, row=row)  # its good members stay (F125)
            discard.append(row)
            continue
        choice = _as_is(bench, row, want)
        if choice.action in (Do.NONE, Do.UPDATE):
            return choice
        if predecessor is None:
            predecessor, changed, refused = row, choice.changed, choice.refused
    return Choice(
        action=Do.CREATE if predecessor is None else Do.REPLACE,
        row=predecessor,
        changed=changed,
        discard=tuple(discard),
        refused=refused,
    )


def _as_is(bench: Bench, row: ResourceRow, want: Want) -> Choice:
    if want.external_id is not None or row.external:
        return _external(row, want)
    if row.action is Action.CHECK and row.status is Status.FAILED:
        has_members = bench.blueprint.kinds[want.name].is_nested and row.child_id is not None
        return Choice(action=Do.UPDATE if has_members else Do.REPLACE, row=row)  # inside, what is unwell is replaced
    step = _step(bench, row, want, row.properties)
    action, changed = step.action, step.changed
    if row.pending is not None and row.pending != row.properties and action is not Do.REPLACE:
        begun = _step(bench, row, want, row.pending)  # an update began: what it may have changed is changed, too
        changed = changed | begun.changed
        action = Do.UPDATE if changed or action is Do.UPDATE else Do.NONE
    if action is Do.NONE and _goes_on(bench, row, want):
        action = Do.UPDATE
    if action is Do.UPDATE and not changed and row.status is Status.FAILED and not row.pending:
        action = Do.NONE
    return Choice(action=action, row=row, changed=changed, refused=step.refused)


def _goes_on(bench: Bench, row: ResourceRow, want: Want) -> bool:
    """Same properties, yet something to do: other metadata, or a child stack that is not as wanted."""
    kind = bench.blueprint.kinds[want.name]
    known = (bench.tools.sealing.value(row.meta) or {}) if row.meta else {}
    if kind.new_metadata(known, want.metadata) != known:
        return True
    return kind.is_nested and not bench.children.is_current(bench, row, typed(kind, want.properties))


def _external(row: ResourceRow, want: Want) -> Choice:
    if row.external and row.physical_id == want.external_id:
        return Choice(action=Do.NONE, row=row)
    refused = "NotSupported: Update to property external_id is not supported."
    return Choice(action=Do.REPLACE, row=row, refused=refused)


def _step(bench: Bench, row: ResourceRow, want: Want, applied: str | None) -> Step:
    if applied is not None and same_type(row, want.type) and applied == bench.tools.sealing.text(want.properties):
        return Step(name=want.name, action=Do.NONE, type=want.type)
    kind = bench.blueprint.kinds[want.name]
    return known_step(
        bench.tools.sealing, kind, row, want.type, want.properties, applied=applied, restricted=want.restricted
    )


def known_step(
    sealing: Sealing,
    kind: ResourceType[Any],
    row: ResourceRow,
    type_name: str,
    properties: Mapping[str, Any],
    *,
    applied: str | None = None,
    restricted: frozenset[str] = frozenset(),
) -> Step:
    """The planner's step from a row to what is wanted. ``applied``: other properties than the row's."""
    existing = Existing(
        id=row.id,
        name=row.name,
        type=row.type,
        properties=sealing.value(applied or row.properties),
        physical_id=row.physical_id,
    )
    wish = Wanted(name=row.name, type=type_name, properties=properties, restricted_actions=restricted)
    return diff([wish], [existing], Rules(kind))[0]


def has_attributes(bench: Bench, row: ResourceRow, paths: Iterable[tuple[Any, ...]]) -> bool:
    """Whether all that the revision refers to is stored."""
    known = bench.tools.sealing.value(row.attributes) or {}
    names, by_path = known.get("names", {}), known.get("paths", {}).keys() | known.get("faults", {}).keys()
    return all((path[0] in names if path else bool(names)) or key_of(path) in by_path for path in paths)
