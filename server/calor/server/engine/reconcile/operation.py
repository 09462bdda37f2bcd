"""Drives one tree from what was asked of it to a final state. Level-triggered: it reads the root's row, works towards
it, and reads again; a new request, a crash or a roll-back only changes what it reads."""

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from calor.server.cloud.credentials import Credentials
from calor.server.cloud.door import Cloud
from calor.server.cloud.errors import CloudError
from calor.server.engine.durable.leases import Leases
from calor.server.engine.durable.reasons import bounded, of_exception, placed
from calor.server.engine.durable.tree import Tree
from calor.server.engine.reconcile import breakpoints, failing, happenings, outputs
from calor.server.engine.reconcile.bench import Bench, Superseded
from calor.server.engine.reconcile.failing import Unfinished
from calor.server.engine.reconcile.nested import ChildStacks, failure_text
from calor.server.engine.reconcile.run import Outcome
from calor.server.engine.reconcile.stopping import StopKind, StopReason
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.revision.revisions import Blueprints
from calor.server.errors import CalorError
from calor.server.identity import SealBroken
from calor.server.store.models import Revision
from calor.server.store.rows import StackRow
from calor.server.store.states import Action, Status
from calor.server.store.writes import LeaseLost, Remove, Write

log = logging.getLogger(__name__)

TIMED_OUT = StopReason(StopKind.TIMEOUT, "timed out")
_ROLLING_BACK = "Rolling back: "
_VISITS = frozenset({Action.SUSPEND, Action.RESUME, Action.CHECK})


