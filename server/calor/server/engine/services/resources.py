"""The service of resources: lists, details, metadata, signals, health marks."""

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from calor.server.engine.contract.views import ResourceView
from calor.server.engine.reconcile import breakpoints, happenings
from calor.server.engine.reconcile.receiving import Receiver
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.reconcile.trees import Trees
from calor.server.engine.revision.revisions import Blueprints
from calor.server.engine.services import presenting
from calor.server.engine.services.finding import Finder, missing_resource
from calor.server.engine.services.live_attributes import LiveAttributes
from calor.server.engine.services.run_viewing import hidden
from calor.server.identity import Caller
from calor.server.store import queries
from calor.server.store.rows import ResourceRow, StackRow
from calor.server.store.states import Action, Status
from calor.server.template import mask

log = logging.getLogger(__name__)

SIGNAL_URL = "deploy_signal_id"
MARKED = "state changed by mark-unhealthy"


class ResourceService:
    def __init__(self, tools: Tools, trees: Trees, blueprints: Blueprints, receiver: Receiver) -> None:
        self._tools = tools
        self._trees = trees
        self._blueprints = blueprints
        self._receiver = receiver
        self._live = LiveAttributes(tools, blueprints)
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
                found = await self._views(one, rows, parent, brief=not detail)
                views += await self._with_attributes(one, rows, found) if detail else found
                below += [(stacks[row.child_id], row.name) for row in rows if row.child_id in stacks]
            level, depth = below, depth + 1  # type: ignore[assignment]  # the first level has no parent resource
        return [view for view in views if _passes(view, filters)]

    async def _with_attributes(
        self, stack: StackRow, rows: Sequence[ResourceRow], views: Sequence[ResourceView]
    ) -> Sequence[ResourceView]:
        living = [row for row in presenting.shown_rows(rows) if row.action is not Action.DELETE]
        if not living or stack.revision_id is None:
            return views
        known = zip((row.name for row in living), await self._live.of(stack, living), strict=True)
        found = dict(known)
        return [dataclasses.replace(view, attributes=found.get(view.name, {})) for view in views]

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
        (found,) = await self._live.of(stack, [row], with_attr)
        return dataclasses.replace(view, attributes=found)

    async def metadata(self, caller: Caller, name: str, ident: str, resource: str) -> Mapping[str, Any]:
        stack = await self._find.stack(caller, name, ident)
        row = await self._find.resource(stack, resource)
        known: Mapping[str, Any] = mask(self._tools.sealing.value(row.meta) or {}, presenting.HIDDEN)
        documents = await self._tools.deployments.heat_documents(row.physical_id) if row.physical_id else ()
        if not documents:
            return known
        secrets = self._tools.secrets
        shown = [_with_signal_url(document, hidden(document, await secrets.of(run))) for run, document in documents]
        return {**known, "deployments": shown}

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


def _with_signal_url(document: Mapping[str, Any], shown: Mapping[str, Any]) -> Mapping[str, Any]:
    """Users signal a deployment by hand with the URL that they find here, as with Heat: it opens that run only."""
    inputs = [
        given if given["name"] == SIGNAL_URL else masked
        for given, masked in zip(document["inputs"], shown["inputs"], strict=True)
    ]
    return {**shown, "inputs": inputs}


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
