"""How a virtual machine is wired: a namespace of its own between its devices and the networks' bridges.

For each port it holds a bridge of two: the VM's tap, and a veth end whose other end is the port on the network (where
the security groups are, as for sandboxes). What the VM sends to the fixed addresses of its services, to whatever
gateway, stays here: sockets in this namespace answer it, so that the socket is the identity. So does DHCP.
"""

import asyncio
import fcntl
import logging
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import cast

from calor.server.devcloud.driver import GUEST_API_ADDRESS, DriverError, PortWiring
from calor.server.devcloud.qemu import dhcp
from calor.server.devcloud.qemu.dhcp import Lease
from calor.server.devcloud.sandbox import commands, namespaces
from calor.server.devcloud.sandbox.guest_services import METADATA_ADDRESS

SERVICES = (METADATA_ADDRESS, GUEST_API_ADDRESS)
SETTINGS = {
    "ipv4/ip_forward": "0",
    "ipv4/conf/all/rp_filter": "0",
    "ipv4/conf/default/rp_filter": "0",
    "ipv6/conf/all/disable_ipv6": "1",
    "ipv6/conf/default/disable_ipv6": "1",
    "bridge/bridge-nf-call-iptables": "0",
    "bridge/bridge-nf-call-ip6tables": "0",
    "bridge/bridge-nf-call-arptables": "0",
}
_MAC = "02:ca:10:00:00:01"
_TUNSETIFF = 0x400454CA
_TAP, _NO_PACKET_INFO, _WITH_VNET_HEADER = 0x0002, 0x1000, 0x4000
_ADDRESSES = "{ " + ", ".join(SERVICES) + " }"
RULES = f"""\
table bridge calor-vm {{
  chain arriving {{
    type filter hook prerouting priority -300; policy accept;
    iifname "tap*" ip daddr {_ADDRESSES} meta pkttype set host ether daddr set {_MAC} accept
    iifname "eth*" ether daddr {_MAC} drop
    iifname "eth*" ether saddr {_MAC} drop
    iifname "eth*" ip daddr {_ADDRESSES} drop
    iifname "eth*" ip saddr {_ADDRESSES} drop
    iifname "eth*" arp daddr ip {_ADDRESSES} drop
    iifname "eth*" arp saddr ip {_ADDRESSES} drop
    iifname "eth*" udp dport {{ 67, 68 }} drop
  }}
  chain onward {{
    type filter hook forward priority 0; policy accept;
    udp dport {{ 67, 68 }} drop
    arp daddr ip {_ADDRESSES} drop
  }}
  chain leaving {{
    type filter hook output priority 0; policy accept;
    oifname "eth*" drop
  }}
}}
"""
"""Nothing of a network reaches this namespace's own sockets, and nothing of theirs a network."""

log = logging.getLogger(__name__)


async def prepare(namespace: Path) -> None:
    """The namespace with the addresses of the services, before anything is plugged into it."""
    if namespaces.create(namespace, SETTINGS):
        await commands.nft(namespace, RULES)
        await commands.ip(namespace, ["link set lo up", *(f"address add {each}/32 dev lo" for each in SERVICES)])


async def bridge(namespace: Path, device: str, port: PortWiring) -> None:
    """Join the veth end ``device`` (eth0) with the tap to come (tap0) by a bridge (b0)."""
    number = _number(device)
    lines = [
        f"link add b{number} mtu {int(port.mtu)} address {_MAC} type bridge forward_delay 0 mcast_snooping 0",
        f"link set b{number} up",
        f"link set {device} master b{number} up",
        *_ways_back(number, port),
    ]
    await commands.ip(namespace, lines)


async def point(namespace: Path, device: str, port: PortWiring) -> None:
    """The port's addresses have changed."""
    await commands.ip(namespace, _ways_back(_number(device), port))


async def tap(namespace: Path, device: str, port: PortWiring) -> int:
    """A descriptor of the VM's end; the device lives as long as somebody holds it."""
    name = f"tap{_number(device)}"
    fd = namespaces.inside(namespace, lambda: _open_tap(name))
    try:
        await commands.ip(namespace, [f"link set {name} mtu {int(port.mtu)} master b{_number(device)} up"])
    except BaseException:
        os.close(fd)
        raise
    return fd


async def unbridge(namespace: Path, device: str) -> None:
    if namespaces.exists(namespace):
        await commands.delete_link(namespace, f"b{_number(device)}")


def _number(device: str) -> int:
    return int(device.removeprefix("eth"))


def _ways_back(number: int, port: PortWiring) -> list[str]:
    """To the VM's addresses, without asking the wire whose they are."""
    lines = []
    for fixed in port.fixed_ips:
        if ":" not in fixed.address:
            lines.append(f"route replace {fixed.address}/32 dev b{number}")
            lines.append(f"neigh replace {fixed.address} lladdr {port.mac} dev b{number} nud permanent")
    return lines


def _open_tap(name: str) -> int:
    try:
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
    except OSError as exc:
        raise DriverError(f"This machine gives no tap devices (/dev/net/tun: {exc.strerror}): modprobe tun.") from exc
    request = struct.pack("16sH22x", name.encode(), _TAP | _NO_PACKET_INFO | _WITH_VNET_HEADER)
    try:
        fcntl.ioctl(fd, _TUNSETIFF, request)
    except OSError:
        os.close(fd)
        raise
    return fd


class _Answering(asyncio.DatagramProtocol):
    def __init__(self, given: Callable[[], Lease | None]) -> None:
        self._given = given
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str | bytes, int]) -> None:
        given = self._given()
        reply = None if given is None else dhcp.answer(data, given, SERVICES)
        if reply is not None and self._transport is not None:
            self._transport.sendto(reply, ("255.255.255.255", 68))

    def error_received(self, exc: Exception) -> None:
        log.warning("a DHCP answer could not be sent", extra={"reason": str(exc)})


class Leases:
    """The DHCP sockets of one VM, by device."""

    def __init__(self, namespace: Path) -> None:
        self._namespace = namespace
        self._given: dict[str, Lease | None] = {}
        self._open: dict[str, asyncio.DatagramTransport] = {}

    async def give(self, device: str, lease: Lease | None) -> None:
        """From now on the port's machine is told this."""
        self._given[device] = lease
        if device in self._open:
            return
        name = f"b{_number(device)}"
        sock = namespaces.inside(self._namespace, lambda: dhcp.broadcast_socket(name))
        transport, _protocol = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: _Answering(lambda: self._given.get(device)), sock=sock
        )
        self._open[device] = transport

    def withdraw(self, device: str) -> None:
        self._given.pop(device, None)
        if (transport := self._open.pop(device, None)) is not None:
            transport.close()

    def close(self) -> None:
        for device in list(self._open):
            self.withdraw(device)
