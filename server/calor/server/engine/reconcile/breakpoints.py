"""Breakpoints: the registry's hooks, at which a resource waits until its user lets it go on.

A pause is a row, written in the one commit that also makes it known by an event: who reads the event can clear the
pause. It belongs to one run of the tree (the root's ``started_at``), so that one left behind by a dead process means
nothing to the next operation. Names and event texts are Heat's: its client looks for them (api-routes.json, ``hooks``).
"""

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime

from calor.server.engine.durable.clock import Clock
from calor.server.engine.durable.hub import Hub
from calor.server.engine.durable.journal import Journal
from calor.server.engine.durable.reasons import placed
from calor.server.engine.reconcile import happenings
from calor.server.engine.reconcile.bench import Bench, Superseded, WorkFailed
from calor.server.engine.reconcile.failing import Unfinished
from calor.server.engine.reconcile.stopping import Stop, StopKind, Stopped
from calor.server.errors import InvalidBreakPointHook
from calor.server.store import queries
from calor.server.store.database import Database
from calor.server.store.models import Breakpoint
from calor.server.store.rows import BreakpointRow, ResourceRow, StackRow
from calor.server.store.states import Action, Status
from calor.server.store.writes import Change, Insert, Remove, Write
from calor.server.template import HOOKS

LOOK_AGAIN = 5.0
"""Seconds after which a waiter reads the database though nobody woke it: another engine may have taken the signal."""

_AFTER = {Action.CREATE: "post-create", Action.UPDATE: "post-update"}


def topic(root_id: str) -> tuple[str, str]:
    """What wakes everybody who waits at a breakpoint of a tree: a cleared pause, or a newer goal."""
    return "breakpoint", root_id


def is_set(bench: Bench, name: str, hook: str) -> bool:
    """Whether a resource is to wait there. A roll-back waits for nobody: no client could see for what."""
    if bench.tree.root.action is Action.ROLLBACK:
        return False
    return hook in bench.blueprint.model.environment.hooks(name)


async def pause(bench: Bench, name: str, row: ResourceRow | None, hook: str, stop: Stop) -> None:
    """Wait at a breakpoint that is set, unless it was cleared in this run. Raises `Superseded` and `Stopped`."""
    if not is_set(bench, name, hook):
        return
    known = await _of_run(bench, name, hook, row)
    if not known:
        await bench.tree.commit(await _reached(bench, name, row, hook))
    await _wait(bench, name, (hook,), stop, row)


async def after(bench: Bench, row: ResourceRow, ended: Action) -> list[Write]:
    """What belongs into the commit that completes a resource: the pause that follows it, if one is set."""
    hook = _AFTER.get(ended, "")
    if not hook or not is_set(bench, row.name, hook):
        return []
    return await _reached(bench, row.name, row, hook, ended)


async def linger(bench: Bench, name: str, stop: Stop) -> None:
    """Wait at the pauses that followed a completion, also those of a process that died there. The resource is complete
    whatever comes of it: being stopped here fails the work, not the resource."""
    hooks = [hook for hook in _AFTER.values() if is_set(bench, name, hook)]
    if not hooks:
        return
    try:
        await _wait(bench, name, hooks, stop, bench.current.get(name))
    except Stopped as stopped:
        if stopped.reason.kind is StopKind.SHUTDOWN:
            raise Unfinished from stopped
        text = f"Stopped while it was paused at {' and '.join(hooks)} ({stopped.reason.text})"
        raise WorkFailed(placed(f"resources.{name}", text)) from stopped


async def clear(
    database: Database, journal: Journal, hub: Hub, clock: Clock, stack: StackRow, name: str, hook: object
) -> None:
    """A user's wish to go on. Raises `InvalidBreakPointHook` where nothing waits there."""
    if hook not in HOOKS:
        raise InvalidBreakPointHook(f"There is no hook {hook!r}; there are {', '.join(HOOKS)}.")
    root = await queries.stack(database, stack.root_id)
    since = None if root is None else root.started_at
    rows = await queries.breakpoints(database, stack.id, name, (str(hook),))
    waiting = [one for one in rows if one.run_at == since and one.cleared_at is None]
    if not waiting:
        raise InvalidBreakPointHook(f"The resource {name!r} does not wait at the hook {hook!r}.")
    now, writes = clock.now(), list[Write]()
    for one in waiting:
        writes.append(Change(Breakpoint, {"id": one.id}, {"cleared_at": now}))
        writes.append(_told(stack, one, now, f"Hook {hook} is cleared"))
    await journal.commit(writes)
    hub.wake(topic(stack.root_id))


async def _of_run(bench: Bench, name: str, hook: str, row: ResourceRow | None) -> list[BreakpointRow]:
    rows = await queries.breakpoints(bench.tools.database, bench.stack_id, name, (hook,))
    return [one for one in rows if _is_of(bench, one, row)]


def _is_of(bench: Bench, one: BreakpointRow, row: ResourceRow | None) -> bool:
    return one.run_at == bench.tree.root.started_at and one.resource_id == (None if row is None else row.id)


async def _reached(
    bench: Bench, name: str, row: ResourceRow | None, hook: str, action: Action | None = None
) -> list[Write]:
    """The pause, its event, and the end of those that earlier runs have left."""
    now = bench.tools.clock.now()
    _, _, word = hook.partition("-")
    facts = BreakpointRow(
        id=str(uuid.uuid4()),
        stack_id=bench.stack_id,
        root_id=bench.stack.root_id,
        resource_name=name,
        resource_id=None if row is None else row.id,
        hook=hook,
        type=bench.blueprint.definition(name).type if row is None else row.type,
        physical_id=None if row is None else row.physical_id,
        action=Action.INIT if row is None else action or row.action,
        status=Status.COMPLETE if row is None or action is not None else row.status,
        run_at=bench.tree.root.started_at,
        cleared_at=None,
    )
    told = _told(bench.stack, facts, now, f"{word.upper()} paused until Hook {hook} is cleared")
    old = await queries.breakpoints(bench.tools.database, bench.stack_id, name, (hook,))
    void = [Remove(Breakpoint, {"id": one.id}) for one in old if one.run_at != facts.run_at]
    return [Insert(Breakpoint, {key: getattr(facts, key) for key in BreakpointRow.__slots__}), told, *void]


def _told(stack: StackRow, one: BreakpointRow, at: datetime, reason: str) -> Write:
    return happenings.event(stack, one.resource_name, one.type, one.physical_id, one.action, one.status, reason, at)


async def _wait(bench: Bench, name: str, hooks: Sequence[str], stop: Stop, row: ResourceRow | None) -> None:
    run_at = bench.tree.root.started_at
    with bench.tools.hub.listen(topic(bench.stack.root_id)) as listener:
        while True:
            if bench.tree.root.started_at != run_at:
                raise Superseded
            rows = await queries.breakpoints(bench.tools.database, bench.stack_id, name, hooks)
            held = [one for one in rows if _is_of(bench, one, row) and one.cleared_at is None]
            if not held:
                return
            try:
                await stop.run(listener.wait(LOOK_AGAIN))
            except Stopped as stopped:
                if stopped.reason.kind is not StopKind.SHUTDOWN:
                    await _forget(bench, held)
                raise


async def _forget(bench: Bench, rows: Iterable[BreakpointRow]) -> None:
    """Whoever stopped the work has ended the pause, too."""
    await bench.tree.commit([Remove(Breakpoint, {"id": one.id}) for one in rows])