class Operation:
    """The work on one tree. ``lock`` guards the root's row: requests and endings take turns."""

    def __init__(self, tools: Tools, leases: Leases, tree: Tree, blueprints: Blueprints) -> None:
        self._tools = tools
        self._leases = leases
        self._blueprints = blueprints
        self.tree = tree
        self.lock = asyncio.Lock()
        self.over = False
        self._goal = 0
        self._no_rollback = False
        self._cloud = self._open("owner")
        self._children = ChildStacks(tools, tree, blueprints, self._cloud)
        self._run = self._children.run_of(tree.root.id)

    # --- what requests do, under the lock ---------------------------------------------------------------

    def new_goal(self) -> None:
        """The root's row has changed: work in flight goes on under the new goal."""
        self._goal += 1
        self._no_rollback = False
        self._cloud = self._open("owner")
        self._children.use(self._cloud)
        self._children.supersede()
        self._tools.hub.wake(breakpoints.topic(self.tree.root.id))

    def cancel(self, reason: StopReason, *, rollback: bool) -> None:
        """Stop what is in flight; the operation then ends as failed, and is rolled back or not."""
        self._no_rollback = not rollback
        self._run.stop_all(reason)

    async def bench_of(self, stack_id: str) -> Bench:
        """For a signal: one stack of the tree, as it is now."""
        stack = self.tree.stacks[stack_id]
        await self._children.prepare()
        bench = self._children.bench(stack_id, await self._blueprints.of(stack, stack.revision_id))
        for row in self.tree.rows_of(stack_id):
            if row.action is not Action.DELETE:
                bench.current[row.name] = row
        return bench

    def stop(self) -> None:
        """Leave the work to the next process, at a durable point."""
        self._run.stop_all(StopReason(StopKind.SHUTDOWN, "the engine is stopping"))

    async def kill(self) -> None:
        await self._children.kill()

    # --- the drive --------------------------------------------------------------------------------------

    async def drive(self) -> None:
        """Until the root is in a final state, or another engine has the lease."""
        try:
            async with self.lock:
                await self._mend()
            while self.tree.root.status is Status.IN_PROGRESS and not self.over:
                goal = self._goal
                try:
                    outcome, bench = await self._towards_goal(goal)
                except Superseded:
                    continue
                async with self.lock:
                    if goal == self._goal:
                        await self._finish(outcome, bench)
        except (LeaseLost, Unfinished):
            log.info("work on a tree ends here; another process goes on", extra={"root": self.tree.fence.root_id})
            await self._land()
        except Exception as error:
            log.exception("an operation broke off", extra={"root": self.tree.fence.root_id})
            await self._land()
            async with self.lock:
                await self._end(self.tree.root, Status.FAILED, of_exception(error), {})
        finally:
            self._ended()

    async def _land(self) -> None:
        """Nothing of this operation stays in flight."""
        self.stop()
        await self._children.landed()

    async def _towards_goal(self, goal: int) -> tuple[Outcome, Bench | None]:
        stack = self.tree.root
        try:
            blueprint = await self._blueprints.of(stack, stack.revision_id)
            await self._children.prepare()
        except (CalorError, SealBroken) as error:
            if stack.action is not Action.DELETE:
                return Outcome((f"{type(error).__name__}: {error}",)), None
            blueprint = await self._blueprints.of(stack, None)
        if goal != self._goal:
            raise Superseded
        bench = self._children.bench(stack.id, blueprint)
        with self._deadline(stack):
            if stack.action is Action.DELETE or stack.revision_id is None:
                return await self._emptied(bench), bench
            if stack.action in _VISITS:
                return await self._run.visit(bench, stack.action), bench
            outcome = await self._run.converge(bench)
        if bench.changed and outcome.is_good:
            await outputs.refreshed(bench)
        return outcome, bench

    async def _emptied(self, bench: Bench) -> Outcome:
        """Everything deleted; where the owner's rights are gone, once more with those of who asked (F025)."""
        outcome = await self._run.empty(bench)
        if self.tree.is_denied and outcome.stopped is None:
            self._children.use(self._open("caller"))
            outcome = await self._run.empty(self._children.bench(bench.stack_id, bench.blueprint))
        return outcome

    @contextlib.contextmanager
    def _deadline(self, stack: StackRow) -> Iterator[None]:
        settings = self._tools.settings
        limit = timedelta(minutes=stack.timeout_mins) if stack.timeout_mins else settings.stack_timeout
        left = (stack.started_at + limit - self._tools.clock.now()).total_seconds()
        timer = asyncio.get_running_loop().call_later(max(left, 0.0), self._run.stop_all, TIMED_OUT)
        try:
            yield
        finally:
            timer.cancel()

    async def _finish(self, outcome: Outcome, bench: Bench | None) -> None:
        stack = self.tree.root
        if not outcome.is_good and self._rolls_back(stack):
            await self._roll_back(failure_text(stack.action, outcome))
            return
        values: dict[str, Any] = {}
        if bench is not None and stack.action not in _VISITS:
            if not outcome.is_good and stack.action is not Action.DELETE:
                await outputs.refreshed_failures(bench)
            values["outputs"] = outputs.resolved(bench)
        if outcome.is_good:
            status, reason = Status.COMPLETE, f"Stack {stack.action.value} completed successfully"
            if stack.action is Action.DELETE:
                values |= {"deleted_at": self._tools.clock.now(), "live_name": None, "outputs": None}
            elif stack.action not in _VISITS:
                values["good_revision_id"] = stack.revision_id
        else:
            status, reason = Status.FAILED, failure_text(stack.action, outcome)
        await self._end(stack, status, bounded(f"{reason}{_undone(stack)}"), values)
        if outcome.is_good and stack.action is Action.DELETE:
            await self._revoke()

    async def _end(self, stack: StackRow, status: Status, reason: str, values: dict[str, Any]) -> None:
        if status is Status.FAILED:
            await self._fail_stranded(f"{stack.action.value} aborted ({reason})")
        now = self._tools.clock.now()
        writes: list[Write] = [happenings.of_stack(stack, stack.action, status, reason, now)]
        former = stack.good_revision_id
        alone = len(self.tree.stacks) == 1  # the revisions of child stacks share their root's files
        if status is Status.COMPLETE and alone and former is not None and former != stack.revision_id:
            writes.append(Remove(Revision, {"id": former}))
        writes.append(self._leases.given_back(self.tree.fence))
        await self.tree.change_stack(stack.id, *writes, status=status, status_reason=reason, **values)
        self._ended()

    def _ended(self) -> None:
        """The lease is free in the database: who held the lock's turn next must take it anew."""
        self.over = True
        self._leases.forget(self.tree.fence)

    def _rolls_back(self, stack: StackRow) -> bool:
        return stack.action in (Action.CREATE, Action.UPDATE) and not stack.disable_rollback and not self._no_rollback

    async def _roll_back(self, why: str) -> None:
        """Reconcile to the revision of before: the last that was reached, or none. The failure is an event of its own:
        clients that wait for the action wait for that."""
        stack, now = self.tree.root, self._tools.clock.now()
        reason = bounded(f"{_ROLLING_BACK}{why}")
        await self.tree.change_stack(
            stack.id,
            happenings.of_stack(stack, stack.action, Status.FAILED, why, now),
            happenings.of_stack(stack, Action.ROLLBACK, Status.IN_PROGRESS, reason, now),
            action=Action.ROLLBACK,
            status=Status.IN_PROGRESS,
            status_reason=reason,
            started_at=now,
            updated_at=now,
            revision_id=stack.good_revision_id,
        )
        self.new_goal()

    async def _mend(self) -> None:
        """A tree whose root is final has nothing in progress below it: what a crash left so is failed, with why."""
        if self.tree.root.status is Status.IN_PROGRESS:
            return
        await self._fail_stranded("The engine was lost while this was in progress.")
        await self.tree.commit([self._leases.given_back(self.tree.fence)])
        self._ended()

    async def _fail_stranded(self, reason: str) -> None:
        """What a process that died had begun, and this one never took up, ends with its root: resources, the runs that
        they waited for, child stacks."""
        now = self._tools.clock.now()
        for row in [row for row in self.tree.rows.values() if row.status is Status.IN_PROGRESS]:
            text = bounded(placed(f"resources.{row.name}", reason))
            await failing.end_run(self._tools, row.physical_id, text)
            stack = self.tree.stacks[row.stack_id]
            event = happenings.of_resource(stack, row, row.action, Status.FAILED, now, text)
            await self.tree.change(row.id, event, status=Status.FAILED, status_reason=text, updated_at=now)
        for stack in list(self.tree.stacks.values()):
            if stack.status is Status.IN_PROGRESS and stack.id != self.tree.root.id:
                await self.tree.change_stack(stack.id, status=Status.FAILED, status_reason=reason)

    # --- credentials ------------------------------------------------------------------------------------

    def _open(self, whose: str) -> Cloud:
        """The cloud with the stack owner's rights, or with those of who asked last."""
        stack = self.tree.root
        try:
            known = self._tools.sealing.value(stack.credentials) or {}
        except SealBroken:
            log.warning("the credentials of a stack cannot be read", extra={"stack": stack.id})
            known = {}
        record = known.get(whose) or known.get("caller") or known.get("owner")
        if record is None:
            record = {"kind": "token", "project_id": stack.project_id, "user_id": stack.user_id, "secret": ""}
            record |= {"ident": "", "region": stack.region}
        return self._tools.door.open(Credentials.from_record(record))

    async def _revoke(self) -> None:
        try:
            known = self._tools.sealing.value(self.tree.root.credentials) or {}
        except SealBroken:  # whoever can read it no more cannot use it either
            return
        record = known.get("owner")
        if record is None or record.get("kind") == "token":
            return
        try:
            await self._tools.door.revoke(Credentials.from_record(record))
        except CloudError as error:
            log.warning(
                "delegated rights could not be revoked", extra={"stack": self.tree.root.id, "error": error.detail}
            )


def _undone(stack: StackRow) -> str:
    """For the reason at the end of a rollback: why there was one. The row has it as long as the rollback lasts."""
    reason = stack.status_reason
    is_known = stack.action is Action.ROLLBACK and reason.startswith(_ROLLING_BACK)
    return f" ({reason.removeprefix(_ROLLING_BACK)})" if is_known else ""
