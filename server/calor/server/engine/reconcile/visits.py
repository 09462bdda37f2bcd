"""Suspends, resumes or checks one resource."""

import asyncio

from calor.server.engine.durable.reasons import placed
from calor.server.engine.reconcile import happenings
from calor.server.engine.reconcile.bench import Bench, Superseded, WorkFailed
from calor.server.engine.reconcile.failing import Unfinished, reason_of, record
from calor.server.engine.reconcile.stopping import Stop
from calor.server.engine.revision.kinds import typed
from calor.server.store.rows import ResourceRow
from calor.server.store.states import Action, Status
from calor.server.store.writes import LeaseLost

NO_CHECK = "{} not supported for {}"
_RESUMABLE = frozenset({Action.SUSPEND, Action.RESUME})


async def visit(bench: Bench, row: ResourceRow, action: Action, stop: Stop) -> None:
    """Raises `WorkFailed` once the failure is written down."""
    if (row.action, row.status) == (action, Status.COMPLETE) and action is not Action.CHECK:
        return
    if refused := _refusal(row, action):  # the row keeps its state: that its creation failed must not be forgotten
        raise WorkFailed(placed(f"resources.{row.name}", f"ResourceFailure: {refused}"))
    try:
        await _visit(bench, row, action, stop)
    except (Superseded, LeaseLost, Unfinished, asyncio.CancelledError):
        raise
    except Exception as error:
        reason = await reason_of(error, bench, None, row.name, action)
        await record(bench, row.name, row, action, reason)
        raise WorkFailed(reason) from error


async def _visit(bench: Bench, row: ResourceRow, action: Action, stop: Stop) -> None:
    kind = bench.kind(row)
    now = bench.tools.clock.now()
    verb = action.value.lower()
    can = kind is not None and (kind.is_nested or verb in kind.supports)
    notice = happenings.STATE_CHANGED
    if action is Action.CHECK and not can:
        notice = NO_CHECK.format("CHECK", row.type)
    begun = happenings.of_resource(bench.stack, row, action, Status.IN_PROGRESS, now)
    row = await bench.tree.change(
        row.id, begun, action=action, status=Status.IN_PROGRESS, status_reason=notice, updated_at=now
    )
    if kind is not None and can:
        if kind.is_nested:
            await bench.children.visit(bench, row, action.value, stop)
        else:
            was = typed(kind, bench.tools.sealing.value(row.properties) or {})
            await stop.run(getattr(kind, verb)(bench.context(row, kind), was))
    now = bench.tools.clock.now()
    ended = happenings.of_resource(bench.stack, row, action, Status.COMPLETE, now, notice)
    row = await bench.tree.change(row.id, ended, status=Status.COMPLETE, status_reason=notice, updated_at=now)
    bench.current[row.name] = row


def _refusal(row: ResourceRow, action: Action) -> str:
    state = f"{row.action.value}_{row.status.value}"
    if row.action is Action.CREATE and row.status is not Status.COMPLETE:
        return f"State {state} invalid for {action.value.lower()}"
    if action is Action.RESUME and row.action not in _RESUMABLE:
        return f"State {state} invalid for resume"
    if action is Action.SUSPEND and row.status is not Status.COMPLETE and row.action not in _RESUMABLE:
        return f"State {state} invalid for suspend"
    return ""
