"""Address arithmetic: CIDRs, allocation pools, gateways, MACs. Pure but for randomness."""

import ipaddress
import random
from collections.abc import Iterable, Iterator
from typing import Any

from calor.server.devcloud.documents import Doc
from calor.server.devcloud.neutron.collections import bad, conflict, invalid

Net = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def parse_cidr(text: Any, version: int) -> Net:
    try:
        net = ipaddress.ip_network(str(text), strict=False)
    except ValueError as exc:
        raise invalid(f"{text} is not in a CIDR format.") from exc
    if "/" not in str(text):
        raise bad(
            f"Invalid input for cidr. Reason: '{text}' isn't a recognized IP subnet cidr, '{net}' is recommended."
        )
    if net.version != version:
        raise invalid(f"cidr '{text}' does not match the ip_version '{version}'.")
    return net


def parse_address(text: Any, name: str) -> Address:
    try:
        return ipaddress.ip_address(str(text))
    except ValueError as exc:
        raise bad(f"Invalid input for {name}. Reason: '{text}' is not a valid IP address.") from exc


def default_pools(net: Net, gateway: str | None) -> list[Doc]:
    """All host addresses of the subnet without the gateway."""
    first, last = int(net.network_address), int(net.broadcast_address)
    if net.version == 4 and net.prefixlen < 31:
        first, last = first + 1, last - 1
    elif net.version == 6:
        first += 1
    ranges = [(first, last)]
    if gateway is not None and first <= (gate := int(ipaddress.ip_address(gateway))) <= last:
        ranges = [(low, high) for low, high in ((first, gate - 1), (gate + 1, last)) if low <= high]
    kind = ipaddress.IPv4Address if net.version == 4 else ipaddress.IPv6Address
    return [{"start": str(kind(low)), "end": str(kind(high))} for low, high in ranges]


def check_pools(net: Net, gateway: str | None, pools: Any) -> list[Doc]:
    """The caller's pools, each inside the subnet, apart from each other and from the gateway."""
    if not isinstance(pools, list):
        raise bad("Invalid input for allocation_pools. Reason: it must be a list of pools.")
    taken: list[tuple[int, int]] = []
    for pool in pools:
        if not isinstance(pool, dict) or set(pool) != {"start", "end"}:
            raise bad(f"Invalid input for allocation_pools. Reason: invalid data format for IP pool: '{pool}'.")
        start, end = (parse_address(pool[key], "allocation_pools") for key in ("start", "end"))
        text = f"{start}-{end}"
        if int(start) > int(end):
            raise bad(f"The allocation pool {text} is not valid.", "InvalidAllocationPool")
        if start not in net or end not in net:
            raise bad(f"The allocation pool {text} spans beyond the subnet cidr {net}.", "OutOfBoundsAllocationPool")
        if any(int(start) <= high and low <= int(end) for low, high in taken):
            raise conflict(
                "OverlappingAllocationPools", f"Found overlapping allocation pools: {text} for subnet {net}."
            )
        if gateway is not None and int(start) <= int(ipaddress.ip_address(gateway)) <= int(end):
            raise conflict(
                "GatewayConflictWithAllocationPools", f"Gateway ip {gateway} conflicts with allocation pool {text}."
            )
        taken.append((int(start), int(end)))
    return [{"start": str(pool["start"]), "end": str(pool["end"])} for pool in pools]


def free_address(subnet: Doc, taken: Iterable[str]) -> str | None:
    """The first free address of the pools, or None."""
    used = set(taken)
    return next((text for text in _pool_addresses(subnet) if text not in used), None)


def _pool_addresses(subnet: Doc) -> Iterator[str]:
    kind = ipaddress.IPv4Address if subnet["ip_version"] == 4 else ipaddress.IPv6Address
    for pool in subnet["allocation_pools"]:
        for number in range(int(kind(pool["start"])), int(kind(pool["end"])) + 1):
            yield str(kind(number))


def random_mac(taken: set[str]) -> str:
    while True:
        mac = "fa:16:3e:" + ":".join(f"{random.randrange(256):02x}" for _ in range(3))
        if mac not in taken:
            return mac
