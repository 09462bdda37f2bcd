"""Brings one resource to what the revision wants: nothing, create, update in place, or replace."""

import asyncio
import dataclasses
import logging
import uuid
from collections.abc import Mapping
from typing import Any

from calor.server.cloud.errors import CloudUncertain
from calor.server.engine.reconcile import attributes, breakpoints, deciding, failing, handover, happenings, twins
from calor.server.engine.reconcile.bench import Bench, Superseded, WorkFailed
from calor.server.engine.reconcile.context import ResourceContext
from calor.server.engine.reconcile.deciding import Choice, Want
from calor.server.engine.reconcile.removal import remove
from calor.server.engine.reconcile.stopping import Stop, Stopped
from calor.server.engine.revision.kinds import typed
from calor.server.plan import Action as Do
from calor.server.resources.base import ResourceFailed, ResourceType, UpdateReplace
from calor.server.store.models import Resource
from calor.server.store.rows import ResourceRow
from calor.server.store.states import Action, Status
from calor.server.store.writes import Change, LeaseLost, Write

log = logging.getLogger(__name__)

CREATE_ATTEMPTS = 4


class Applying:
    """One resource of one stack, once. `row` and `action` are where it stands, for whoever records a failure."""

    def __init__(self, bench: Bench, name: str, stop: Stop) -> None:
        self._bench = bench
        self._name = name
        self._stop = stop
        self._kind: ResourceType[Any] = bench.blueprint.kinds[name]
        self._at: ResourceContext | None = None
        self.row: ResourceRow | None = None
        self.action = Action.CREATE

    async def run(self) -> None:
        """Raises `WorkFailed` once the failure is written down, `Superseded`, or `LeaseLost`."""
        try:
            await self._apply()
        except (Superseded, LeaseLost, failing.Unfinished, asyncio.CancelledError) as error:
            if not isinstance(error, asyncio.CancelledError) or _is_cancelled():
                raise
            await self._failed(error)
        except Exception as error:
            await self._failed(error)
        await breakpoints.linger(self._bench, self._name, self._stop)

    async def _failed(self, error: BaseException) -> None:
        reason = await failing.reason_of(error, self._bench, self._at, self._name, self.action)
        if isinstance(error, Stopped):
            await failing.end_awaited_run(self._bench, self._at, reason)
        await failing.record(self._bench, self._name, self.row, self.action, reason)
        raise WorkFailed(reason) from error

    async def _apply(self) -> None:
        await self._finish_interrupted()
        self._stop.heed()
        newest = next(iter(self._bench.tree.named(self._bench.stack_id, self._name)), None)
        if newest is not None and newest.action is not Action.DELETE:
            self.row, self.action = newest, Action.UPDATE
        want, choice = await self._decided()
        if choice.row is not None and not choice.refused and self._passes_update(choice.row, choice):
            await breakpoints.pause(self._bench, self._name, choice.row, "pre-update", self._stop)
            want, choice = await self._decided()  # the pause may have taken days
        if choice.row is not None and choice.action is not Do.REPLACE and handover.is_released(self._bench, choice.row):
            await handover.reclaim(self._bench, choice.row, self._kind, self._stop)
            choice = dataclasses.replace(choice, row=self._bench.tree.rows[choice.row.id])
        if choice.action is Do.NONE and choice.row is not None:
            await self._keep(choice.row, want)
            return
        if choice.refused:
            raise ResourceFailed(choice.refused)
        self._bench.changed = True
        async with self._bench.batch.turn(self._stop):
            await self._act(choice, want)

    def _passes_update(self, row: ResourceRow, choice: Choice) -> bool:
        """Whether the breakpoint before an update is on the way: as in Heat, also where nothing is to change, unless
        this very operation made the resource."""
        began = self._bench.tree.root.started_at
        return choice.action is not Do.NONE or (began is not None and row.created_at < began)

    async def _decided(self) -> tuple[Want, Choice]:
        want = await deciding.wanted(self._bench, self._name)
        return want, deciding.choose(self._bench, self._name, want)

    async def _act(self, choice: Choice, want: Want) -> None:
        if choice.action is Do.UPDATE and choice.row is not None:
            try:
                await self._update(choice.row, want, choice.changed)
            except UpdateReplace:
                before = choice.row
                undo = Change(Resource, {"id": before.id}, _state_of(before))
                self._bench.tree.remember(dataclasses.replace(self._bench.tree.rows[before.id], **_state_of(before)))
                await self._create(want, before, undo)
            return
        for failed in choice.discard:
            await remove(self._bench, failed, self._stop)
        await self._create(want, choice.row)

    async def _finish_interrupted(self) -> None:
        """A creation that a crash or a newer revision interrupted goes on with the properties it began with. One of
        another type than what is wanted now could not stay: it is left to be removed."""
        wanted = self._bench.blueprint.definition(self._name).type
        for row in self._bench.tree.named(self._bench.stack_id, self._name):
            if row.action is Action.CREATE and row.status is Status.IN_PROGRESS and deciding.same_type(row, wanted):
                self.row, self.action = row, Action.CREATE
                await self._carry_on(row, self._bench.tools.sealing.value(row.pending) or {}, attempted=True)

    async def _keep(self, row: ResourceRow, want: Want) -> None:
        values: dict[str, Any] = {}
        if sorted(row.requires) != sorted(want.requires):
            values["requires"] = list(want.requires)
        if row.deletion_policy != want.deletion_policy:
            values["deletion_policy"] = want.deletion_policy
        if row.type != want.type:
            values["type"] = want.type
        if row.pending is not None or row.status is not Status.COMPLETE:
            values |= {"pending": None, "status": Status.COMPLETE, "status_reason": happenings.STATE_CHANGED}
        missing = self._bench.blueprint.uses_of(self._name).attributes
        if missing and not deciding.has_attributes(self._bench, row, missing):
            values["attributes"] = await self._attributes(row, typed(self._kind, want.properties))
        if values:
            row = await self._bench.tree.change(row.id, **values)
        self._bench.current[self._name] = row

    async def _create(self, want: Want, replaces: ResourceRow | None, *more: Write) -> None:
        self.action = Action.CREATE
        await breakpoints.pause(self._bench, self._name, None, "pre-create", self._stop)
        row = self._fresh(want, replaces)
        if want.external_id is not None:
            await self._take_external(row, want)
        elif self._kind.pure:
            await self._create_pure(row, want, *more)
        else:
            now = self._bench.tools.clock.now()
            begun = happenings.of_resource(self._bench.stack, row, Action.CREATE, Status.IN_PROGRESS, now)
            self.row = await self._bench.tree.insert(row, begun, *more)
            await self._carry_on(row, want.properties, attempted=False)

    async def _create_pure(self, row: ResourceRow, want: Want, *more: Write) -> None:
        """No side effect outside and nothing to wait for: one commit."""
        at = self._at = self._bench.context(row, self._kind, stored=False)
        props = typed(self._kind, want.properties)
        self.row = None
        physical_id = await self._kind.create(at, props)
        await at.put(physical_id=physical_id)
        known = self._bench.tools.sealing.text(await self._fetched(at.row, at, props))
        now = self._bench.tools.clock.now()
        done = dataclasses.replace(
            at.row, status=Status.COMPLETE, properties=row.pending, pending=None, attributes=known, updated_at=now
        )
        stack = self._bench.stack
        events = [
            happenings.of_resource(stack, done, Action.CREATE, Status.IN_PROGRESS, now),
            happenings.of_resource(stack, done, Action.CREATE, Status.COMPLETE, now),
        ]
        self.row = self._bench.current[self._name] = await self._bench.tree.insert(
            done, *events, *more, *self._succession(done), *await breakpoints.after(self._bench, done, Action.CREATE)
        )

    async def _take_external(self, row: ResourceRow, want: Want) -> None:
        self.action = Action.CHECK
        row = dataclasses.replace(row, action=Action.CHECK, physical_id=want.external_id, external=True)
        now = self._bench.tools.clock.now()
        begun = happenings.of_resource(self._bench.stack, row, Action.CHECK, Status.IN_PROGRESS, now)
        self.row = row = await self._bench.tree.insert(row, begun)
        props = typed(self._kind, want.properties)
        at = self._at = self._bench.context(row, self._kind)
        if "check" in self._kind.supports:
            await self._stop.run(self._kind.check(at, props))
        await self._complete(row, Action.CHECK, props)

    async def _carry_on(self, row: ResourceRow, properties: Mapping[str, Any], *, attempted: bool) -> None:
        props = typed(self._kind, properties)
        at = self._at = self._bench.context(row, self._kind)
        at.attempted = attempted
        if self._kind.is_nested:
            row = await self._bench.children.converge(self._bench, row, props, self._stop)
        else:
            if row.physical_id is None:
                old = self._bench.tree.rows.get(row.replaces or "")
                await handover.release(self._bench, old, self._kind, props, self._stop)
                physical_id = await self._started(row, at, props)
                if physical_id is not None:
                    row = await self._bench.tree.change(row.id, physical_id=physical_id)
            self.row = row
            await self._stop.run(self._kind.settle(at, props))
        await self._complete(row, Action.CREATE, props)

    async def _started(self, row: ResourceRow, at: ResourceContext, props: Any) -> str | None:
        """Create, finding what an attempt before has made instead of making it twice."""
        bench = self._bench
        grace = bench.tools.settings.create_grace.total_seconds()
        lost: CloudUncertain | None = None
        since = row.updated_at or row.created_at
        for attempt in range(CREATE_ATTEMPTS):
            if at.attempted:
                twin = await twins.find(bench, self._kind, at, props, self._stop, since=since)
                if twin is not None:
                    return twin
                since = bench.tools.clock.now()
                await bench.tree.change(row.id, updated_at=since)  # when the next request goes out
            try:
                return await self._stop.run(self._kind.create(at, props), grace=grace)
            except CloudUncertain as error:
                lost, at.attempted = error, True
                log.warning("no answer to a creation; looking for its twin", extra={"resource": self._name})
            await self._stop.run(asyncio.sleep(0.2 * 2**attempt))
        raise lost or ResourceFailed("It could not be created.")

    async def _update(self, row: ResourceRow, want: Want, changed: frozenset[str]) -> None:
        self.row, self.action = row, Action.UPDATE
        bench, now = self._bench, self._bench.tools.clock.now()
        was = typed(self._kind, bench.tools.sealing.value(row.properties) or {})
        props = typed(self._kind, want.properties)
        fixed: dict[str, Any] = {
            "requires": list(want.requires),
            "deletion_policy": want.deletion_policy,
            "type": want.type,
        }
        begun = happenings.of_resource(bench.stack, row, Action.UPDATE, Status.IN_PROGRESS, now)
        moving: dict[str, Any] = {
            "action": Action.UPDATE,
            "status": Status.IN_PROGRESS,
            "status_reason": happenings.STATE_CHANGED,
            "pending": bench.tools.sealing.text(want.properties),
            "updated_at": now,
            **fixed,
        }
        known = (bench.tools.sealing.value(row.meta) or {}) if row.meta else {}
        metadata = self._kind.new_metadata(known, want.metadata)
        if metadata != known:
            moving["meta"] = bench.tools.sealing.text(metadata) if metadata else None
        at = self._at = bench.context(row, self._kind)
        if self._kind.pure:
            if changed:
                await self._kind.update(at, props, was, changed)
            row = dataclasses.replace(row, **moving)
            bench.tree.remember(row)
            await self._complete(row, Action.UPDATE, props, begun, **moving)
            return
        self.row = row = await bench.tree.change(row.id, begun, **moving)
        if self._kind.is_nested:
            row = await bench.children.converge(bench, row, props, self._stop)
        elif changed:
            await self._stop.run(self._kind.update(at, props, was, changed))
        await self._complete(bench.tree.rows[row.id], Action.UPDATE, props)

    async def _complete(self, row: ResourceRow, ended: Action, props: Any, /, *more: Write, **values: Any) -> None:
        known = await self._attributes(row, props)
        now = self._bench.tools.clock.now()
        row = self._bench.tree.rows[row.id]
        done: dict[str, Any] = {
            "action": ended,
            "status": Status.COMPLETE,
            "status_reason": happenings.STATE_CHANGED,
            "properties": row.pending if row.pending is not None else row.properties,
            "pending": None,
            "attributes": known,
            "updated_at": now,
            "uses_signals": bool(self._at and self._at.listened),
        }
        self._bench.moved |= self._bench.blueprint.graph.requires[self._name]
        event = happenings.of_resource(self._bench.stack, row, ended, Status.COMPLETE, now)
        paused = await breakpoints.after(self._bench, row, ended)
        self.row = self._bench.current[self._name] = await self._bench.tree.change(
            row.id, *more, event, *self._succession(row), *paused, **(values | done)
        )

    async def _attributes(self, row: ResourceRow, props: Any) -> str:
        at = self._bench.context(row, self._kind)
        return self._bench.tools.sealing.text(await self._fetched(row, at, props))

    async def _fetched(self, row: ResourceRow, at: ResourceContext, props: Any) -> Mapping[str, Any]:
        paths = self._bench.blueprint.uses_of(self._name).attributes
        return await attributes.fetched(self._bench, self._kind, at, row, props, paths)

    def _succession(self, row: ResourceRow) -> list[Write]:
        """The predecessor learns of its successor in the commit that completes it."""
        if row.replaces is None or row.replaces not in self._bench.tree.rows:
            return []
        old = self._bench.tree.rows[row.replaces]
        self._bench.tree.remember(dataclasses.replace(old, replaced_by=row.id))
        return [Change(Resource, {"id": old.id}, {"replaced_by": row.id})]

    def _fresh(self, want: Want, replaces: ResourceRow | None) -> ResourceRow:
        bench, now = self._bench, self._bench.tools.clock.now()
        return ResourceRow(
            id=str(uuid.uuid4()),
            stack_id=bench.stack_id,
            root_id=bench.stack.root_id,
            name=self._name,
            type=want.type,
            action=Action.CREATE,
            status=Status.IN_PROGRESS,
            status_reason=happenings.STATE_CHANGED,
            physical_id=None,
            attempted=True,
            properties=None,
            pending=bench.tools.sealing.text(want.properties),
            data=None,
            meta=bench.tools.sealing.text(want.metadata) if want.metadata else None,
            attributes=None,
            requires=list(want.requires),
            replaces=None if replaces is None else replaces.id,
            replaced_by=None,
            revision_id=bench.stack.revision_id,
            child_id=None,
            deletion_policy=want.deletion_policy,
            external=False,
            uses_signals=False,
            created_at=now,
            updated_at=now,
        )


def _state_of(row: ResourceRow) -> dict[str, Any]:
    return {
        "action": row.action,
        "status": row.status,
        "status_reason": row.status_reason,
        "pending": row.pending,
        "type": row.type,
    }


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
