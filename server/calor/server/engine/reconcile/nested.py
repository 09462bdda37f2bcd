"""Child stacks: made, updated and deleted inside the same tree, in the same process, under the same lease."""

import asyncio
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calor.server.cloud.door import Cloud
from calor.server.engine.durable.reasons import bounded
from calor.server.engine.durable.tree import Tree, values_of
from calor.server.engine.reconcile import happenings, outputs
from calor.server.engine.reconcile.bench import Batch, Bench, WorkFailed
from calor.server.engine.reconcile.child_view import ChildView
from calor.server.engine.reconcile.context import ResourceContext
from calor.server.engine.reconcile.run import Outcome, Run
from calor.server.engine.reconcile.stopping import Stop, StopKind, StopReason
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.revision.blueprint import Blueprint
from calor.server.engine.revision.comparing import jsonable, same_template
from calor.server.engine.revision.naming import child_name
from calor.server.engine.revision.revisions import Blueprints
from calor.server.errors import RequestLimitExceeded
from calor.server.resources.base import Nested, ResourceType
from calor.server.store.models import Revision, Stack
from calor.server.store.rows import ResourceRow, RevisionRow, StackRow
from calor.server.store.states import Action, Status
from calor.server.store.writes import Insert, Remove, Write
from calor.server.template import parse_environment, parse_template, plain, resolve

REVISION_LOOKS, REVISION_PAUSE = 200, 0.01

_FINISHED = {
    Action.CREATE: "Stack CREATE completed successfully",
    Action.UPDATE: "Stack UPDATE completed successfully",
    Action.SUSPEND: "Stack SUSPEND completed successfully",
    Action.RESUME: "Stack RESUME completed successfully",
    Action.CHECK: "Stack CHECK completed successfully",
}


