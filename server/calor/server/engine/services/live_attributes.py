"""Attributes of resources as they are shown to users: asked of the cloud now, in Heat's choice, without secrets."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from calor.server.engine.reconcile import attributes, reading
from calor.server.engine.reconcile.bench import Bench
from calor.server.engine.reconcile.context import ResourceContext
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.revision.kinds import typed
from calor.server.engine.revision.revisions import Blueprints
from calor.server.engine.revision.template_type import TemplateType
from calor.server.engine.services import presenting
from calor.server.engine.services.run_viewing import hidden
from calor.server.errors import CalorError
from calor.server.resources.base import ResourceType
from calor.server.resources.declare import attributes_of
from calor.server.store import guest_queries
from calor.server.store.rows import ResourceRow, StackRow

log = logging.getLogger(__name__)

SHOW = "show"
"""The attribute that is all that the cloud itself shows of a resource."""

Fetch = Callable[[Sequence[str]], Awaitable[Mapping[str, Any]]]


class LiveAttributes:
    def __init__(self, tools: Tools, blueprints: Blueprints) -> None:
        self._tools = tools
        self._blueprints = blueprints

    async def of(
        self, stack: StackRow, rows: Sequence[ResourceRow], also: Sequence[str] = ()
    ) -> Sequence[Mapping[str, Any]]:
        """Of each of the rows, which are a stack's own. What cannot be had is null."""
        try:
            bench = await reading.bench_of(self._tools, self._blueprints, stack)
        except CalorError as error:
            log.info("attributes cannot be read", extra={"stack": stack.id, "error": error.detail})
            return [{} for _ in rows]
        return await asyncio.gather(*(self._of_row(bench, row, also) for row in rows))

    async def _of_row(self, bench: Bench, row: ResourceRow, also: Sequence[str]) -> Mapping[str, Any]:
        kind = bench.kind(row)
        if kind is None or row.id not in bench.tree.rows:
            return {}
        properties = self._tools.sealing.value(row.properties or row.pending) or {}
        want, at = typed(kind, properties), bench.context(row, kind)

        async def fetch(names: Sequence[str]) -> Mapping[str, Any]:
            if kind.is_nested:
                return {name: await _of_nested(bench, kind, at, row, want, name) for name in names}
            found = await attributes.fetched(bench, kind, at, row, want, [(name,) for name in names])
            absent = dict.fromkeys(names) if kind.any_attributes else {}
            return {**absent, **found.get("names", {})}

        found = await _chosen(kind, also, fetch)
        if kind.is_nested:
            return found if isinstance(kind, TemplateType) else await self._without_secrets(row, found)
        shown = presenting.concealed(found, properties)
        run = await self._tools.deployments.row(row.physical_id) if row.physical_id else None
        return shown if run is None else hidden(shown, await self._tools.secrets.of(run))

    async def _without_secrets(self, row: ResourceRow, shown: Mapping[str, Any]) -> Mapping[str, Any]:
        """The attributes of a group, whose members' runs may have printed what went into them."""
        below = await guest_queries.deployments_of_stacks(self._tools.database, [row.child_id or ""])
        for run in below:
            shown = hidden(shown, await self._tools.secrets.of(run))
        return shown


async def _of_nested(
    bench: Bench, kind: ResourceType[Any], at: ResourceContext, row: ResourceRow, want: Any, name: str
) -> Any:
    """Null also for an attribute that is one only with a path (a group's ``attributes``)."""
    found = await attributes.fetched(bench, kind, at, row, want, [(name,)])
    return next(iter(found.get("paths", {}).values()), None)


async def _chosen(kind: ResourceType[Any], also: Sequence[str], fetch: Fetch) -> Mapping[str, Any]:
    """What the cloud shows of a resource (``show``), and what was asked for besides; of one that no cloud shows, all
    its attributes (Heat's ``format_resource_attributes``)."""
    whole = (await fetch([SHOW])).get(SHOW) if kind.collection is not None else None
    if isinstance(whole, Mapping):
        return {**whole, **await fetch([name for name in also if name not in whole])}
    wanted = dict.fromkeys([*attributes_of(kind), *also])
    return await fetch([name for name in wanted if name != SHOW])
