"""Waiting without polling one by one: a watch lists a collection once per interval for all who wait on it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from calor.server.cloud.door import Record
from calor.server.cloud.errors import CloudError

Listing = Mapping[str, Record]


@dataclass
class Watch:
    """One collection of one project. Lists while somebody waits, first soon and then at growing intervals."""

    listing: Callable[[], Awaitable[list[Record]]]
    fastest: float
    slowest: float
    _waiters: set["asyncio.Future[Listing]"] = field(default_factory=set)
    _task: "asyncio.Task[None] | None" = None
    _interval: float = 0.0

    async def next(self, *, fresh: bool) -> Listing:
        """The next listing that begins after this call. ``fresh``: a newcomer, so soon. Raises what listing raised."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Listing] = loop.create_future()
        self._waiters.add(future)
        if fresh:
            self._interval = self.fastest
        if self._task is None or self._task.done():
            self._interval = self.fastest
            self._task = loop.create_task(self._run())
        try:
            return await future
        finally:
            self._waiters.discard(future)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            self._interval = min(self._interval * 1.4, self.slowest)
            served = set(self._waiters)
            if not served:
                return
            began = time.monotonic()
            try:
                records = {str(record["id"]): record for record in await self.listing()}
            except CloudError as exc:
                answer(served, exc)
            else:
                answer(served, records)
            self._interval = max(self._interval, 2 * (time.monotonic() - began))

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
        for future in self._waiters:
            future.cancel()


def answer(futures: "set[asyncio.Future[Listing]]", outcome: Listing | CloudError) -> None:
    for future in futures:
        if future.done():
            continue
        if isinstance(outcome, CloudError):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)


@dataclass
class Watches:
    """All watches of a door, by project, credentials and collection."""

    fastest: float
    slowest: float
    _watches: dict[Any, Watch] = field(default_factory=dict)

    def on(self, key: Any, listing: Callable[[], Awaitable[list[Record]]]) -> Watch:
        """The watch of a key; a first listing function serves until the watch ends."""
        found = self._watches.get(key)
        if found is None:
            idle = [old for old, watch in self._watches.items() if watch._task is None or watch._task.done()]
            for old in idle:
                del self._watches[old]
            found = self._watches[key] = Watch(listing, self.fastest, self.slowest)
        return found

    def stop(self) -> None:
        for watch in self._watches.values():
            watch.stop()
        self._watches.clear()
