"""The service of events."""

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from typing import Any

from calor.server.engine.contract.views import EventQuery, EventView
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.services import presenting
from calor.server.engine.services.finding import Finder, missing_resource
from calor.server.errors import EntityNotFound
from calor.server.identity import Caller
from calor.server.store import queries
from calor.server.store.rows import StackRow
from calor.server.store.states import Action, Status
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
        database, ids, only = self._tools.database, list(stacks), _wanted(query)
        if only is None:
            return []
        newest_first = query.sort_dir == "desc"
        rows = await queries.events(
            database,
            ids,
            resource=resource,
            only=only,
            after=query.marker,
            newest_first=newest_first,
            limit=query.limit,
        )
        if resource is not None and not rows and not await queries.events(database, ids, resource=resource, limit=1):
            raise missing_resource(resource, stack.name)
        return [presenting.event(row, stacks[row.stack_id]) for row in rows]

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
        given = {key: value for key, value in properties.items() if value is not None}
        return dataclasses.replace(view, properties=mask(given, presenting.HIDDEN))

    async def _below(self, stack: StackRow, depth: int) -> dict[str, StackRow]:
        """The stacks nested in one, down to a depth; deleted ones too, for their events are still there."""
        all_rows = await queries.stacks_of_tree(self._tools.database, stack.root_id)
        found: dict[str, StackRow] = {}
        level = {stack.id}
        for _ in range(depth):
            below = {row.id: row for row in all_rows if row.owner_id in level}
            found |= below
            level = set(below)
        return found


_COLUMNS: Mapping[str, tuple[str, type[enum.Enum] | None]] = {
    "resource_name": ("resource_name", None),
    "resource_type": ("resource_type", None),
    "resource_action": ("action", Action),
    "resource_status": ("status", Status),
    "resource_status_reason": ("reason", None),
}


def _wanted(query: EventQuery) -> Mapping[str, Sequence[Any]] | None:
    """The filters as values of columns; None where no event can pass. What is no filter of events is none."""
    found: dict[str, Sequence[Any]] = {}
    for name, values in query.filters.items():
        if name in _COLUMNS:
            column, words = _COLUMNS[name]
            found[column] = values if words is None else [one for one in words if one.value in values]
    return found if all(found.values()) else None
