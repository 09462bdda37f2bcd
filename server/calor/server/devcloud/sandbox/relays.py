"""Carrying TCP connections from where they arrive to where they shall lead."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_CHUNK = 1 << 16
log = logging.getLogger(__name__)


class Relays:
    """The connections under way; `end` lets none outlive its owner."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def to(
        self, reach: Callable[[], Awaitable[Stream]]
    ) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
        """For ``asyncio.start_server``: each connection is carried to the stream that ``reach`` opens."""

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            try:
                await _carry((reader, writer), await reach())
            except OSError:
                log.debug("nobody listens where a connection leads")
            except asyncio.CancelledError:
                log.debug("a relayed connection was ended by its owner")
            finally:
                writer.close()
                self._tasks.discard(task)

        return connected

    async def end(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _carry(near: Stream, far: Stream) -> None:
    """Copy both ways; an end of one side's sending is passed on, a broken connection ends both."""
    try:
        async with asyncio.TaskGroup() as copies:
            copies.create_task(_copy(near[0], far[1]))
            copies.create_task(_copy(far[0], near[1]))
    except* OSError:
        log.debug("a relayed connection broke")
    finally:
        far[1].close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(_CHUNK):
        writer.write(chunk)
        await writer.drain()
    with contextlib.suppress(OSError):
        writer.write_eof()
