"""The rows of one tree in memory, and the only way in which they change: through the journal, fenced."""

import dataclasses
import operator
from collections.abc import Sequence
from typing import Any

from calor.server.engine.durable.journal import Journal
from calor.server.store import queries
from calor.server.store.database import Database
from calor.server.store.models import Resource, Stack
from calor.server.store.rows import ResourceRow, StackRow
from calor.server.store.writes import Change, Fence, Insert, Remove, Write

_VALUES = {of: operator.attrgetter(*of.__slots__) for of in (StackRow, ResourceRow)}


def values_of(row: StackRow | ResourceRow) -> dict[str, Any]:
    of = type(row)
    return dict(zip(of.__slots__, _VALUES[of](row), strict=True))


class Tree:
    """A root stack and all stacks nested in it. What a method changed is durable when it returns."""

    def __init__(self, journal: Journal, fence: Fence) -> None:
        self._journal = journal
        self.fence = fence
        self.is_denied = False
        """A cloud has refused the stack owner's rights (trust gone, user gone)."""
        self.stacks: dict[str, StackRow] = {}
        self.rows: dict[str, ResourceRow] = {}
        self._of_stack: dict[str, dict[str, ResourceRow]] = {}
        self._of_name: dict[tuple[str, str], dict[str, ResourceRow]] = {}

    @property
    def root(self) -> StackRow:
        return self.stacks[self.fence.root_id]

    async def load(self, database: Database) -> None:
        self.stacks = {row.id: row for row in await queries.tree(database, self.fence.root_id)}
        self.rows, self._of_stack, self._of_name = {}, {}, {}
        for row in await queries.tree_resources(database, self.fence.root_id):
            self.remember(row)

    def adopt(self, stack: StackRow) -> None:
        """A stack that was just stored."""
        self.stacks[stack.id] = stack

    def draft(self) -> "Draft":
        return Draft(self)

    def remember(self, row: ResourceRow) -> None:
        self.rows[row.id] = row
        self._of_stack.setdefault(row.stack_id, {})[row.id] = row
        self._of_name.setdefault((row.stack_id, row.name), {})[row.id] = row

    def rows_of(self, stack_id: str) -> list[ResourceRow]:
        """Oldest first."""
        return list(self._of_stack.get(stack_id, {}).values())

    def named(self, stack_id: str, name: str) -> list[ResourceRow]:
        """All incarnations of a name, newest first."""
        return list(reversed(self._of_name.get((stack_id, name), {}).values()))

    def path(self, stack_id: str) -> str:
        """``resources.web.resources.0`` of a nested stack; empty for the root."""
        parts: list[str] = []
        stack = self.stacks[stack_id]
        while stack.owner_resource_id is not None and stack.owner_id is not None:
            owner = self.rows.get(stack.owner_resource_id)
            parts.append(f"resources.{owner.name if owner else stack.name}")
            stack = self.stacks[stack.owner_id]
        return ".".join(reversed(parts))

    async def commit(self, writes: Sequence[Write]) -> None:
        await self._journal.commit(writes, fence=self.fence)

    async def insert(self, row: ResourceRow, *more: Write) -> ResourceRow:
        await self.commit([Insert(Resource, values_of(row)), *more])
        self.remember(row)
        return row

    async def change(self, row_id: str, *more: Write, **values: Any) -> ResourceRow:
        await self.commit([Change(Resource, {"id": row_id}, values), *more])
        row = dataclasses.replace(self.rows[row_id], **values)
        self.remember(row)
        return row

    async def drop(self, row_id: str, *more: Write) -> None:
        await self.commit([Remove(Resource, {"id": row_id}), *more])
        self.lose(row_id)

    def lose(self, row_id: str) -> None:
        row = self.rows.pop(row_id, None)
        if row is not None:
            self._of_stack[row.stack_id].pop(row_id, None)
            self._of_name[row.stack_id, row.name].pop(row_id, None)

    async def change_stack(self, stack_id: str, *more: Write, **values: Any) -> StackRow:
        await self.commit([Change(Stack, {"id": stack_id}, values), *more])
        stack = self.stacks[stack_id] = dataclasses.replace(self.stacks[stack_id], **values)
        return stack

    def forget_stack(self, stack_id: str) -> None:
        self.stacks.pop(stack_id, None)
        for row_id, row in self._of_stack.pop(stack_id, {}).items():
            self.rows.pop(row_id, None)
            self._of_name.pop((stack_id, row.name), None)


class Draft(Tree):
    """The same tree for work without effects outside: what it changes is seen at once, and durable for all of it
    together when `store` returns. Nobody but such work may build on it before."""

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree._journal, tree.fence)
        self._tree = tree
        self.stacks, self.rows = tree.stacks, tree.rows
        self._of_stack, self._of_name = tree._of_stack, tree._of_name
        self._writes: list[Write] = []
        self._before: dict[str, ResourceRow | None] = {}

    async def commit(self, writes: Sequence[Write]) -> None:
        self._writes.extend(writes)

    def remember(self, row: ResourceRow) -> None:
        self._before.setdefault(row.id, self.rows.get(row.id))
        super().remember(row)

    def lose(self, row_id: str) -> None:
        self._before.setdefault(row_id, self.rows.get(row_id))
        super().lose(row_id)

    async def store(self) -> None:
        """Where it raises, the tree is as it was before the draft."""
        try:
            if self._writes:
                await self._tree.commit(self._writes)
        except BaseException:
            for row_id, row in self._before.items():
                if row is None:
                    super().lose(row_id)
                else:
                    super().remember(row)
            raise
