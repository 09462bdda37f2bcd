"""``calor dev forward``: a port on loopback that leads to a server's port, through the dev cloud's namespaces."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from calor.server.devcloud.driver import DriverError
from calor.server.devcloud.sandbox import commands, namespaces, records
from calor.server.devcloud.sandbox.guest_services import carry

_SHAPE = re.compile(r"(?P<port>\d+):(?P<address>\[[0-9a-fA-F:]+\]|[0-9.]+):(?P<target>\d+)")


@dataclass(frozen=True)
class Forward:
    """``port`` on 127.0.0.1 (0: any free one) to ``target`` at ``address``."""

    port: int
    address: str
    target: int


def parse(text: str) -> Forward:
    """``PORT:ADDRESS:PORT``. Raises `DriverError`."""
    match = _SHAPE.fullmatch(text)
    try:
        if match is None:
            raise ValueError(text)
        address = str(ip_address(match["address"].strip("[]")))
    except ValueError as exc:
        raise DriverError(f"{text!r} is no forward: write PORT:ADDRESS:PORT, such as 8080:10.0.0.5:80.") from exc
    return Forward(int(match["port"]), address, int(match["target"]))


async def namespace_for(state_dir: Path, address: str) -> Path:
    """Where a connection to the address has to start: in the server that has it as a fixed address (its security groups
    do not count then), or on the external network of the router that has it as a floating one (they do)."""
    state = state_dir.resolve()
    for record in sorted((state / "servers").glob("*/running.json")):
        running = records.load(record)
        if running is not None and running.process.is_alive:
            namespace = running.process.namespace("net")
            if await _has(namespace, address):
                return namespace
    for router in sorted((state / "run/netns").glob("t*")):
        if namespaces.exists(router) and await _has(router, address):
            return await _external_network(state, router, address)
    raise DriverError(f"No running server and no router of this dev cloud has the address {address}.")


@asynccontextmanager
async def serve(state_dir: Path, forward: Forward) -> AsyncIterator[int]:
    """Listen on 127.0.0.1; gives the port. Needs root, as the namespaces do."""
    namespace = await namespace_for(state_dir, forward.address)

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far = await _open(namespace, forward.address, forward.target)
        except OSError:
            writer.close()  # what a client sees of a refused connection
            return
        await carry((reader, writer), far)

    server = await asyncio.start_server(connect, "127.0.0.1", forward.port)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def _open(namespace: Path, address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = namespaces.open_socket(namespace, family=family)
    try:
        await asyncio.get_running_loop().sock_connect(sock, (address, port))
    except OSError:
        sock.close()
        raise
    return await asyncio.open_connection(sock=sock)


async def _has(namespace: Path, address: str) -> bool:
    links = await commands.ip_show(namespace, "address")
    return any(each["local"] == address for link in links for each in link["addr_info"])


async def _external_network(state: Path, router: Path, address: str) -> Path:
    """The network namespace whose name, as a router's external device, is that of the address' device."""
    links = await commands.ip_show(router, "address")
    device = next(link["ifname"] for link in links if address in {each["local"] for each in link["addr_info"]})
    path = state / "run/netns" / ("n" + device[1:])
    if not namespaces.exists(path):
        raise DriverError(f"{address} belongs to a router, but its network is not there on this machine.")
    return path
