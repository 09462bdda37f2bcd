"""How a virtual machine is wired, seen from a namespace in the place of the guest: its services, and no way around."""

import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from calor.server.devcloud.qemu import links
from calor.server.devcloud.sandbox import commands, namespaces
from calor.server.devcloud.sandbox.guest_services import METADATA_ADDRESS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root"),
]


class Guest:
    """A namespace whose eth0 is wired as a VM's tap is."""

    def __init__(self, folder: Path, number: int, machines: Any) -> None:
        self.port = machines.port(number)
        self.inside, self.house = folder / f"g{number}", folder / f"s{number}"
        self._machines = machines

    async def wire(self) -> None:
        namespaces.create(self.inside, {"ipv6/conf/default/disable_ipv6": "1"})
        await links.prepare(self.house)
        await self._machines.driver._networks.wire(self.port, f'"{self.house}"', "eth0")
        await links.bridge(self.house, "eth0", self.port)
        pair = f'link add tap0 type veth peer name eth0 address {self.port.mac} netns "{self.inside}"'
        await commands.ip(self.house, [pair, "link set tap0 master b0 up"])
        address = self.port.fixed_ips[0].address
        await commands.ip(
            self.inside,
            [
                "link set lo up",
                f"address add {address}/24 dev eth0",
                "link set eth0 up",
                "route add default via 10.7.0.1",
            ],
        )

    async def asks(self, address: str, port: int = 80, within: float = 3) -> str:
        command = ["nsenter", f"--net={self.inside}", "curl", "-s", "-m", str(within), f"http://{address}:{port}/who"]
        return await commands.run([*command, "--noproxy", "*"])

    async def end(self) -> None:
        for each in (self.inside, self.house):
            namespaces.remove(each)


@pytest.fixture
async def two(machines: Any) -> AsyncIterator[tuple[Guest, Guest]]:
    folder = machines.state / "run" / "netns"
    pair = Guest(folder, 5, machines), Guest(folder, 6, machines)
    for guest in pair:
        await guest.wire()
        # a gateway that is not there: frames to it never leave for the services' sake
        await commands.ip(guest.inside, ["neigh add 10.7.0.1 lladdr fa:16:3e:00:00:01 dev eth0"])
    yield pair
    for guest in pair:
        await guest.end()


def answering(namespace: Path, text: bytes) -> socket.socket:
    """A socket in the VM's namespace; its backlog takes one connection, whose answer lies ready."""
    return namespaces.listen(namespace, METADATA_ADDRESS, 80)


async def test_the_services_are_reached_by_way_of_the_gateway_and_are_the_servers_own(two: tuple[Guest, Guest]) -> None:
    import asyncio

    async def serve(guest: Guest, text: bytes) -> asyncio.Server:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
            await writer.drain()
            writer.close()

        return await asyncio.start_server(answer, sock=answering(guest.house, text))

    servers = [await serve(guest, str(at).encode()) for at, guest in enumerate(two)]
    assert [await guest.asks(METADATA_ADDRESS) for guest in two] == ["0", "1"]
    # on the wire itself, as DHCP's route says: still its own
    await commands.ip(two[0].inside, [f"route add {METADATA_ADDRESS}/32 dev eth0"])
    assert await two[0].asks(METADATA_ADDRESS) == "0"
    # the other's services, by its namespace's MAC address
    await commands.ip(two[0].inside, [f"neigh replace {METADATA_ADDRESS} lladdr 02:ca:10:00:00:01 dev eth0"])
    assert await two[0].asks(METADATA_ADDRESS) == "0"
    for server in servers:
        server.close()


async def test_neighbours_reach_each_other_but_not_each_others_namespace(two: tuple[Guest, Guest]) -> None:
    one, other = two
    ping = ["nsenter", f"--net={one.inside}", "ping", "-c", "1", "-W", "3", "-q"]
    assert "1 received" in await commands.run([*ping, "10.7.0.6"])
    listing = await commands.run(["nsenter", f"--net={other.house}", "nft", "list", "ruleset"])
    assert 'oifname "eth*" drop' in listing
