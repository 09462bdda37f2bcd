"""What a sandbox finds at its fixed addresses: the metadata service and the ways to the APIs.

The sockets listen inside the sandbox's own network namespace but are served by the cloud's process: whoever
connects is the server that the namespace belongs to, whatever it says about itself.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from aiohttp import web

from calor.server.devcloud.driver import GUEST_API_ADDRESS, Metadata
from calor.server.devcloud.sandbox import namespaces

METADATA_ADDRESS = "169.254.169.254"
_CHUNK = 1 << 16
Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Relay = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
log = logging.getLogger(__name__)


class GuestServices:
    """All sockets of all running sandboxes, by server."""

    def __init__(self, metadata: Metadata, forwards: Mapping[int, tuple[str, int]]) -> None:
        self._metadata = metadata
        self._forwards = forwards
        self._open: dict[str, list[asyncio.Server]] = {}
        self._relays: set[asyncio.Task[None]] = set()

    async def open(self, server_id: str, namespace: Path) -> None:
        """Listen inside the server's namespace; again after a restart of this process."""
        await self.close(server_id)
        loop = asyncio.get_running_loop()
        sockets: list[asyncio.Server] = []
        self._open[server_id] = sockets
        http = web.Server(self._answering(server_id), access_log=None)
        sockets.append(await loop.create_server(http, sock=namespaces.listen(namespace, METADATA_ADDRESS, 80)))
        for port, target in self._forwards.items():
            listener = namespaces.listen(namespace, GUEST_API_ADDRESS, port)
            sockets.append(await asyncio.start_server(self._relaying(*target), sock=listener))

    async def close(self, server_id: str) -> None:
        for each in self._open.pop(server_id, []):
            each.close()

    async def close_all(self) -> None:
        for server_id in list(self._open):
            await self.close(server_id)
        for task in list(self._relays):
            task.cancel()
        await asyncio.gather(*self._relays, return_exceptions=True)

    def _answering(self, server_id: str) -> Answer:
        async def answer(request: web.BaseRequest) -> web.StreamResponse:
            if request.method not in ("GET", "HEAD"):
                return web.Response(status=405, text="405 Method Not Allowed\n")
            document = self._metadata.get(server_id, request.path)
            if document is None:
                return web.Response(status=404, text="404 Not Found\n")
            return web.Response(body=document.body, headers={"Content-Type": document.content_type})

        return answer

    def _relaying(self, host: str, port: int) -> Relay:
        async def relay_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._relays.add(task)
            try:
                await relay(reader, writer, host, port)
            finally:
                self._relays.discard(task)

        return relay_connection


async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int) -> None:
    """Carry one connection to an address of this machine, until both sides are done."""
    try:
        far_reader, far_writer = await asyncio.open_connection(host, port)
    except OSError:
        log.debug("nobody listens where a guest's connection leads", extra={"host": host, "port": port})
        writer.close()
        return
    await carry((reader, writer), (far_reader, far_writer))


async def carry(
    near: tuple[asyncio.StreamReader, asyncio.StreamWriter], far: tuple[asyncio.StreamReader, asyncio.StreamWriter]
) -> None:
    """Copy both ways; an end of one side's sending is passed on, a broken connection ends both."""
    try:
        async with asyncio.TaskGroup() as copies:
            copies.create_task(_copy(near[0], far[1]))
            copies.create_task(_copy(far[0], near[1]))
    except* OSError:
        log.debug("a relayed connection broke")
    finally:
        near[1].close()
        far[1].close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(_CHUNK):
        writer.write(chunk)
        await writer.drain()
    with contextlib.suppress(OSError):
        writer.write_eof()
