"""What the API asks of stacks without changing them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from calor.server.engine.contract.views import OutputView, StackIdentity, StackQuery, StackRequest, StackView
from calor.server.engine.planning import validating
from calor.server.engine.planning.previews import NO_ID, Previews
from calor.server.engine.reconcile import outputs, reading
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.revision import requests
from calor.server.engine.revision.revisions import Blueprints
from calor.server.engine.services import containers, listing, presenting
from calor.server.engine.services.checking import Checks
from calor.server.engine.services.finding import Finder
from calor.server.errors import EntityNotFound
from calor.server.identity import Caller
from calor.server.store import queries
from calor.server.store.rows import RevisionRow, StackKeys, StackRow
from calor.server.tosca import is_tosca

K = TypeVar("K", StackKeys, StackRow)


class StackAnswers:
    def __init__(self, tools: Tools, blueprints: Blueprints) -> None:
        self._tools = tools
        self._blueprints = blueprints
        self._previews = Previews(tools, blueprints)
        self._checks = Checks(tools, blueprints)
        self._find = Finder(tools.database)

    async def preview(self, caller: Caller, request: StackRequest) -> Mapping[str, Any]:
        requests.check_name(request.name)
        request = await containers.filled(self._tools, caller, request)
        wish = await self._tools.gate.read(request)
        fresh = requests.fresh_stack(caller, request, wish, self._tools.clock.now(), self._tools.settings)
        stack = replace(fresh, id=NO_ID)
        blueprint, _ = await self._checks.checked(caller, stack, wish)
        return self._previews.of_create(stack, blueprint)

    async def validate(self, caller: Caller, request: StackRequest, *, show_nested: bool) -> Mapping[str, Any]:
        request = await containers.filled(self._tools, caller, request)
        wish = await self._tools.gate.read(request)
        depth = self._tools.settings.max_nested_stack_depth
        registry = self._tools.registry
        answer = await self._tools.gate.beside(
            wish, lambda: validating.of_validate(wish, registry, depth, show_nested=show_nested)
        )
        return {**answer, "Translation": wish.source} if is_tosca(request.template) else answer

    async def preview_update(
        self, caller: Caller, name: str, ident: str, request: StackRequest, *, show_nested: bool
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        stack = await self._find.stack(caller, name, ident)
        wish = await self._checks.wish(caller, stack, request)
        blueprint, _ = await self._checks.checked(caller, stack, wish)
        return await self._previews.of_update(stack, blueprint, show_nested=show_nested)

    async def identify(self, caller: Caller, name_or_id: str) -> StackIdentity:
        return presenting.identity(await self._find.by_name_or_id(caller, name_or_id))

    async def show(self, caller: Caller, name: str, ident: str, *, outputs: bool = True) -> StackView:
        stack = await self._find.stack(caller, name, ident, deleted=True)
        found = await self._outputs(stack) if outputs and stack.deleted_at is None else None
        return presenting.stack(stack, await self._shown(stack), found)

    async def list(self, caller: Caller, query: StackQuery) -> tuple[Sequence[StackView], int]:
        if query.limit is None:
            page, count = await self._page(caller, query, StackRow)
            return [presenting.stack(row, {}, None) for row in page], count
        keys, count = await self._page(caller, query, StackKeys)
        rows = await queries.stacks_by_id(self._tools.database, [one.id for one in keys])
        return [presenting.stack(rows[one.id], {}, None) for one in keys if one.id in rows], count

    async def _page(self, caller: Caller, query: StackQuery, row_type: type[K]) -> tuple[Sequence[K], int]:
        rows = await queries.stacks(
            self._tools.database,
            row_type,
            project_id=None if query.global_tenant else caller.project_id,
            show_deleted=query.show_deleted,
            show_nested=query.show_nested,
            where=listing.conditions(query),
        )
        return listing.stacks(rows, query, self._tools.settings.hidden_stack_tags)

    async def template(self, caller: Caller, name: str, ident: str) -> Mapping[str, Any]:
        return requests.shown_template(await self._stored_revision(caller, name, ident), self._tools.sealing)

    async def environment(self, caller: Caller, name: str, ident: str) -> Mapping[str, Any]:
        row = await self._stored_revision(caller, name, ident)
        return validating.environment(row, self._tools.sealing)

    async def files(self, caller: Caller, name: str, ident: str) -> Mapping[str, str]:
        return await self._blueprints.files(await self._stored_revision(caller, name, ident))

    async def outputs(self, caller: Caller, name: str, ident: str) -> Sequence[OutputView]:
        return await self._outputs(await self._find.stack(caller, name, ident, deleted=True))

    async def output(self, caller: Caller, name: str, ident: str, key: str) -> OutputView:
        for view in await self.outputs(caller, name, ident):
            if view.name == key:
                return view
        raise EntityNotFound(f"The specified output key {key} not found.")

    async def _shown(self, stack: StackRow) -> Mapping[str, Any]:
        revision_id = stack.revision_id or stack.good_revision_id
        if revision_id is None:
            return presenting.pseudo(stack)
        return await queries.shown_parameters(self._tools.database, revision_id) or presenting.pseudo(stack)

    async def _outputs(self, stack: StackRow) -> Sequence[OutputView]:
        """As kept; before the end of a stack's first operation, as far as its resources are there."""
        text = stack.outputs
        if text is None and stack.revision_id is not None and stack.deleted_at is None:
            text = outputs.resolved(await reading.bench_of(self._tools, self._blueprints, stack))
        return outputs.views(text, self._tools.sealing)

    async def _stored_revision(self, caller: Caller, name: str, ident: str) -> RevisionRow:
        stack = await self._find.stack(caller, name, ident, deleted=True)
        if stack.revision_id is None:
            raise EntityNotFound(f"The Stack ({name}) has no template any more: its creation was rolled back.")
        return await self._blueprints.row(stack.revision_id)
