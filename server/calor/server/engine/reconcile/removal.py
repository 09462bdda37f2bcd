"""Takes one incarnation away: its physical resource, its guests and signals, its row."""

import asyncio
import logging
import random
from datetime import datetime
from typing import Any

from calor.server.cloud.errors import CloudConflict, CloudError, CloudUncertain
from calor.server.engine.guests.deployments import ServerGone
from calor.server.engine.reconcile import breakpoints, happenings, twins
from calor.server.engine.reconcile.bench import Bench, Superseded, WorkFailed
from calor.server.engine.reconcile.context import ResourceContext
from calor.server.engine.reconcile.failing import Unfinished, reason_of, record
from calor.server.engine.reconcile.stopping import Stop, StopKind, Stopped, StopReason
from calor.server.engine.revision.kinds import typed
from calor.server.identity import SealBroken
from calor.server.resources.base import ResourceType
from calor.server.store import guest_models
from calor.server.store.models import Resource
from calor.server.store.rows import ResourceRow
from calor.server.store.states import Action, Status
from calor.server.store.writes import Change, LeaseLost, Remove, Write

log = logging.getLogger(__name__)


async def remove(bench: Bench, row: ResourceRow, stop: Stop) -> None:
    """Raises `WorkFailed` once the failure is written down."""
    try:
        await _remove(bench, bench.tree.rows.get(row.id, row), stop)
    except (Superseded, LeaseLost, Unfinished, asyncio.CancelledError):
        raise
    except Exception as error:
        if isinstance(error, CloudError) and error.code == 401:
            bench.tree.is_denied = True
        reason = await reason_of(error, bench, None, row.name, Action.DELETE)
        await record(bench, row.name, row, Action.DELETE, reason)
        raise WorkFailed(reason) from error


async def _remove(bench: Bench, row: ResourceRow, stop: Stop) -> None:
    kind = bench.kind(row)
    bench.changed = True
    if (row.action, row.status) == (Action.DELETE, Status.COMPLETE):  # it was paused behind its deletion
        await _let_go(bench, row, stop)
        return
    await breakpoints.pause(bench, row.name, row, "pre-delete", stop)
    since = row.updated_at if row.status is Status.IN_PROGRESS else None  # a crash cut it short
    if row.deletion_policy == "Retain" or row.external or kind is None or kind.instant:
        await _let_go(bench, row, stop, _begun(bench, row))
    elif kind.pure:
        await _physically(bench, row, kind, stop, None)
        await _let_go(bench, row, stop, _begun(bench, row))
    else:
        await bench.tree.change(
            row.id,
            _begun(bench, row),
            action=Action.DELETE,
            status=Status.IN_PROGRESS,
            status_reason=happenings.STATE_CHANGED,
            updated_at=bench.tools.clock.now(),
        )
        await _physically(bench, row, kind, stop, since)
        await _let_go(bench, row, stop)


async def _physically(
    bench: Bench, row: ResourceRow, kind: ResourceType[Any], stop: Stop, since: datetime | None
) -> None:
    if kind.is_nested:
        await bench.children.remove(bench, row, stop)
        return
    at = bench.context(row, kind)
    was = _former(bench, row, kind)
    if row.physical_id is None and row.attempted and was is not None and not kind.pure:
        at.attempted = True
        twin = await twins.find(bench, kind, at, was, stop, since=since)
        if twin is not None:  # made by a creation whose answer was lost: it must not stay behind
            row = await bench.tree.change(row.id, physical_id=twin)
    if row.deletion_policy == "Snapshot" and "snapshot" in kind.supports:
        await stop.run(_snapshot(kind, at, was))
    try:
        await _persistently(bench, row, kind, at, was, stop)
    except ServerGone as gone:
        event = happenings.of_resource(
            bench.stack, row, Action.DELETE, Status.IN_PROGRESS, bench.tools.clock.now(), f"Warning: {gone}"
        )
        await bench.tree.commit([event])
        at.deployments.awaited = None


async def _snapshot(kind: ResourceType[Any], at: ResourceContext, was: Any) -> None:
    take = getattr(kind, "snapshot", None)
    if take is not None:
        await take(at, was)


def _former(bench: Bench, row: ResourceRow, kind: ResourceType[Any]) -> Any:
    """The properties that the incarnation has, or was to have; None where there never were valid ones (or they can no
    longer be read: that must not keep a stack from being deleted)."""
    try:
        known = bench.tools.sealing.value(row.properties or row.pending)
    except SealBroken:
        log.warning("the properties of a resource cannot be read; deleting it without", extra={"resource": row.name})
        return None
    return None if known is None else typed(kind, known)


async def _persistently(
    bench: Bench, row: ResourceRow, kind: ResourceType[Any], at: ResourceContext, was: Any, stop: Stop
) -> None:
    """Delete and wait; what is still in use is tried again until the stack's time is up (F030)."""
    delay = bench.tools.settings.delete_backoff_first
    while True:
        try:
            await stop.run(kind.delete(at, was))
            await stop.run(kind.settle_delete(at))
        except (CloudConflict, CloudUncertain) as error:
            refusal: CloudError = error
        else:
            return
        log.info("a deletion was refused; trying again", extra={"resource": row.name, "error": refusal.detail})
        try:
            await stop.run(asyncio.sleep(delay * random.uniform(0.8, 1.2)))
        except Stopped as stopped:
            if stopped.reason.kind is StopKind.SHUTDOWN:
                raise
            text = f"{type(refusal).__name__}: {refusal.detail} ({stopped.reason.text})"
            raise Stopped(StopReason(stopped.reason.kind, text)) from refusal
        delay = min(delay * 1.7, bench.tools.settings.delete_backoff_last)


def _begun(bench: Bench, row: ResourceRow) -> Write:
    return happenings.of_resource(bench.stack, row, Action.DELETE, Status.IN_PROGRESS, bench.tools.clock.now())


async def _let_go(bench: Bench, row: ResourceRow, stop: Stop, *begun: Write) -> None:
    """What is physically gone loses its row; behind a breakpoint, once that is cleared."""
    now = bench.tools.clock.now()
    events = [*begun, happenings.of_resource(bench.stack, row, Action.DELETE, Status.COMPLETE, now)]
    row = bench.tree.rows[row.id]
    if breakpoints.is_set(bench, row.name, "post-delete"):
        if (row.action, row.status) != (Action.DELETE, Status.COMPLETE):
            row = await bench.tree.change(row.id, *events, action=Action.DELETE, status=Status.COMPLETE, updated_at=now)
        events = []
        await breakpoints.pause(bench, row.name, row, "post-delete", stop)
    await _drop(bench, row, events)


async def _drop(bench: Bench, row: ResourceRow, writes: list[Write]) -> None:
    kind = bench.kind(row)
    if kind is not None and not kind.pure:
        writes.append(Remove(guest_models.Signal, {"resource_id": row.id}))
        writes.append(bench.tools.identities.gone(row.id))
        writes.append(bench.tools.pushes.gone(row.id))
    if kind is not None and kind.has_metadata_endpoint:
        bench.tools.contacts.forget(row.id)
    for other in bench.tree.named(row.stack_id, row.name):
        if other.replaces == row.id:
            writes.append(Change(Resource, {"id": other.id}, {"replaces": None}))
    await bench.tree.drop(row.id, *writes)
