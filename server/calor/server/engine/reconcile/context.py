"""What a resource type's methods get: the row, the cloud, and the few things of the engine they may use."""

import asyncio
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from calor.server.cloud.door import Cloud
from calor.server.engine.durable.tree import Tree
from calor.server.engine.guests.identities import StackGuests
from calor.server.engine.guests.inventory import ProjectConfigs
from calor.server.engine.guests.stack_deployments import StackDeployments
from calor.server.engine.guests.urls import GuestUrls
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.revision.naming import physical_name
from calor.server.resources.base import Incarnation, ResourceType, Signal, StackFacts
from calor.server.store.rows import ResourceRow, StackRow
from calor.server.store.writes import Write


class ResourceContext:
    """One per piece of work. Before the row is stored (``stored`` false: pure types), what the type remembers is
    kept in the row at hand and goes out with the one commit."""

    def __init__(
        self, tools: Tools, tree: Tree, cloud: Cloud, row: ResourceRow, kind: ResourceType[Any], *, stored: bool = True
    ) -> None:
        self._tools = tools
        self._tree = tree
        self._row = row
        self._kind = kind
        self._stored = stored
        self.cloud = cloud
        self.attempted = False
        self.listened: set[str] = set()
        self._stack_row = tree.stacks[row.stack_id]
        self._remembered: tuple[str | None, Mapping[str, Any]] = (None, {})
        self._me: tuple[ResourceRow, Incarnation] | None = None

    @functools.cached_property
    def urls(self) -> GuestUrls:
        return GuestUrls(self._tools.settings, self._tools.signer, self._stack_row, self._find)

    @functools.cached_property
    def guests(self) -> StackGuests:
        return StackGuests(
            self._tools.identities,
            self._tools.pushes,
            self._tools.verdicts,
            self._stack_row.id,
            self._stack_row.project_id,
        )

    @functools.cached_property
    def configs(self) -> ProjectConfigs:
        return ProjectConfigs(self._tools.configs, self._stack_row.project_id, self._given)

    def _given(self) -> Any:
        """The properties that are being worked towards, secrets as such."""
        return self._tools.sealing.value(self.row.pending or self.row.properties)

    @functools.cached_property
    def deployments(self) -> StackDeployments:
        stack = self._stack_row
        return StackDeployments(self._tools.deployments, stack.project_id, stack.id, self._tree.fence, self.cloud)

    @property
    def row(self) -> ResourceRow:
        return self._tree.rows.get(self._row.id, self._row) if self._stored else self._row

    @property
    def stack(self) -> StackFacts:
        return facts_of(self._stack_row)

    @property
    def me(self) -> Incarnation:
        return self.incarnation()

    def incarnation(self) -> Incarnation:
        row, known = self.row, self._me
        if known is None or known[0] is not row or known[1].attempted != self.attempted:
            known = self._me = (row, self._incarnation(row))
        return known[1]

    @functools.cached_property
    def _physical_name(self) -> str:
        row = self._row
        return physical_name(self._stack_row.name, row.name, row.id, self._kind.physical_name_limit)

    def _incarnation(self, row: ResourceRow) -> Incarnation:
        return Incarnation(
            id=row.id,
            name=row.name,
            type=self._kind.name,
            physical_name=self._physical_name,
            physical_id=row.physical_id,
            data=self._known(row.data),
            metadata=self._tools.sealing.value(row.meta) or {},
            attempted=self.attempted,
        )

    @property
    def options(self) -> Mapping[str, Any]:
        return self._tools.settings.options

    async def remember(self, **data: Any) -> None:
        kept = dict(self._known(self.row.data))
        for name, value in data.items():
            if value is None:
                kept.pop(name, None)
            else:
                kept[name] = value
        sealed = self._tools.sealing.secret(kept) if kept else None
        await self.put(data=sealed)
        self._remembered = (sealed, kept)

    def _known(self, data: str | None) -> Mapping[str, Any]:
        """What is remembered, opened once for each text."""
        if self._remembered[0] != data:
            self._remembered = (data, self._tools.sealing.value(data) or {})
        return self._remembered[1]

    async def write_metadata(self, metadata: Mapping[str, Any]) -> None:
        await self.put(meta=self._tools.sealing.text(metadata))

    async def put(self, *more: Write, **values: Any) -> ResourceRow:
        """Change the row: at once when it is stored, else when it will be."""
        if self._stored:
            self._row = await self._tree.change(self._row.id, *more, **values)
        else:
            self._row = dataclasses.replace(self._row, **values)
        return self._row

    async def signals(self) -> Sequence[Signal]:
        return await self._tools.signals.of(self._row.id)

    async def signals_of(self, reference: str) -> Sequence[Signal]:
        return await self._tools.signals.of(self._handle(reference))

    def handle(self, reference: str) -> Incarnation | None:
        row = self._tree.rows.get(self._handle(reference))
        kind = self._tools.registry.get(row.type) if row is not None else None
        if row is None or kind is None or row.id == self._row.id:
            return None
        return ResourceContext(self._tools, self._tree, self.cloud, row, kind).me

    async def another_signal(self, seen: int, *, of: str | None = None) -> None:
        await self._tools.signals.more_than(self._row.id if of is None else self._handle(of), seen)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def now(self) -> datetime:
        return self._tools.clock.now()

    def _find(self, resource_id: str) -> ResourceRow | None:
        return self.row if resource_id == self._row.id else self._tree.rows.get(resource_id)

    def _handle(self, reference: str) -> str:
        """The row that ``get_resource`` stands for: by signed URL, physical id or name, in the same stack."""
        for row in reversed(self._tree.rows_of(self._row.stack_id)):
            known = self._tools.sealing.value(row.attributes) or {}
            if reference in (row.physical_id, row.id) or reference == known.get("reference") or row.id in reference:
                self.listened.add(row.id)
                return row.id
        for row in self._tree.named(self._row.stack_id, reference):
            self.listened.add(row.id)
            return row.id
        return self._row.id


def facts_of(stack: StackRow) -> StackFacts:
    return StackFacts(
        id=stack.id,
        name=stack.name,
        project_id=stack.project_id,
        user_id=stack.user_id,
        root_id=stack.root_id,
        region=stack.region,
    )
