"""The trees that this process works on: planting, taking up again, and handing over."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from calor.server.engine.durable.leases import Leases
from calor.server.engine.durable.tree import Tree
from calor.server.engine.reconcile.operation import Operation
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.revision.revisions import Blueprints
from calor.server.errors import EntityNotFound, ServiceUnavailable
from calor.server.store import queries
from calor.server.store.rows import StackRow
from calor.server.store.states import Status
from calor.server.store.writes import Fence, LeaseLost, Write

log = logging.getLogger(__name__)

STOP_PATIENCE = 8.0
LOST_PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0, 4.0)


class Trees:
    def __init__(self, tools: Tools, leases: Leases, blueprints: Blueprints) -> None:
        self._tools = tools
        self._leases = leases
        self._blueprints = blueprints
        self._running: dict[str, Operation] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._turns: dict[str, asyncio.Lock] = {}
        self._stopping = False

    def find(self, root_id: str) -> Operation | None:
        operation = self._running.get(root_id)
        return None if operation is None or operation.over else operation

    async def are_elsewhere(self, root_id: str) -> bool:
        """Whether another process that lives works on a tree now."""
        return await self._leases.is_held_elsewhere(root_id)

    async def plant(self, stack: StackRow, writes: Sequence[Write]) -> None:
        """Store a new root stack and begin to work on it."""
        fence, lease = self._leases.first(stack.id)
        try:
            await self._tools.journal.commit([lease, *writes])
        except BaseException:
            self._leases.forget(fence)
            raise
        tree = Tree(self._tools.journal, fence)
        tree.adopt(stack)
        self._start(tree)

    @contextlib.asynccontextmanager
    async def changing(self, root_id: str) -> AsyncIterator[Operation]:
        """The operation of a tree, with the root's row locked. What the caller makes IN_PROGRESS is worked on."""
        async with self._turn(root_id):
            operation = self.find(root_id)
            if operation is not None:
                await operation.lock.acquire()
                if not operation.over:
                    try:
                        yield operation
                    except LeaseLost:
                        operation.stop()
                        raise
                    finally:
                        operation.lock.release()
                    return
                operation.lock.release()
            operation = await self._loaded(await self._leases.wait_for(root_id))
            try:
                yield operation
            finally:
                if operation.tree.root.status is Status.IN_PROGRESS:
                    self._launch(operation)
                else:
                    self._leases.forget(operation.tree.fence)
                    await operation.tree.commit([self._leases.given_back(operation.tree.fence)])

    async def change(self, root_id: str, work: Callable[[Operation], Awaitable[None]]) -> None:
        """`changing`, and once more where the lease was lost in that very moment. ``work`` may be called again."""
        for pause in LOST_PAUSES:
            try:
                async with self.changing(root_id) as operation:
                    await work(operation)
            except LeaseLost:
                log.info("a lease was lost while a request was taken; taking it again", extra={"root": root_id})
                await asyncio.sleep(pause)
            else:
                return
        raise ServiceUnavailable("Another engine works on this stack. Try again in a few seconds.")

    async def recover(self) -> None:
        """Take up every unfinished tree that nobody works on."""
        for root_id in await queries.unfinished_roots(self._tools.database):
            if self.find(root_id) is not None or self._stopping:
                continue
            async with self._turn(root_id):
                fence = None if self.find(root_id) is not None else await self._leases.take(root_id)
                if fence is not None:
                    log.info("taking up an unfinished operation", extra={"root": root_id})
                    self._launch(await self._loaded(fence))

    async def stop(self) -> None:
        """Bring what is in flight to a durable point."""
        self._stopping = True
        for operation in self._running.values():
            operation.stop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_PATIENCE)
        for task in list(self._tasks):
            task.cancel()
        for operation in list(self._running.values()):
            await operation.kill()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def lost(self, fences: Sequence[Fence]) -> None:
        for fence in fences:
            operation = self._running.get(fence.root_id)
            if operation is not None:
                log.warning("another engine took a tree over", extra={"root": fence.root_id})
                operation.stop()

    async def _loaded(self, fence: Fence) -> Operation:
        tree = Tree(self._tools.journal, fence)
        await tree.load(self._tools.database)
        if fence.root_id not in tree.stacks:
            raise EntityNotFound(f"The Stack ({fence.root_id}) could not be found.")
        return Operation(self._tools, self._leases, tree, self._blueprints)

    def _start(self, tree: Tree) -> None:
        self._launch(Operation(self._tools, self._leases, tree, self._blueprints))

    def _launch(self, operation: Operation) -> None:
        root_id = operation.tree.fence.root_id
        self._running[root_id] = operation
        task = asyncio.create_task(self._drive(operation), name=f"tree {root_id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _drive(self, operation: Operation) -> None:
        root_id = operation.tree.fence.root_id
        try:
            await operation.drive()
        except Exception:  # the outermost frame of a tree: whoever takes it up again starts from what is stored
            log.exception("work on a tree broke off", extra={"root": root_id})
        finally:
            if self._running.get(root_id) is operation:
                del self._running[root_id]

    @contextlib.asynccontextmanager
    async def _turn(self, root_id: str) -> AsyncIterator[None]:
        """Who wants to change a tree that nobody works on takes turns in loading it."""
        lock = self._turns.setdefault(root_id, asyncio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.locked() and self._turns.get(root_id) is lock:
                del self._turns[root_id]
