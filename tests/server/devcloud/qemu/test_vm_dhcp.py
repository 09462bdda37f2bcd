"""DHCP answers for virtual machines: bytes in, bytes out."""

import struct
from dataclasses import replace
from ipaddress import IPv4Address

from calor.server.devcloud.driver import FixedIp, PortWiring
from calor.server.devcloud.qemu import dhcp

MAC = "fa:16:3e:00:00:05"
PORT = PortWiring(
    port_id="p",
    network_id="n",
    mac=MAC,
    fixed_ips=[
        FixedIp(address="fd00::5", prefix=64, gateway="fd00::1"),
        FixedIp(
            address="10.7.0.5",
            prefix=24,
            gateway="10.7.0.1",
            dns=("9.9.9.9", "fd00::53"),
            routes=[("10.9.0.0/16", "10.7.0.2")],
        ),
    ],
    mtu=1442,
    rules=None,
)
LEASE = dhcp.lease(PORT, "db1")
assert LEASE is not None
SERVICES = ("169.254.169.254",)


def message(kind: int, mac: str = MAC, **options: bytes) -> bytes:
    head = struct.pack(
        "!BBBBIHH4s4s4s4s16s192s",
        1,
        1,
        6,
        0,
        0xCAFE,
        0,
        0x8000,
        b"",
        b"",
        b"",
        b"",
        bytes.fromhex(mac.replace(":", "")),
        b"",
    )
    body = bytes([53, 1, kind]) + b"".join(
        bytes([int(name.removeprefix("o")), len(value)]) + value for name, value in options.items()
    )
    return head + b"\x63\x82\x53\x63" + body + b"\xff"


def options(reply: bytes) -> dict[int, bytes]:
    found, at = {}, 240
    while reply[at] != 255:
        found[reply[at]] = reply[at + 2 : at + 2 + reply[at + 1]]
        at += 2 + reply[at + 1]
    return found


def test_an_offer_carries_what_the_port_has_and_the_way_to_its_services() -> None:
    reply = dhcp.answer(message(1), LEASE, SERVICES)
    assert reply is not None
    told = options(reply)
    assert (reply[0], reply[4:8]) == (2, struct.pack("!I", 0xCAFE))
    assert IPv4Address(reply[16:20]) == IPv4Address("10.7.0.5")
    assert told[53] == b"\x02"
    assert told[1] == bytes([255, 255, 255, 0])
    assert told[6] == IPv4Address("9.9.9.9").packed
    assert told[12] == b"db1"
    assert struct.unpack("!H", told[26]) == (1442,)
    assert told[51] == b"\xff" * 4
    assert told[121] == (
        bytes([32, 169, 254, 169, 254, 0, 0, 0, 0]) + bytes([16, 10, 9, 10, 7, 0, 2]) + bytes([0, 10, 7, 0, 1])
    )


def test_its_own_address_is_acknowledged_and_another_refused() -> None:
    mine = dhcp.answer(message(3, o50=IPv4Address("10.7.0.5").packed), LEASE, SERVICES)
    other = dhcp.answer(message(3, o50=IPv4Address("10.7.0.6").packed), LEASE, SERVICES)
    assert mine is not None
    assert other is not None
    assert (options(mine)[53], options(other)[53]) == (b"\x05", b"\x06")


def test_what_is_not_for_us_gets_no_answer() -> None:
    assert dhcp.answer(b"noise", LEASE, SERVICES) is None
    assert dhcp.answer(message(1)[:240], LEASE, SERVICES) is None
    assert dhcp.answer(message(1, mac="fa:16:3e:00:00:06"), LEASE, SERVICES) is None
    assert dhcp.answer(message(3, o54=IPv4Address("10.7.0.1").packed), LEASE, SERVICES) is None
    assert dhcp.answer(message(4), LEASE, SERVICES) is None
    assert dhcp.answer(message(1)[:-1] + bytes([55, 200]), LEASE, SERVICES) is not None, (
        "cut options are no reason to fall"
    )


def test_many_routes_are_split_over_several_options() -> None:
    many = replace(LEASE, routes=[(f"10.{n}.0.0/16", "10.7.0.2") for n in range(60)])
    reply = dhcp.answer(message(1), many, SERVICES)
    assert reply is not None
    assert reply.count(bytes([16, 10])) >= 60


def test_a_port_without_an_ipv4_address_has_no_lease() -> None:
    assert dhcp.lease(replace(PORT, fixed_ips=PORT.fixed_ips[:1]), "db1") is None
