"""DHCP for a virtual machine: every port gets what the APIs say it has, for ever. Bytes in, bytes out (RFC 2131)."""

import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from calor.server.devcloud.driver import PortWiring

SERVER = "169.254.169.254"
_MAGIC = b"\x63\x82\x53\x63"
_HEAD = struct.Struct("!BBBBIHH4s4s4s4s16s64s128s")
_FOR_EVER = b"\xff\xff\xff\xff"
_DISCOVER, _OFFER, _REQUEST, _ACK, _NAK, _INFORM = 1, 2, 3, 5, 6, 8
_ON_LINK = IPv4Address(0)


@dataclass(frozen=True, kw_only=True)
class Lease:
    """What one port's machine is told."""

    mac: str
    hostname: str
    address: str
    prefix: int
    gateway: str | None
    dns: Sequence[str]
    routes: Sequence[tuple[str, str]]
    mtu: int


def lease(port: PortWiring, hostname: str) -> Lease | None:
    """By the port's first IPv4 address; None where it has none."""
    fixed = next((each for each in port.fixed_ips if ":" not in each.address), None)
    if fixed is None:
        return None
    return Lease(
        mac=port.mac.lower(), hostname=hostname, address=fixed.address, prefix=fixed.prefix, gateway=fixed.gateway,
        dns=[each for each in fixed.dns if ":" not in each],
        routes=[(to, hop) for to, hop in fixed.routes if ":" not in to], mtu=port.mtu,
    )  # fmt: skip


def answer(message: bytes, given: Lease, on_link: Sequence[str]) -> bytes | None:
    """The reply to a client's message; None where it deserves none. ``on_link``: addresses that the client shall look
    for on the wire, whatever its routes say."""
    if len(message) < _HEAD.size + 4 or message[_HEAD.size : _HEAD.size + 4] != _MAGIC:
        return None
    head = _HEAD.unpack_from(message)
    asked = _options(message[_HEAD.size + 4 :])
    kind = asked.get(53, b"\0")[0]
    if head[0] != 1 or head[11][:6] != bytes.fromhex(given.mac.replace(":", "")):
        return None
    mine = IPv4Address(given.address)
    if kind == _DISCOVER:
        return _reply(head, _OFFER, mine, _told(given, on_link))
    if kind == _INFORM:
        return _reply(head, _ACK, _ON_LINK, _told(given, on_link))
    if kind != _REQUEST or asked.get(54, IPv4Address(SERVER).packed) != IPv4Address(SERVER).packed:
        return None
    wanted = asked.get(50) or head[7]
    if wanted != mine.packed:
        return _reply(head, _NAK, _ON_LINK, {})
    return _reply(head, _ACK, mine, _told(given, on_link))


def _told(given: Lease, on_link: Sequence[str]) -> dict[int, bytes]:
    network = IPv4Network(f"{given.address}/{given.prefix}", strict=False)
    routes = [(IPv4Network(each), _ON_LINK) for each in on_link]
    routes += [(IPv4Network(to), IPv4Address(hop)) for to, hop in given.routes]
    if given.gateway:
        routes.append((IPv4Network("0.0.0.0/0"), IPv4Address(given.gateway)))
    told = {
        1: network.netmask.packed,
        3: IPv4Address(given.gateway).packed if given.gateway else b"",
        6: b"".join(IPv4Address(each).packed for each in given.dns),
        12: given.hostname.encode("ascii", "ignore")[:63],
        26: struct.pack("!H", given.mtu),
        28: network.broadcast_address.packed,
        51: _FOR_EVER,
        121: b"".join(_route(to, hop) for to, hop in routes),
    }
    return {number: value for number, value in told.items() if value}


def _route(to: IPv4Network, hop: IPv4Address) -> bytes:
    """RFC 3442: the significant bytes of the destination only."""
    return bytes([to.prefixlen]) + to.network_address.packed[: -(-to.prefixlen // 8)] + hop.packed


def _reply(head: tuple[int | bytes, ...], kind: int, yours: IPv4Address, told: Mapping[int, bytes]) -> bytes:
    server = IPv4Address(SERVER).packed
    packed = _HEAD.pack(2, 1, 6, 0, head[4], 0, head[6], bytes(4), yours.packed, server, head[10], head[11], b"", b"")
    options = {53: bytes([kind]), 54: server, **told}
    body = b"".join(piece for number, value in options.items() for piece in _split(number, value))
    return (packed + _MAGIC + body + b"\xff").ljust(300, b"\0")


def _split(number: int, value: bytes) -> Iterator[bytes]:
    """Longer than 255 bytes: in several options of one number (RFC 3396)."""
    for at in range(0, len(value), 255):
        piece = value[at : at + 255]
        yield bytes([number, len(piece)]) + piece


def _options(raw: bytes) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    at = 0
    while at < len(raw) and raw[at] != 255:
        if raw[at] == 0:
            at += 1
            continue
        if at + 1 >= len(raw):
            break
        length = raw[at + 1]
        found[raw[at]] = found.get(raw[at], b"") + raw[at + 2 : at + 2 + length]
        at += 2 + length
    return found


def broadcast_socket(device: str) -> socket.socket:
    """Hears and answers clients without an address on one device; made inside that device's namespace."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
    made.bind(("", 67))
    made.setblocking(False)
    return made
