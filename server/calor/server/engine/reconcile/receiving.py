"""Taking a signal: legal or not, durable, then acted on; what comes after the end changes nothing."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from calor.server.engine.durable.tree import Tree
from calor.server.engine.reconcile import happenings, reading
from calor.server.engine.reconcile.bench import Bench
from calor.server.engine.reconcile.operation import Operation
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.reconcile.trees import Trees
from calor.server.errors import NotSupported, ResourceActionNotSupported, ResourceNotAvailable
from calor.server.resources.base import ResourceFailed, Signal
from calor.server.store.rows import ResourceRow, StackRow
from calor.server.store.states import Action, Status
from calor.server.store.writes import LeaseLost, Write

log = logging.getLogger(__name__)

Commit = Callable[[Sequence[Write]], Awaitable[None]]
QUIET = timedelta(seconds=60)
"""A signal that changed nothing makes an event at most this often (F046)."""


class Receiver:
    def __init__(self, tools: Tools, trees: Trees) -> None:
        self._tools = tools
        self._trees = trees
        self._last_event: dict[tuple[str, str], datetime] = {}

    async def take(self, stack: StackRow, row: ResourceRow, details: Mapping[str, Any]) -> None:
        """Raises what api-routes.json's ``legality.signal`` says."""
        kept: list[Signal] = []  # numbered once, however often it has to be acted on
        operation = self._trees.find(stack.root_id)
        if operation is not None:
            try:
                await self._act(operation, stack, row, details, kept)
            except LeaseLost:  # the operation ended in this very moment
                log.info("a signal came as its operation ended", extra={"resource": row.name})
            else:
                return
        if await self._trees.are_elsewhere(stack.root_id):
            await self._for_another(stack, row, details, kept)
            return

        async def work(idle: Operation) -> None:
            await self._act(idle, stack, row, details, kept)

        await self._trees.change(stack.root_id, work)

    async def _act(
        self, operation: Operation, stack: StackRow, row: ResourceRow, details: Mapping[str, Any], kept: list[Signal]
    ) -> None:
        tree = operation.tree
        if stack.id not in tree.stacks or row.id not in tree.rows:
            raise ResourceNotAvailable(f"The Resource ({row.name}) is not available.")
        bench = await operation.bench_of(stack.id)
        reason = await self._taken(bench, tree.rows[row.id], details, kept)
        await self._tell(tree.commit, stack, row, *reason)

    async def _for_another(
        self, stack: StackRow, row: ResourceRow, details: Mapping[str, Any], kept: list[Signal]
    ) -> None:
        """Another process works on the tree: what a signal changes (itself, the end of a deployment) is no part of the
        tree's rows, and that process looks for it."""
        bench = await reading.bench_of(self._tools, self._tools.blueprints, stack)
        if row.id not in bench.tree.rows:
            raise ResourceNotAvailable(f"The Resource ({row.name}) is not available.")
        reason = await self._taken(bench, bench.tree.rows[row.id], details, kept)
        await self._tell(self._tools.journal.commit, stack, row, *reason)

    async def _taken(
        self, bench: Bench, row: ResourceRow, details: Mapping[str, Any], kept: list[Signal]
    ) -> tuple[str, bool]:
        """What came of it, and whether it changed nothing."""
        kind = bench.kind(row)
        if kind is None or "signal" not in kind.supports:
            raise ResourceActionNotSupported(f"Signal resource during {row.action.value} is not supported.")
        if row.action.value in kind.no_signal_actions:
            raise NotSupported(f"Signal resource during {row.action.value} is not supported.")
        async with self._tools.signals.turn(row.id):
            if _is_over(bench.tree, row):
                return "Signal after completion ignored", True
            if not kept:
                kind.check_signal(details)
                kept.append(await self._tools.signals.add(row.id, details))
            try:
                reason = await kind.signal(bench.context(row, kind), details)
            except ResourceFailed as error:
                reason = f"Signal {kept[0].number} refused: {error}"
        return reason or "Signal received", False

    async def _tell(self, commit: Commit, stack: StackRow, row: ResourceRow, reason: str, quiet: bool) -> None:
        now = self._tools.clock.now()
        key = (row.id, reason)
        last = self._last_event.get(key)
        if last is not None and now - last < QUIET:
            return
        if len(self._last_event) > 10_000:
            self._last_event.clear()
        self._last_event[key] = now
        await commit([happenings.of_resource(stack, row, Action.SIGNAL, Status.COMPLETE, now, reason)])


def _is_over(tree: Tree, row: ResourceRow) -> bool:
    """Whether all who waited for this handle are COMPLETE: then a signal is late, and changes nothing (F044)."""
    waiters = [one for one in tree.rows_of(row.stack_id) if one.uses_signals and row.name in one.requires]
    return bool(waiters) and all(one.status is Status.COMPLETE for one in waiters)
