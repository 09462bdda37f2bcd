"""Failures of resources: their reasons, with what is known of the guests, and how they are written down."""

import logging
import uuid

from calor.server.cloud.errors import CloudFailed
from calor.server.engine.durable.reasons import bounded, has_class, of_exception, placed
from calor.server.engine.guests.contacts import SUBJECT, sentence
from calor.server.engine.reconcile import happenings
from calor.server.engine.reconcile.bench import Bench, WorkFailed
from calor.server.engine.reconcile.context import ResourceContext
from calor.server.engine.reconcile.stopping import StopKind, Stopped
from calor.server.engine.reconcile.tools import Tools
from calor.server.resources.base import ResourceFailed
from calor.server.store import guest_queries
from calor.server.store.rows import ResourceRow
from calor.server.store.states import Action, Status

log = logging.getLogger(__name__)


class Unfinished(Exception):
    """The process is stopping: the row stays as it is, and the next process goes on with it."""


async def reason_of(error: BaseException, bench: Bench, at: ResourceContext | None, name: str, action: Action) -> str:
    """``Class: resources.NAME: what``. Raises `Unfinished` where a stopping process interrupted the work."""
    if isinstance(error, Stopped):
        if error.reason.kind is StopKind.SHUTDOWN:
            raise Unfinished from error
        text = f"{action.value} aborted ({error.reason.text})"
        return placed(f"resources.{name}", followed(text, await _guests(bench, at)))
    if isinstance(error, WorkFailed):
        return placed(f"resources.{name}", error.reason)
    if isinstance(error, ResourceFailed | CloudFailed):
        text = str(error)
        text = text if has_class(text) else f"ResourceInError: {text}"
        return placed(f"resources.{name}", text if SUBJECT in text else followed(text, await _guests(bench, at)))
    if not isinstance(error, Exception) or not hasattr(error, "detail"):
        log.error("a resource failed unexpectedly", exc_info=error, extra={"resource": name, "stack": bench.stack_id})
    return placed(f"resources.{name}", of_exception(error))


def followed(text: str, more: str) -> str:
    """One sentence after another, with a full stop between them."""
    if not more:
        return text
    return f"{text} {more}" if text.endswith((".", "!", "?")) else f"{text}. {more}"


async def _guests(bench: Bench, at: ResourceContext | None) -> str:
    """What is known of the guests that the failed work waited for (F050)."""
    if at is None:
        return ""
    if at.deployments.awaited is not None:
        known = await bench.tools.deployments.knowledge(at.deployments.awaited)
        return known or ""
    if not at.listened:
        return ""
    now, texts = bench.tools.clock.now(), []
    for guest in (await guest_queries.guests_of_stack(bench.tools.database, bench.stack_id))[:5]:
        row = bench.tree.rows.get(guest.resource_id)
        kind = None if row is None else bench.kind(row)
        if row is not None and kind is not None and kind.has_metadata_endpoint:
            texts.append(sentence(row.name, bench.tools.contacts.of(row.id, guest), now))
    return " ".join(texts)


async def record(bench: Bench, name: str, row: ResourceRow | None, action: Action, reason: str) -> None:
    """Write a failure down. A resource that has no row yet gets one, so that it can be seen."""
    now = bench.tools.clock.now()
    if row is None or row.id not in bench.tree.rows:
        row = _stillborn(bench, name, reason)
        begun = happenings.of_resource(bench.stack, row, action, Status.IN_PROGRESS, now)
        ended = happenings.of_resource(bench.stack, row, action, Status.FAILED, now, reason)
        await bench.tree.insert(row, begun, ended)
        return
    row = bench.tree.rows[row.id]
    event = happenings.of_resource(bench.stack, row, action, Status.FAILED, now, reason)
    await bench.tree.change(
        row.id, event, action=action, status=Status.FAILED, status_reason=bounded(reason), updated_at=now
    )


async def end_awaited_run(bench: Bench, at: ResourceContext | None, reason: str) -> None:
    """A deployment that is waited for no more has failed, as in Heat; what its guest still reports changes nothing."""
    await end_run(bench.tools, at.deployments.awaited if at is not None else None, reason)


async def end_run(tools: Tools, ident: str | None, reason: str) -> None:
    """``ident`` may be that of a deployment; one that has ended already stays as it is."""
    run = await tools.deployments.row(ident) if ident is not None else None
    if run is not None:
        await tools.deployments.finish(run, status=Status.FAILED.value, status_reason=reason, output_values={})


def _stillborn(bench: Bench, name: str, reason: str) -> ResourceRow:
    now = bench.tools.clock.now()
    return ResourceRow(
        id=str(uuid.uuid4()),
        stack_id=bench.stack_id,
        root_id=bench.stack.root_id,
        name=name,
        type=bench.blueprint.definition(name).type,
        action=Action.CREATE,
        status=Status.FAILED,
        status_reason=bounded(reason),
        physical_id=None,
        attempted=False,
        properties=None,
        pending=None,
        data=None,
        meta=None,
        attributes=None,
        requires=sorted(bench.blueprint.graph.requires[name]),
        replaces=None,
        replaced_by=None,
        revision_id=bench.stack.revision_id,
        child_id=None,
        deletion_policy="Delete",
        external=False,
        uses_signals=False,
        created_at=now,
        updated_at=now,
    )
