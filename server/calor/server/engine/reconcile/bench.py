"""What the work on one stack's resources shares, and the values it passes on."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from calor.server.cloud.door import Cloud
from calor.server.engine.durable.tree import Tree
from calor.server.engine.reconcile.context import ResourceContext
from calor.server.engine.reconcile.stopping import Stop
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.revision.blueprint import Blueprint
from calor.server.engine.revision.scope import StoredScope
from calor.server.engine.revision.template_type import TemplateType
from calor.server.resources.base import ResourceType
from calor.server.resources.registry import aliased
from calor.server.store.rows import ResourceRow, StackRow


class Superseded(Exception):
    """A newer goal took over; the work in flight goes on under it."""


class WorkFailed(Exception):
    """A piece of work failed, and that is written down. ``reason`` starts with the class of the cause."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Children(Protocol):
    """What nested types need; `nested.py` has it."""

    async def converge(self, bench: "Bench", row: ResourceRow, want: Any, stop: Stop) -> ResourceRow: ...
    def is_current(self, bench: "Bench", row: ResourceRow, want: Any) -> bool: ...
    async def remove(self, bench: "Bench", row: ResourceRow, stop: Stop) -> None: ...
    async def visit(self, bench: "Bench", row: ResourceRow, action: str, stop: Stop) -> None: ...
    async def attribute(
        self, bench: "Bench", row: ResourceRow, kind: ResourceType[Any], at: ResourceContext, want: Any, path: Any
    ) -> Any: ...


class Batch:
    """Lets members change in groups: at most ``size`` at once, then a pause. Zero: all at once."""

    def __init__(self, size: int = 0, pause: float = 0.0) -> None:
        self._size = size
        self._pause = pause
        self._inside = 0
        self._left = size
        self._changed = asyncio.Condition()
        self._opens_at = 0.0

    @property
    def is_limited(self) -> bool:
        return self._size > 0

    @contextlib.asynccontextmanager
    async def turn(self, stop: Stop) -> AsyncIterator[None]:
        if not self._size:
            yield
            return
        await stop.run(self._enter())
        try:
            yield
        finally:
            await self._leave()

    async def _enter(self) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._left > 0)
            self._left -= 1
            self._inside += 1
        delay = self._opens_at - asyncio.get_running_loop().time()
        if delay > 0:
            try:
                await asyncio.sleep(delay)
            except asyncio.CancelledError:
                await self._leave()
                raise

    async def _leave(self) -> None:
        async with self._changed:
            self._inside -= 1
            if self._inside == 0:
                self._left = self._size
                self._opens_at = asyncio.get_running_loop().time() + self._pause
            self._changed.notify_all()


NO_TEXT = '{"heat_template_version": "2021-04-16"}'
"""Of a template that is gone: enough for what ends."""


@dataclass
class Bench:
    """One stack being worked on. ``current`` is the incarnation that counts for each name."""

    tools: Tools
    tree: Tree
    stack_id: str
    blueprint: Blueprint
    cloud: Cloud
    children: Children
    batch: Batch = field(default_factory=Batch)
    current: dict[str, ResourceRow] = field(default_factory=dict)
    changed: bool = False
    moved: set[str] = field(default_factory=set)
    """Resources that others, which depend on them, have acted upon since their attributes were stored."""

    def __post_init__(self) -> None:
        self.scope = StoredScope(self.stack.name, self.blueprint.kinds, self.current, self.tools.sealing)
        for row in self.tree.rows_of(self.stack_id):  # what this operation did before a crash moved others too
            kind = self.blueprint.kinds.get(row.name)
            if kind is not None and not kind.pure and row.updated_at >= self.stack.started_at:
                self.moved |= set(row.requires)

    @property
    def stack(self) -> StackRow:
        return self.tree.stacks[self.stack_id]

    def kind(self, row: ResourceRow) -> ResourceType[Any] | None:
        """The type of a row: the blueprint's, or for what is no longer wanted what the row's type name says."""
        wanted = self.blueprint.kinds.get(row.name)
        if wanted is not None and aliased(self.blueprint.definition(row.name).type) == aliased(row.type):
            return wanted
        from_files = self.blueprint.files.get(row.type)
        if from_files is not None:
            return TemplateType(row.type, from_files)
        mapped = self.blueprint.model.environment.type_of(row.type, row.name)
        known = self.tools.registry.get(mapped)
        if known is None and row.child_id is not None:  # its file did not come with this revision; its child is here
            return TemplateType(row.type, NO_TEXT)
        return known

    def context(self, row: ResourceRow, kind: ResourceType[Any], *, stored: bool = True) -> ResourceContext:
        return ResourceContext(self.tools, self.tree, self.cloud, row, kind, stored=stored)
