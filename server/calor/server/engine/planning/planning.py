"""What an update would do to a tree of stacks, resource by resource, nested ones included. Nothing is changed.

The steps are the planner's (`calor.server.plan`), as for the update itself; what has no row yet, or gets another
incarnation, is unknown to those that refer to it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from calor.server.cloud.door import Cloud
from calor.server.cloud.errors import CloudError
from calor.server.engine.contract.plan_views import PlannedStep, PropertyChange
from calor.server.engine.planning.inside import asked, drawn, unborn
from calor.server.engine.reconcile.deciding import has_names, known_step, stays
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.revision.blueprint import Blueprint, converted
from calor.server.engine.revision.kinds import schema
from calor.server.engine.revision.revisions import Blueprints
from calor.server.engine.revision.scope import StoredScope
from calor.server.errors import CalorError
from calor.server.plan import Action as Do
from calor.server.plan import Reason, Step
from calor.server.resources.base import Nested, ResourceType
from calor.server.store import queries
from calor.server.store.rows import ResourceRow, StackRow
from calor.server.store.states import Action, Status
from calor.server.template import (
    UNKNOWN,
    DeletionPolicy,
    mask,
    plain,
    resolve,
    reveal,
)

HIDDEN = "******"
INSIDE = "resources inside it change"
PERHAPS = "its condition is known after create: it may not be made"
PERHAPS_NOT = "its condition is known after create: it may be deleted"
REPLACED = frozenset({Do.CREATE, Do.REPLACE})


class PlannedScope:
    """What resources answer once the plan is carried out: as stored, but for those in ``fresh``, which will be new, and
    those attributes of the ones in ``moving`` that an update may change (None: any)."""

    def __init__(self, stored: StoredScope) -> None:
        self._stored = stored
        self.fresh: set[str] = set()
        self.moving: dict[str, frozenset[str] | None] = {}

    def reference(self, name: str) -> Any:
        return UNKNOWN if name in self.fresh else self._stored.reference(name)

    def attribute(self, name: str, path: Sequence[Any]) -> Any:
        moved = self.moving.get(name, frozenset())
        is_known = name not in self.fresh and moved is not None and (path[0] not in moved if path else not moved)
        return self._stored.attribute(name, path) if is_known else UNKNOWN


class Planner:
    """The plan of one tree. ``rows`` are those of all its stacks."""

    def __init__(
        self,
        tools: Tools,
        blueprints: Blueprints,
        cloud: Cloud,
        stacks: Mapping[str, StackRow],
        rows: Sequence[ResourceRow],
    ) -> None:
        self._tools = tools
        self._blueprints = blueprints
        self._cloud = cloud
        self._stacks = stacks
        self._rows: dict[str, list[ResourceRow]] = {}
        for row in rows:
            self._rows.setdefault(row.stack_id, []).append(row)

    async def of(self, stack: StackRow, blueprint: Blueprint, path: tuple[str, ...] = ()) -> list[PlannedStep]:
        """The steps of a stack and of what is nested in it, in the order of creation, deletions last."""
        rows = self._rows.get(stack.id, [])
        current = {row.name: row for row in rows if row.replaced_by is None and row.action is not Action.DELETE}
        scope = PlannedScope(StoredScope(stack.name, blueprint.kinds, current, self._tools.sealing))
        scope.fresh |= blueprint.model.undecided
        steps: list[PlannedStep] = []
        for name in blueprint.graph.order:
            row = current.get(name)
            steps += await self._wanted(stack, blueprint, name, row, scope, path)
        steps += _undecided(blueprint, current, path)
        kept = {row.id for row in current.values() if row.name in blueprint.kinds or row.name in blueprint.perhaps}
        for row in rows:
            if row.id not in kept:
                text = "an earlier incarnation, no longer used" if row.name in blueprint.kinds else ""
                steps += self._gone(blueprint, row, path, text or "no longer in the template")
        return steps

    async def _wanted(
        self,
        stack: StackRow,
        blueprint: Blueprint,
        name: str,
        row: ResourceRow | None,
        scope: PlannedScope,
        path: tuple[str, ...],
    ) -> list[PlannedStep]:
        kind, here = blueprint.kinds[name], (*path, name)
        want = await self._properties(blueprint, name, scope, row)
        step = self._step(blueprint, name, row, want, scope)
        if step.action in REPLACED:
            scope.fresh.add(name)
        inner: list[PlannedStep] = []
        if kind.is_nested:
            living = row if step.action not in REPLACED else None
            inner = await self._nested(stack, blueprint, kind, living, name, want, here)
            busy = any(one.action is not Do.NONE for one in inner)
            if step.action is Do.NONE and busy:
                step = Step(name=name, action=Do.UPDATE, type=step.type, reasons=(Reason(INSIDE),))
            if step.action is Do.REPLACE and row is not None:
                inner = [*inner, *self._below(blueprint, row, here, "its stack is replaced")]
        if step.action is Do.UPDATE:
            scope.moving[name] = None if kind.is_nested else kind.changing_attributes(step.changed)
        return [self._shown(step, kind, row, want, here), *inner]

    async def _properties(
        self, blueprint: Blueprint, name: str, scope: PlannedScope, row: ResourceRow | None
    ) -> Mapping[str, Any]:
        kind, given = blueprint.kinds[name], None
        if kind.set_by and row is not None and stays(row, blueprint.definition(name).type):
            given = self._tools.sealing.value(row.properties)
        values: Mapping[str, Any] = plain(converted(blueprint, name, scope, given)[0])
        if not has_names(kind):
            return values
        try:
            return await self._tools.lookup.resolve_names(self._cloud, schema(kind), values)
        except CloudError:  # what is not there yet, or cannot be asked: the name stands for itself
            return values

    def _step(
        self, blueprint: Blueprint, name: str, row: ResourceRow | None, want: Mapping[str, Any], scope: PlannedScope
    ) -> Step:
        definition, kind = blueprint.definition(name), blueprint.kinds[name]
        if row is None:
            return Step(name=name, action=Do.CREATE, type=definition.type)
        if row.external or definition.external_id is not None:
            return Step(name=name, action=Do.NONE, type=definition.type)
        if cause := _cause(row, kind):
            reasons = (Reason(cause, forces_replacement=True),)
            return Step(name=name, action=Do.REPLACE, type=definition.type, reasons=reasons, retain=_retains(row))
        restricted = blueprint.model.environment.restricted_actions(name)
        step = known_step(self._tools.sealing, kind, row, definition.type, want, restricted=restricted)
        more = tuple(Reason(text) for text in self._other_reasons(blueprint, name, row, scope))
        if step.action is not Do.REPLACE and more:
            step = _with(step, Do.UPDATE, (*step.reasons, *more))
        return step

    def _other_reasons(self, blueprint: Blueprint, name: str, row: ResourceRow, scope: PlannedScope) -> Iterator[str]:
        metadata = blueprint.definition(name).metadata
        known = (self._tools.sealing.value(row.meta) or {}) if row.meta else {}
        wanted = plain(resolve(metadata, scope)) if metadata else {}
        if reveal(blueprint.kinds[name].new_metadata(known, wanted)) != reveal(known):
            yield "the metadata changes"
        if row.status is Status.FAILED:
            yield "its last action failed"

    def _shown(
        self,
        step: Step,
        kind: ResourceType[Any],
        row: ResourceRow | None,
        want: Mapping[str, Any],
        here: tuple[str, ...],
    ) -> PlannedStep:
        was = {} if row is None else self._tools.sealing.value(row.properties) or {}
        if step.action is Do.CREATE:
            names = [name for name, value in want.items() if value is not None]
        else:
            names = sorted(step.changed)
        forcing = {reason.property for reason in step.reasons if reason.forces_replacement}
        shown_was, shown_want = mask(was, HIDDEN), mask(want, HIDDEN)
        changes = [
            PropertyChange(
                name=name, old=shown_was.get(name), new=shown_want.get(name), forces_replacement=name in forcing
            )
            for name in names
        ]
        loss = _loss(step, kind, was, want)
        return PlannedStep(
            path=here,
            type=step.type,
            action=step.action,
            reasons=_once([*(_sentence(reason) for reason in step.reasons), *([loss] if loss else [])]),
            changes=tuple(changes),
            physical_id=None if row is None else row.physical_id,
            destroys_data=loss is not None,
            retain=step.retain,
            refused=step.refused,
        )

    # --- nested -----------------------------------------------------------------------------------------

    async def _nested(
        self,
        stack: StackRow,
        blueprint: Blueprint,
        kind: ResourceType[Any],
        row: ResourceRow | None,
        name: str,
        want: Mapping[str, Any],
        here: tuple[str, ...],
    ) -> list[PlannedStep]:
        """What happens inside; nothing where the members depend on what is known after create only."""
        if len(here) > self._tools.settings.max_nested_stack_depth:
            return []
        child = self._stacks.get(row.child_id or "") if row is not None else None
        was = await self._former(child)
        members = [one.name for one in self._rows.get(child.id, ())] if child is not None else []
        try:
            nested = asked(kind, name, want, row, was, members)
            if nested is None:
                return []
            inner = drawn(self._blueprints, self._tools.sealing, child or stack, blueprint, name, row, nested)
        except CalorError:  # what is wrong inside was told when the request was checked, or is known after create
            return []
        return await self.of(child or unborn(stack, name), inner, here)

    async def _former(self, child: StackRow | None) -> Nested | None:
        if child is None or child.revision_id is None:
            return None
        row = await queries.revision(self._tools.database, child.revision_id)
        if row is None:
            return None
        value = self._tools.sealing.value
        return Nested(template=value(row.template), parameters=value(row.parameters), file=row.template_file)

    def _gone(self, blueprint: Blueprint, row: ResourceRow, path: tuple[str, ...], why: str) -> list[PlannedStep]:
        kind, here, retain = self._tools.registry.get(row.type), (*path, row.name), _retains(row)
        step = PlannedStep(
            path=here,
            type=row.type,
            action=Do.DELETE,
            reasons=(why,),
            physical_id=row.physical_id,
            destroys_data=bool(kind is not None and kind.holds_data) and not retain,
            retain=retain,
        )
        return [step, *([] if retain else self._below(blueprint, row, here, "its stack is deleted"))]

    def _below(self, blueprint: Blueprint, row: ResourceRow, here: tuple[str, ...], why: str) -> list[PlannedStep]:
        found = []
        for one in self._rows.get(row.child_id or "", ()):
            found += self._gone(blueprint, one, here, why)
        return found


def _undecided(
    blueprint: Blueprint, current: Mapping[str, ResourceRow], path: tuple[str, ...]
) -> Iterator[PlannedStep]:
    """What is made, changed or deleted by a condition whose value is there only later."""
    for name, kind in blueprint.perhaps.items():
        row = current.get(name)
        destroys = row is not None and kind.holds_data and not _retains(row)
        yield PlannedStep(
            path=(*path, name),
            type=blueprint.model.template.resources[name].type,
            action=Do.CREATE if row is None else Do.UPDATE,
            reasons=(PERHAPS if row is None else PERHAPS_NOT,),
            physical_id=None if row is None else row.physical_id,
            destroys_data=destroys,
        )


def _cause(row: ResourceRow, kind: ResourceType[Any]) -> str:
    """Why a resource is made anew whatever its properties are."""
    if row.action is Action.CHECK and row.status is Status.FAILED and not (kind.is_nested and row.child_id):
        return "it is marked unhealthy, or its check failed"
    if row.properties is None or (row.action is Action.CREATE and row.status is not Status.COMPLETE):
        return "" if kind.is_nested and row.child_id else "its creation did not end well"
    return ""


def _loss(step: Step, kind: ResourceType[Any], was: Mapping[str, Any], want: Mapping[str, Any]) -> str | None:
    """Why what users have put into a resource that goes on is lost; empty where the step says it already."""
    if not kind.holds_data or step.retain:
        return None
    if step.action is Do.REPLACE:
        return ""
    return kind.overwrites(was, want, step.changed) if step.action is Do.UPDATE else None


def _retains(row: ResourceRow) -> bool:
    return row.deletion_policy == DeletionPolicy.RETAIN.value or row.external


def _with(step: Step, action: Do, reasons: tuple[Reason, ...]) -> Step:
    return Step(
        name=step.name,
        action=action,
        type=step.type,
        reasons=reasons,
        changed=step.changed,
        unknown=step.unknown,
        refused=step.refused,
    )


def _once(sentences: Sequence[str]) -> tuple[str, ...]:
    """Without those that are said twice, or that are the beginning of another: ``a changes``, ``a changes and …``."""
    found = dict.fromkeys(sentences)
    return tuple(one for one in found if not any(other.startswith(f"{one} and ") for other in found))


def _sentence(reason: Reason) -> str:
    if reason.property and reason.forces_replacement:
        return f"the property {reason.property!r} cannot be updated in place"
    return reason.text
