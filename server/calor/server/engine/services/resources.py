"""The service of resources: lists, details, metadata, signals, health marks."""

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from calor.server.engine.contract.views import ResourceView
from calor.server.engine.reconcile import attributes, breakpoints, happenings, reading
from calor.server.engine.reconcile.bench import Bench
from calor.server.engine.reconcile.context import ResourceContext
from calor.server.engine.reconcile.receiving import Receiver
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.reconcile.trees import Trees
from calor.server.engine.revision.kinds import typed
from calor.server.engine.revision.revisions import Blueprints
from calor.server.engine.revision.template_type import TemplateType
from calor.server.engine.services import presenting
from calor.server.engine.services.finding import Finder, missing_resource
from calor.server.engine.services.run_viewing import hidden
from calor.server.errors import BadRequest, CalorError
from calor.server.identity import Caller
from calor.server.resources.base import ResourceType
from calor.server.resources.declare import attributes_of
from calor.server.store import guest_queries, queries
from calor.server.store.rows import ResourceRow, StackRow
from calor.server.store.states import Action, Status
from calor.server.template import mask

log = logging.getLogger(__name__)

MARKED = "state changed by mark-unhealthy"


class ResourceService:
    def __init__(self, tools: Tools, trees: Trees, blueprints: Blueprints, receiver: Receiver) -> None:
        self._tools = tools
        self._trees = trees
        self._blueprints = blueprints
        self._receiver = receiver
        self._find = Finder(tools.database)

    async def list(
        self,
        caller: Caller,
        name: str,
        ident: str,
        *,
        nested_depth: int,
        filters: Mapping[str, Sequence[str]],
        detail: bool,
    ) -> Sequence[ResourceView]:
        stack = await self._find.stack(caller, name, ident, deleted=True)
        stacks = {row.id: row for row in await queries.tree(self._tools.database, stack.root_id)}
        stacks[stack.id] = stack
        by_stack: dict[str, list[ResourceRow]] = {}
        for row in await queries.tree_resources(self._tools.database, stack.root_id):
            by_stack.setdefault(row.stack_id, []).append(row)
        views: list[ResourceView] = []
        level, depth = [(stack, None)], 0
        while level and depth <= nested_depth:
            below: list[tuple[StackRow, str | None]] = []
            for one, parent in level:
                rows = by_stack.get(one.id, [])
                views += await self._views(one, rows, parent, brief=not detail)
                below += [(stacks[row.child_id], row.name) for row in rows if row.child_id in stacks]
            level, depth = below, depth + 1  # type: ignore[assignment]  # the first level has no parent resource
        return [view for view in views if _passes(view, filters)]

    async def show(
        self, caller: Caller, name: str, ident: str, resource: str, *, with_attr: Sequence[str]
    ) -> ResourceView:
        stack = await self._find.stack(caller, name, ident, deleted=True)
        rows = await queries.stack_resources(self._tools.database, stack.id)
        known = await self._views(stack, rows, None)
        view = next((one for one in known if one.name == resource), None)
        if view is None:
            raise missing_resource(resource, stack.name)
        row = next((one for one in presenting.shown_rows(rows) if one.name == resource), None)
        if row is None or row.action is Action.DELETE or stack.revision_id is None:
            return view
        return dataclasses.replace(view, attributes=await self._live(stack, row, with_attr))

    async def metadata(self, caller: Caller, name: str, ident: str, resource: str) -> Mapping[str, Any]:
        stack = await self._find.stack(caller, name, ident)
        row = await self._find.resource(stack, resource)
        return mask(self._tools.sealing.value(row.meta) or {}, presenting.HIDDEN)  # type: ignore[no-any-return]  # a mapping stays one

    async def signal(self, caller: Caller, name: str, ident: str, resource: str, details: Mapping[str, Any]) -> None:
        stack = await self._find.stack(caller, name, ident)
        if "unset_hook" in details:
            await self._clear(stack, resource, details["unset_hook"])
            return
        await self._receiver.take(stack, await self._find.resource(stack, resource), details)

    async def _clear(self, stack: StackRow, resource: str, hook: object) -> None:
        tools = self._tools
        known = {row.name for row in await queries.stack_resources(tools.database, stack.id)}
        if resource not in known:
            blueprint = await self._blueprints.of(stack, stack.revision_id)
            if resource not in blueprint.model.resources:
                raise missing_resource(resource, stack.name)
        await breakpoints.clear(tools.database, tools.journal, tools.hub, tools.clock, stack, resource, hook)

    async def mark_unhealthy(
        self, caller: Caller, name: str, ident: str, resource: str, *, unhealthy: bool, reason: str
    ) -> None:
        stack = await self._find.stack(caller, name, ident)
        wanted = await self._find.resource(stack, resource)
        async with self._trees.changing(stack.root_id) as operation:
            row = operation.tree.rows.get(wanted.id, wanted)
            now = self._tools.clock.now()
            if unhealthy and row.action is not Action.DELETE:
                text = reason or MARKED
                event = happenings.of_resource(stack, row, Action.CHECK, Status.FAILED, now, text)
                await operation.tree.change(
                    row.id, event, action=Action.CHECK, status=Status.FAILED, status_reason=text, updated_at=now
                )
            elif not unhealthy and (row.action, row.status) == (Action.CHECK, Status.FAILED):
                text = reason or MARKED
                event = happenings.of_resource(stack, row, Action.CHECK, Status.COMPLETE, now, text)
                await operation.tree.change(row.id, event, status=Status.COMPLETE, status_reason=text, updated_at=now)

    async def _views(
        self, stack: StackRow, rows: Sequence[ResourceRow], parent: str | None, *, brief: bool = False
    ) -> Sequence[ResourceView]:
        users = presenting.users(rows)
        found = [
            presenting.resource(
                row, stack, self._tools.sealing, required_by=users.get(row.name, ()), parent=parent, brief=brief
            )
            for row in presenting.shown_rows(rows)
        ]
        if stack.status is Status.COMPLETE or stack.action is Action.DELETE or stack.revision_id is None:
            return found
        blueprint = await self._blueprints.of(stack, stack.revision_id)
        seen = {view.name for view in found}
        for name, definition in blueprint.model.resources.items():
            if name not in seen:
                needed_by = blueprint.graph.required_by(name)
                found.append(presenting.not_yet(name, definition.type, stack, needed_by))
        return found

    async def _live(self, stack: StackRow, row: ResourceRow, also: Sequence[str]) -> Mapping[str, Any]:
        """All attributes, asked now. What cannot be had is null."""
        try:
            bench = await reading.bench_of(self._tools, self._blueprints, stack)
        except CalorError as error:
            log.info("attributes cannot be read", extra={"resource": row.name, "error": error.detail})
            return {}
        kind = bench.kind(row)
        if kind is None or row.id not in bench.tree.rows:
            return {}
        names = list(attributes_of(kind)) + [name for name in also if name not in attributes_of(kind)]
        properties = self._tools.sealing.value(row.properties or row.pending) or {}
        want = typed(kind, properties)
        at = bench.context(row, kind)
        if kind.is_nested:
            members = {name: await self._of_nested(bench, kind, at, row, want, name) for name in names}
            return members if isinstance(kind, TemplateType) else await self._without_secrets(row, members)
        found = await attributes.fetched(bench, kind, at, row, want, [(name,) for name in names])
        shown = presenting.concealed(found.get("names", {}), properties)
        run = await self._tools.deployments.row(row.physical_id) if row.physical_id else None
        return shown if run is None else hidden(shown, await self._tools.secrets.of(run))

    async def _without_secrets(self, row: ResourceRow, shown: Mapping[str, Any]) -> Mapping[str, Any]:
        """The attributes of a group, whose members' runs may have printed what went into them."""
        below = await guest_queries.deployments_of_stacks(self._tools.database, [row.child_id or ""])
        for run in below:
            shown = hidden(shown, await self._tools.secrets.of(run))
        return shown

    async def _of_nested(
        self, bench: Bench, kind: ResourceType[Any], at: ResourceContext, row: ResourceRow, want: Any, name: str
    ) -> Any:
        """Null also for an attribute that is one only with a path (a group's ``attributes``)."""
        try:
            found = await attributes.fetched(bench, kind, at, row, want, [(name,)])
        except BadRequest:
            return None
        return next(iter(found.get("paths", {}).values()), None)


def _passes(view: ResourceView, filters: Mapping[str, Sequence[str]]) -> bool:
    facts = {
        "name": view.name,
        "type": view.type,
        "status": view.status.value,
        "action": view.action.value,
        "physical_resource_id": view.physical_id or "",
        "id": view.physical_id or "",
    }
    return all(facts[name] in wanted for name, wanted in filters.items() if name in facts)
