"""What a sandbox finds at its fixed addresses: the metadata service and the ways to the APIs.

The sockets listen in a namespace that is wired to one sandbox only and are served by the cloud's process: whoever
connects is that server, whatever it says about itself. (In the sandbox's own namespace they would take the ports 80,
8000 and 5000 from its programs, which listen on all addresses; and its root could take the service's place.)
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path

from aiohttp import web

from calor.server.devcloud.driver import GUEST_API_ADDRESS, Metadata
from calor.server.devcloud.sandbox import commands, names, namespaces
from calor.server.devcloud.sandbox.processes import Process
from calor.server.devcloud.sandbox.relays import Relays

METADATA_ADDRESS = "169.254.169.254"
DEVICE = "calor0"
"""The device inside a sandbox that leads to its services."""

_GUEST_ADDRESS = "169.254.169.250"
Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class GuestServices:
    """All sockets of all running sandboxes, by server. Their namespaces are named in ``folder``."""

    def __init__(self, folder: Path, metadata: Metadata, forwards: Mapping[int, tuple[str, int]]) -> None:
        self._folder = folder
        self._metadata = metadata
        self._forwards = forwards
        self._open: dict[str, list[asyncio.Server]] = {}
        self._relays = Relays()

    async def connect(self, server_id: str, server: Process) -> None:
        """Make the server's link to its services, and listen at its end."""
        await self.disconnect(server_id)
        namespace = self.namespace(server_id)
        namespaces.create(namespace, {"ipv4/ip_forward": "0", "ipv6/conf/default/disable_ipv6": "1"})
        addresses = (METADATA_ADDRESS, GUEST_API_ADDRESS)
        await commands.ip(
            namespace,
            [
                f"link add guest type veth peer name {DEVICE} netns {server.pid}",
                *(f"address add {each}/32 dev guest" for each in addresses),
                "link set guest up",
                "route add default dev guest",
            ],
        )
        await commands.ip(
            server.namespace("net"),
            [
                "link set lo up",
                f"address add {_GUEST_ADDRESS}/32 dev {DEVICE}",
                f"link set {DEVICE} up",
                *(f"route add {each}/32 dev {DEVICE} src {_GUEST_ADDRESS}" for each in addresses),
            ],
        )
        await self.open(server_id)

    async def disconnect(self, server_id: str) -> None:
        await self.close(server_id)
        namespaces.remove(self.namespace(server_id))

    async def open(self, server_id: str) -> None:
        """Listen at the end of the server's link; again after a restart of this process."""
        await self.close(server_id)
        namespace = self.namespace(server_id)
        loop = asyncio.get_running_loop()
        sockets: list[asyncio.Server] = []
        self._open[server_id] = sockets
        http = web.Server(self._answering(server_id), access_log=None)
        sockets.append(await loop.create_server(http, sock=namespaces.listen(namespace, METADATA_ADDRESS, 80)))
        for port, (host, target) in self._forwards.items():
            listener = namespaces.listen(namespace, GUEST_API_ADDRESS, port)
            sockets.append(
                await asyncio.start_server(
                    self._relays.to(partial(asyncio.open_connection, host, target)), sock=listener
                )
            )

    async def close(self, server_id: str) -> None:
        for each in self._open.pop(server_id, []):
            each.close()

    async def close_all(self) -> None:
        for server_id in list(self._open):
            await self.close(server_id)
        await self._relays.end()

    def namespace(self, server_id: str) -> Path:
        """Where a server's sockets listen; of a VM it is also where its devices are wired."""
        return self._folder / names.device("s", server_id)

    def _answering(self, server_id: str) -> Answer:
        async def answer(request: web.BaseRequest) -> web.StreamResponse:
            if request.method not in ("GET", "HEAD"):
                return web.Response(status=405, text="405 Method Not Allowed\n")
            document = self._metadata.get(server_id, request.path)
            if document is None:
                return web.Response(status=404, text="404 Not Found\n")
            return web.Response(body=document.body, headers={"Content-Type": document.content_type})

        return answer