class ChildStacks:
    """All child stacks of one tree."""

    def __init__(self, tools: Tools, tree: Tree, blueprints: Blueprints, cloud: Cloud) -> None:
        self._tools = tools
        self._tree = tree
        self._blueprints = blueprints
        self._cloud = cloud
        self.runs: dict[str, Run] = {}
        self._drawn: dict[str, tuple[RevisionRow, Blueprint]] = {}

    def use(self, cloud: Cloud) -> None:
        """Other rights, from the next piece of work on."""
        self._cloud = cloud

    def run_of(self, stack_id: str) -> Run:
        return self.runs.setdefault(stack_id, Run(self._tree, stack_id))

    def supersede(self) -> None:
        for run in self.runs.values():
            run.supersede()

    async def landed(self) -> None:
        for run in list(self.runs.values()):
            await run.landed()

    async def kill(self) -> None:
        for run in list(self.runs.values()):
            await run.kill()

    def bench(self, stack_id: str, blueprint: Blueprint, batch: Batch | None = None) -> Bench:
        return Bench(self._tools, self._tree, stack_id, blueprint, self._cloud, self, batch or Batch())

    # --- what nested types need ------------------------------------------------------------------------

    def is_current(self, bench: Bench, row: ResourceRow, want: Any) -> bool:
        """Whether the child is COMPLETE, all in it is well, and its revision is what the type wants now."""
        child = self._tree.stacks.get(row.child_id or "")
        if child is None or child.status is not Status.COMPLETE or child.id not in self._drawn:
            return False
        if not self._is_well(child.id):
            return False
        revision, blueprint = self._drawn[child.id]
        nested = self._wanted(bench, row, want)
        environment, files = _surroundings(bench, row, nested)
        return (
            same_template(self._tools.sealing.value(revision.template), nested.template)
            and self._tools.sealing.value(revision.parameters) == jsonable(nested.parameters)
            and blueprint.model.environment.raw() == environment
            and dict(blueprint.files) == dict(files)
        )

    def _is_well(self, stack_id: str) -> bool:
        """Whether no resource of a child, or of what is nested in it, is marked unhealthy or has failed (F125)."""
        return all(
            (row.status is not Status.FAILED or row.replaced_by is not None or row.action is Action.DELETE)
            and (row.child_id is None or self._is_well(row.child_id))
            for row in self._tree.rows_of(stack_id)
        )

    async def prepare(self) -> None:
        """Read the revisions of all children, so that they can be compared without waiting."""
        for stack_id in list(self._tree.stacks):
            for _ in range(REVISION_LOOKS):
                if await self._is_drawn(stack_id):
                    break
                await asyncio.sleep(REVISION_PAUSE)

    async def _is_drawn(self, stack_id: str) -> bool:
        """Work in flight under the goal of before may give a child another revision while this one is read."""
        stack = self._tree.stacks.get(stack_id)
        if stack is None or stack.owner_id is None or stack.revision_id is None:
            return True
        known = self._drawn.get(stack_id)
        if known is not None and known[0].id == stack.revision_id:
            return True
        try:
            row = await self._blueprints.row(stack.revision_id)
            blueprint = await self._blueprints.of(stack, stack.revision_id)
        except LookupError:
            return False
        now = self._tree.stacks.get(stack_id)
        if now is not None and now.revision_id == row.id:
            self._drawn[stack_id] = row, blueprint
        return now is None or now.revision_id == row.id

    async def converge(self, bench: Bench, row: ResourceRow, want: Any, stop: Stop) -> ResourceRow:
        """Make or update the child. Raises `WorkFailed` with the child's deepest reason."""
        nested = self._wanted(bench, row, want)
        child, blueprint, row = await self._put(bench, row, nested)
        run = self.run_of(child.id)
        run.supersede()
        stop.tell(run.stop_all)
        timer = _timer(run, nested.timeout_mins)
        inner = self.bench(child.id, blueprint, _batch(_rule(bench, row, nested), blueprint))
        try:
            outcome = await run.converge(inner)
        finally:
            if timer is not None:
                timer.cancel()
        bench.changed = bench.changed or inner.changed
        if not outcome.is_good:
            await outputs.refreshed_failures(inner)
        elif inner.changed:
            await outputs.refreshed(inner)
        await self._finish(child.id, outcome, outputs=outputs.resolved(inner))
        return self._tree.rows[row.id]

    async def remove(self, bench: Bench, row: ResourceRow, stop: Stop) -> None:
        child = self._tree.stacks.get(row.child_id or "")
        if child is None:
            return
        now = self._tools.clock.now()
        await self._begin(child, Action.DELETE)
        run = self.run_of(child.id)
        run.supersede()
        stop.tell(run.stop_all)
        drawn = self._drawn.get(child.id)
        blueprint = drawn[1] if drawn is not None else await self._blueprints.of(child, None)
        outcome = await run.empty(self.bench(child.id, blueprint))
        if not outcome.is_good:
            await self._finish(child.id, outcome)
        reason = "Stack DELETE completed successfully"
        event = happenings.of_stack(child, Action.DELETE, Status.COMPLETE, reason, now)
        writes: list[Write] = [event, Remove(Revision, {"stack_id": child.id})]
        await self._tree.change_stack(
            child.id,
            *writes,
            action=Action.DELETE,
            status=Status.COMPLETE,
            status_reason=reason,
            deleted_at=now,
        )
        self._tree.forget_stack(child.id)
        self._drawn.pop(child.id, None)
        self.runs.pop(child.id, None)

    async def visit(self, bench: Bench, row: ResourceRow, action: str, stop: Stop) -> None:
        child = self._tree.stacks.get(row.child_id or "")
        if child is None:
            return
        what = Action(action)
        await self._begin(child, what)
        run = self.run_of(child.id)
        run.supersede()
        stop.tell(run.stop_all)
        outcome = await run.visit(self.bench(child.id, self._drawn[child.id][1]), what)
        await self._finish(child.id, outcome)

    async def attribute(
        self, bench: Bench, row: ResourceRow, kind: ResourceType[Any], at: ResourceContext, want: Any, path: Any
    ) -> Any:
        child = self._tree.stacks.get(row.child_id or "")
        if child is None or child.id not in self._drawn or not path:
            return None
        view = ChildView(self.bench(child.id, self._drawn[child.id][1]))
        return await kind.nested_attribute(at, view, want, str(path[0]), tuple(path[1:]))

    # --- inside ----------------------------------------------------------------------------------------

    def _wanted(self, bench: Bench, row: ResourceRow, want: Any) -> Nested:
        kind = bench.blueprint.kinds[row.name]
        members = [one.name for one in self._tree.rows_of(row.child_id)] if row.child_id else []
        was = None
        if row.child_id in self._drawn:
            revision, _ = self._drawn[row.child_id]
            given = self._tools.sealing.value(revision.parameters)
            was = Nested(
                template=self._tools.sealing.value(revision.template), parameters=given, file=revision.template_file
            )
        at = bench.context(row, kind)
        return kind.nested(at.incarnation(), want, was, list(dict.fromkeys(members)))

    async def _put(self, bench: Bench, row: ResourceRow, nested: Nested) -> tuple[StackRow, Blueprint, ResourceRow]:
        """The child with the revision that is wanted now, IN_PROGRESS, and durable."""
        limit = self._tools.settings.max_nested_stack_depth
        if bench.stack.depth + 1 > limit:
            raise RequestLimitExceeded(f"max_nested_stack_depth: stacks may be nested {limit} deep.")
        now = self._tools.clock.now()
        known = self._tree.stacks.get(row.child_id or "")
        child = known or self._fresh(bench, row)
        environment, files = _surroundings(bench, row, nested)
        blueprint = self._blueprints.draw(
            child,
            parse_template(nested.template, file=nested.file or f"template of {row.name}"),
            replace(parse_environment(environment), allowed=bench.blueprint.model.environment.allowed_below(row.name)),
            nested.parameters,
            files,
            facade_of(bench.blueprint, row.name, self._tools.sealing.value(row.meta) or {}, row.deletion_policy),
        )
        revision = self._blueprints.stored(
            str(uuid.uuid4()),
            child.id,
            nested.template,
            nested.parameters,
            blueprint,
            now,
            file=nested.file,
            files_of=None if nested.files is not None else self._tree.root.revision_id,
        )
        self._drawn[child.id] = revision, blueprint
        store = Insert(Revision, {name: getattr(revision, name) for name in RevisionRow.__slots__})
        if known is None:
            child = _with(child, revision_id=revision.id, description=blueprint.model.template.description)
            row = await self._store(row, child, store)
        else:
            former = Remove(Revision, {"id": child.revision_id})
            never = child.action is Action.CREATE and child.status is Status.IN_PROGRESS
            action = Action.CREATE if never else Action.UPDATE
            child = await self._begin(child, action, store, former, revision_id=revision.id)
        return child, blueprint, row

    async def _store(self, row: ResourceRow, child: StackRow, revision: Write) -> ResourceRow:
        """A new child and its owner's physical id, in one commit."""
        reason = "Stack CREATE started"
        event = happenings.of_stack(child, Action.CREATE, Status.IN_PROGRESS, reason, child.created_at)
        made = [Insert(Stack, values_of(child)), revision, event]
        row = await self._tree.change(row.id, *made, child_id=child.id, physical_id=child.id)
        self._tree.adopt(child)
        return row

    def _fresh(self, bench: Bench, row: ResourceRow) -> StackRow:
        now = self._tools.clock.now()
        parent = bench.stack
        return StackRow(
            id=str(uuid.uuid4()),
            name=child_name(parent.name, row.name, row.id),
            live_name=None,
            project_id=parent.project_id,
            user_id=parent.user_id,
            user_name=parent.user_name,
            root_id=parent.root_id,
            owner_id=parent.id,
            owner_resource_id=row.id,
            depth=parent.depth + 1,
            revision_id=None,
            good_revision_id=None,
            action=Action.CREATE,
            status=Status.IN_PROGRESS,
            status_reason="Stack CREATE started",
            description="",
            created_at=now,
            updated_at=None,
            deleted_at=None,
            started_at=now,
            timeout_mins=parent.timeout_mins,
            disable_rollback=True,
            tags=[],
            region=parent.region,
            credentials=None,
            outputs=None,
        )

    async def _begin(self, child: StackRow, action: Action, *more: Write, **values: Any) -> StackRow:
        now = self._tools.clock.now()
        reason = f"Stack {action.value} started"
        event = happenings.of_stack(child, action, Status.IN_PROGRESS, reason, now)
        if action is Action.UPDATE:
            values["updated_at"] = now
        return await self._tree.change_stack(
            child.id,
            event,
            *more,
            action=action,
            status=Status.IN_PROGRESS,
            status_reason=reason,
            started_at=now,
            **values,
        )

    async def _finish(self, child_id: str, outcome: Outcome, **values: Any) -> None:
        child = self._tree.stacks[child_id]
        now = self._tools.clock.now()
        status = Status.COMPLETE if outcome.is_good else Status.FAILED
        reason = _FINISHED.get(child.action, "") if outcome.is_good else failure_text(child.action, outcome)
        event = happenings.of_stack(child, child.action, status, reason, now)
        await self._tree.change_stack(child_id, event, status=status, status_reason=reason, **values)
        if not outcome.is_good:
            raise WorkFailed(outcome.reasons[0] if outcome.reasons else reason)


