"""The service of progress: guests, deployments and what runs print, of a stack and of all that is nested in it."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable

from calor.server.engine.contract.progress_views import (
    GuestView,
    OutputPage,
    OutputQuery,
    PieceView,
    ProgressView,
    StackPlace,
)
from calor.server.engine.guests.contacts import NEVER, UNREACHABLE
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.services.finding import Finder, missing_resource
from calor.server.engine.services.run_viewing import RunViewer, Surroundings, by_physical_id, holders_of
from calor.server.engine.services.settling import Settling
from calor.server.engine.services.software import NotFound
from calor.server.identity import Caller
from calor.server.store import guest_queries, pieces, queries
from calor.server.store.rows import GuestRow, PieceRow, ResourceRow, StackRow
from calor.server.store.states import Status

PAGE = 50
SHORT = 0.1
"""Seconds after which to look for a piece that is being written: nobody is told of an end before it."""
LOOK_AGAIN = 2.0
"""Seconds after which to look for what another process of the server has stored."""


class ProgressService:
    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._find = Finder(tools.database)
        self._viewer = RunViewer(tools)
        self._settling = Settling(tools.database, tools.clock)

    async def show(self, caller: Caller, name: str, ident: str) -> ProgressView:
        stack = await self._find.stack(caller, name, ident)
        below = await self._below(stack)
        rows = await queries.tree_resources(self._tools.database, stack.root_id)
        guests = await guest_queries.guests_of_stacks(self._tools.database, list(below))
        around = Surroundings(
            resources=by_physical_id(rows),
            guests={guest.resource_id: guest for guest in guests},
            stacks=below,
            holders=holders_of(rows),
            top=stack.id,
        )
        names = {row.id: row for row in rows}
        deployments = await guest_queries.deployments_of_stacks(self._tools.database, list(below))
        return ProgressView(
            guests=[self._guest(guest, names, around) for guest in guests if guest.resource_id in names],
            runs=await self._viewer.all(deployments, around),
        )

    async def output(self, caller: Caller, name: str, ident: str, query: OutputQuery) -> OutputPage:
        stack = await self._find.stack(caller, name, ident, deleted=True)
        whole = stack.root_id == stack.id
        above, _, resource = (query.resource or "").rpartition("/")
        nested = [await self._nested(stack, above)] if above else []

        async def is_over() -> bool:
            now = await queries.stack(self._tools.database, stack.id)
            if now is not None and now.deleted_at is None and now.status is Status.IN_PROGRESS:
                return False
            runs = await guest_queries.deployments_of_stacks(self._tools.database, list(await self._below(stack)))
            return not any(run.source_id is not None and run.status == "IN_PROGRESS" for run in runs)

        async def read(until: int) -> list[PieceRow]:
            below = nested or ([] if whole else list(await self._below(stack)))
            return await pieces.after(
                self._tools.database,
                query.since,
                until=until,
                root_id=stack.root_id,
                stack_ids=below,
                resource=resource or None,
                limit=PAGE,
            )

        return await self._page(("output", stack.root_id), query, is_over, read)

    async def output_of(self, caller: Caller, deployment: str, query: OutputQuery) -> OutputPage:
        row = await self._tools.deployments.row(deployment)
        if row is None or row.project_id != caller.project_id:
            raise NotFound(f"Deployment with id {deployment} not found")

        async def is_over() -> bool:
            now = await self._tools.deployments.row(deployment)
            return now is None or now.status != "IN_PROGRESS"

        async def read(until: int) -> list[PieceRow]:
            return await pieces.after(
                self._tools.database, query.since, until=until, deployment_id=deployment, limit=PAGE
            )

        return await self._page(("output", deployment), query, is_over, read)

    async def _page(
        self,
        topic: Hashable,
        query: OutputQuery,
        is_over: Callable[[], Awaitable[bool]],
        read: Callable[[int], Awaitable[list[PieceRow]]],
    ) -> OutputPage:
        """Whether it is over is asked before what there is: what came before the end is never left out. What is read
        is what the database has, in the order of its numbers; being woken only makes it sooner."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + query.wait
        with self._tools.hub.listen(topic) as listener:
            while True:
                over, (until, is_all) = await is_over(), await self._settling.reached()
                over, found = over and is_all, await read(until)
                left = deadline - loop.time()
                if found or over or (left <= 0 and is_all):
                    break
                await listener.wait(min(max(left, SHORT), LOOK_AGAIN))
        names = await self._names({row.stack_id for row in found if row.stack_id is not None})
        return OutputPage(
            pieces=[self._piece(row, names) for row in found],
            next=found[-1].number if found else query.since,
            over=over and len(found) < PAGE,
        )

    def _piece(self, row: PieceRow, names: dict[str, str]) -> PieceView:
        place = StackPlace(
            stack_id=row.stack_id, stack_name=names.get(row.stack_id or "", ""), resource_name=row.resource_name
        )
        return PieceView(
            number=row.number,
            place=place,
            deployment_id=row.deployment_id,
            run_id=row.run_id,
            attempt=row.attempt,
            stream=row.stream,
            begin=row.begin,
            end=row.end,
            at=row.at,
            data=self._tools.outputs.shown(row),
        )

    def _guest(self, guest: GuestRow, names: dict[str, ResourceRow], around: Surroundings) -> GuestView:
        server = names[guest.resource_id]
        contact = self._viewer.contact(server, around)
        now = self._tools.clock.now()
        silent = contact.state != NEVER and contact.is_unreachable(now)
        return GuestView(
            place=around.place(server, server.name),
            server_id=server.physical_id,
            state=UNREACHABLE if silent else contact.state,
            detail=contact.detail,
            last_contact=contact.at,
            agent=contact.agent,
            verdict=self._tools.sealing.value(guest.verdict),
        )

    async def _below(self, stack: StackRow) -> dict[str, StackRow]:
        """A stack and those nested in it, deleted ones too."""
        found = {stack.id: stack}
        for row in await queries.stacks_of_tree(self._tools.database, stack.root_id):  # parents first
            if row.owner_id in found:
                found[row.id] = row
        return found

    async def _nested(self, stack: StackRow, path: str) -> str:
        """The id of the stack that a resource (``group/0``) is, so that what is in it can be named by its path."""
        rows = await queries.tree_resources(self._tools.database, stack.root_id)
        ident = stack.id
        for name in path.split("/"):
            found = next((row for row in reversed(rows) if row.stack_id == ident and row.name == name), None)
            if found is None or found.child_id is None:
                raise missing_resource(path, stack.name)
            ident = found.child_id
        return ident

    async def _names(self, stack_ids: set[str]) -> dict[str, str]:
        rows = [await queries.stack(self._tools.database, ident) for ident in stack_ids]
        return {row.id: row.name for row in rows if row is not None}
