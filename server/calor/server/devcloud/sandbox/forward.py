"""``calor dev forward``: a port on loopback that leads to a server's port, through the dev cloud's namespaces."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from pathlib import Path

from calor.server.devcloud.driver import DriverError
from calor.server.devcloud.sandbox import commands, namespaces, records
from calor.server.devcloud.sandbox.relays import Relays, Stream

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
    address = _address(match["address"].strip("[]")) if match else None
    if match is None or address is None:
        raise DriverError(f"{text!r} is no forward: write PORT:ADDRESS:PORT, such as 8080:10.0.0.5:80.")
    return Forward(int(match["port"]), address, int(match["target"]))


def _address(text: str) -> str | None:
    try:
        return str(ip_address(text))
    except ValueError:
        return None


async def namespace_for(state_dir: Path, address: str) -> Path:
    """Where a connection to the address has to start: in the server that has it as a fixed address (its security groups
    do not count then), or on the external network of the router that has it as a floating one (they do)."""
    for namespace in _servers(state_dir):
        if await _has(namespace, address):
            return namespace
    for router in _routers(state_dir):
        if await _has(router, address):
            return await _external_network(router, address)
    raise DriverError(f"No running server and no router of this dev cloud has the address {address}.")


@asynccontextmanager
async def serve(state_dir: Path, forward: Forward) -> AsyncIterator[int]:
    """Listen on 127.0.0.1; gives the port. Needs root, as the namespaces do."""
    namespace = await namespace_for(state_dir, forward.address)

    relays = Relays()
    reach = partial(_open, namespace, forward.address, forward.target)
    server = await asyncio.start_server(relays.to(reach), "127.0.0.1", forward.port)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await relays.end()


def _servers(state_dir: Path) -> Iterator[Path]:
    for record in sorted(state_dir.glob("servers/*/running.json")):
        running = records.load(record)
        if running is not None and running.process.is_alive:
            yield running.process.namespace("net")


def _routers(state_dir: Path) -> Iterator[Path]:
    return (each for each in sorted(state_dir.glob("run/netns/t*")) if namespaces.exists(each))


async def _open(namespace: Path, address: str, port: int) -> Stream:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = namespaces.open_socket(namespace, family=family)
    try:
        await asyncio.get_running_loop().sock_connect(sock, (address, port))
    except BaseException:
        sock.close()
        raise
    return await asyncio.open_connection(sock=sock)


async def _has(namespace: Path, address: str) -> bool:
    links = await commands.ip_show(namespace, "address")
    return any(each["local"] == address for link in links for each in link["addr_info"])


async def _external_network(router: Path, address: str) -> Path:
    """A router's external device and the namespace of its network are named alike but for the first letter."""
    links = await commands.ip_show(router, "address")
    device = next(str(link["ifname"]) for link in links if address in {each["local"] for each in link["addr_info"]})
    path = router.with_name(f"n{device[1:]}")
    if not namespaces.exists(path):
        raise DriverError(f"{address} is a router's own address in a network of this dev cloud; forward to a server's.")
    return path
