"""Group commit: coroutines hand in row changes and await them; one transaction carries all that is waiting.

The more there is to write, the more rows share a commit, so the cost of a resource falls as load grows.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from calor.server.engine.durable.clock import Clock
from calor.server.store.database import Database
from calor.server.store.writes import Fence, LeaseLost, Write, carry_out, holds

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class _Submission:
    writes: Sequence[Write]
    fence: Fence | None
    done: asyncio.Future[None]


class Journal:
    """The one writer of a process. Every write of a tree carries its fence: a zombie's write fails."""

    def __init__(self, database: Database, clock: Clock, lease_ttl: timedelta) -> None:
        self._database = database
        self._clock = clock
        self._ttl = lease_ttl
        self._waiting: list[_Submission] = []
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closing = False
        self.flushes = 0

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="journal")

    async def stop(self) -> None:
        """Write what is waiting, then end."""
        self._closing = True
        self._wake.set()
        if self._task is not None:
            await self._task

    async def commit(self, writes: Sequence[Write], *, fence: Fence | None = None) -> None:
        """Durable when it returns. Raises `LeaseLost`, or what the database says of these very writes."""
        if self._closing:
            raise LeaseLost("the engine is stopping")
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Submission(writes, fence, done))
        self._wake.set()
        await done

    async def _run(self) -> None:
        while self._waiting or not self._closing:
            await self._wake.wait()
            await asyncio.sleep(0)  # all that became ready in this turn of the loop shares the commit
            self._wake.clear()
            batch, self._waiting = self._waiting, []
            if batch:
                await self._flush(batch)

    async def _flush(self, batch: Sequence[_Submission]) -> None:
        self.flushes += 1
        try:
            lost = await self._write(batch)
        except SQLAlchemyError as error:
            await self._isolate(batch, error)
            return
        for one in batch:
            _settle(one, LeaseLost(one.fence.root_id) if one.fence is not None and one.fence in lost else None)

    async def _isolate(self, batch: Sequence[_Submission], error: SQLAlchemyError) -> None:
        """One submission's fault must not fail its neighbours: each is tried by itself."""
        if len(batch) == 1:
            _settle(batch[0], error)
            return
        log.warning("a group of writes failed; trying them one by one", extra={"error": str(error.__cause__ or error)})
        for one in batch:
            await self._flush([one])

    async def _write(self, batch: Sequence[_Submission]) -> set[Fence]:
        async def work(connection: AsyncConnection) -> set[Fence]:
            until = self._clock.now() + self._ttl
            fences = {one.fence for one in batch if one.fence is not None}
            lost = {fence for fence in fences if not await holds(connection, fence, until)}
            await carry_out(connection, [w for one in batch if one.fence not in lost for w in one.writes])
            return lost

        return await self._database.transaction(work)


def _settle(one: _Submission, error: Exception | None) -> None:
    if one.done.done():  # its coroutine was cancelled; the write stands
        return
    if error is None:
        one.done.set_result(None)
    else:
        one.done.set_exception(error)