def failure_text(action: Action, outcome: Outcome) -> str:
    """The reason of a stack that failed: the deepest cause of the first failure, or why it was stopped."""
    if outcome.stopped is not None and outcome.stopped.kind is StopKind.TIMEOUT:
        detail = f": {outcome.reasons[0]}" if outcome.reasons else ""
        return bounded(f"{action.value.capitalize()} timed out{detail}")
    if outcome.stopped is not None and not outcome.reasons:
        return bounded(f"{action.value.capitalize()} aborted ({outcome.stopped.text})")
    return bounded(f"Resource {action.value} failed: {outcome.reasons[0]}") if outcome.reasons else "Unknown"


def _with(stack: StackRow, **values: Any) -> StackRow:
    return StackRow(**(values_of(stack) | values))


def _surroundings(bench: Bench, row: ResourceRow, nested: Nested) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    environment = bench.blueprint.model.environment
    inner = nested.environment if nested.environment is not None else environment.nested(row.name).raw()
    return inner, bench.blueprint.files if nested.files is None else nested.files


def facade_of(blueprint: Blueprint, name: str, metadata: Mapping[str, Any], policy: str) -> Mapping[str, Any]:
    """What a template that implements a resource may ask of it (``resource_facade``)."""
    definition = blueprint.definition(name)
    return {"metadata": metadata, "deletion_policy": policy} | {"update_policy": dict(definition.update_policy)}


def _rule(bench: Bench, row: ResourceRow, nested: Nested) -> Mapping[str, Any]:
    """The batch rule: the type's own, or that of the template's update policy for this action."""
    if nested.batch is not None:
        return nested.batch
    policy = bench.blueprint.definition(row.name).update_policy
    rule = policy.get("batch_create" if row.action is Action.CREATE else "rolling_update")
    found = plain(resolve(rule, bench.scope)) if rule else {}
    return {"max_batch_size": 1, **found} if rule is not None else {}


def _batch(rule: Mapping[str, Any], blueprint: Blueprint) -> Batch:
    """How many members change at once, and the pause between groups."""
    size = int(rule.get("max_batch_size") or 0)
    spare = len(blueprint.kinds) - int(rule.get("min_in_service") or 0)
    return Batch(max(1, min(size, spare)) if size else 0, float(rule.get("pause_time") or 0))


def _timer(run: Run, minutes: int | None) -> asyncio.TimerHandle | None:
    if not minutes:
        return None
    reason = StopReason(StopKind.TIMEOUT, f"timed out after {minutes} minutes")
    return asyncio.get_running_loop().call_later(minutes * 60, run.stop_all, reason)
