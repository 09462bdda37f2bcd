"""The service of events."""

import dataclasses
from collections.abc import Sequence

from calor.server.engine import listing, presenting
from calor.server.engine.finding import Finder, missing_resource
from calor.server.engine.tools import Tools
from calor.server.engine.views import EventQuery, EventView
from calor.server.errors import EntityNotFound
from calor.server.identity import Caller
from calor.server.store import queries
from calor.server.store.rows import EventRow, StackRow
from calor.server.template import mask


class EventService:
    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._find = Finder(tools.database)

    async def list(
        self, caller: Caller, name: str, ident: str, resource: str | None, query: EventQuery
    ) -> Sequence[EventView]:
        stack = await self._find.stack(caller, name, ident, deleted=True)
        stacks = {stack.id: stack}
        if query.nested_depth:
            stacks |= await self._below(stack, query.nested_depth)
        rows = await queries.events(self._tools.database, stack_ids=list(stacks), resource=resource)
        if resource is not None and not rows:
            raise missing_resource(resource, stack.name)
        found = [row for row in rows if _passes(row, query)]
        if query.sort_dir == "desc":
            found.reverse()
        page = listing.page(found, query.limit, query.marker, lambda row: row.id)
        return [presenting.event(row, stacks[row.stack_id]) for row in page]

    async def show(self, caller: Caller, name: str, ident: str, resource: str, event_id: str) -> EventView:
        stack = await self._find.stack(caller, name, ident, deleted=True)
        row = await queries.event(self._tools.database, event_id)
        if row is None or row.stack_id != stack.id or row.resource_name != resource:
            raise EntityNotFound(f"The Event ({event_id}) could not be found.")
        view = presenting.event(row, stack)
        rows = await queries.stack_resources(self._tools.database, stack.id)
        known = next((one for one in rows if one.name == resource and one.physical_id == row.physical_id), None)
        if known is None:
            return view
        properties = self._tools.sealing.value(known.properties or known.pending) or {}
        return dataclasses.replace(view, properties=mask(properties, presenting.HIDDEN))

    async def _below(self, stack: StackRow, depth: int) -> dict[str, StackRow]:
        """The stacks nested in one, down to a depth; deleted ones too, for their events are still there."""
        all_rows = await queries.stacks(
            self._tools.database, project_id=stack.project_id, show_deleted=True, show_nested=True
        )
        found: dict[str, StackRow] = {}
        level = {stack.id}
        for _ in range(depth):
            below = {row.id: row for row in all_rows if row.owner_id in level}
            found |= below
            level = set(below)
        return found


def _passes(row: EventRow, query: EventQuery) -> bool:
    facts = {
        "resource_name": row.resource_name,
        "resource_type": row.resource_type,
        "resource_action": row.action.value,
        "resource_status": row.status.value,
        "resource_status_reason": row.reason,
    }
    return all(facts[name] in wanted for name, wanted in query.filters.items() if name in facts)
