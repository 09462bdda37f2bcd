"""Gives ports their fixed addresses."""

import ipaddress
from typing import Any

from calor.server.devcloud.documents import Doc, Documents
from calor.server.devcloud.neutron import addresses
from calor.server.devcloud.neutron.collections import bad, conflict


def taken_addresses(docs: Documents, network_id: str, *, but: str = "") -> set[str]:
    """All addresses in use on a network, but those of one port."""
    return {
        fixed["ip_address"]
        for port in docs.where("port", network_id=network_id)
        if port["id"] != but
        for fixed in port["fixed_ips"]
    }


def allocate(docs: Documents, network_id: str, asked: Any, *, port_id: str) -> list[Doc]:
    """The fixed IPs of a port: as asked, or one of each IP version when nothing is asked."""
    subnets = docs.where("subnet", network_id=network_id)
    taken = taken_addresses(docs, network_id, but=port_id)
    if asked is None:
        firsts: dict[int, Doc] = {}
        for subnet in subnets:
            if addresses.free_address(subnet, taken):
                firsts.setdefault(subnet["ip_version"], subnet)
        if subnets and not firsts:
            raise _exhausted(network_id)
        asked = [{"subnet_id": subnet["id"]} for subnet in firsts.values()]
    if not isinstance(asked, list):
        raise bad("Invalid input for fixed_ips. Reason: it must be a list.")
    fixed = []
    for one in asked:
        given = _one(subnets, network_id, one, taken)
        taken.add(given["ip_address"])
        fixed.append(given)
    return fixed


def _one(subnets: list[Doc], network_id: str, asked: Any, taken: set[str]) -> Doc:
    if not isinstance(asked, dict) or not (asked.get("subnet_id") or asked.get("ip_address")):
        raise bad("IP allocation requires subnet_id or ip_address", "BadRequest")
    if asked.get("subnet_id"):
        candidates = [subnet for subnet in subnets if subnet["id"] == asked["subnet_id"]]
        if not candidates:
            raise bad(
                f"Failed to create port on network {network_id}, because fixed_ips included invalid subnet "
                f"{asked['subnet_id']}.",
                "InvalidInput",
            )
    else:
        candidates = subnets
    if not asked.get("ip_address"):
        address = addresses.free_address(candidates[0], taken)
        if address is None:
            raise _exhausted(network_id)
        return {"subnet_id": candidates[0]["id"], "ip_address": address}
    return _exact(candidates, addresses.parse_address(asked["ip_address"], "fixed_ips"), taken, asked)


def _exact(candidates: list[Doc], address: addresses.Address, taken: set[str], asked: Doc) -> Doc:
    fitting = [subnet for subnet in candidates if address in ipaddress.ip_network(subnet["cidr"])]
    if not fitting:
        if asked.get("subnet_id"):
            raise bad(f"IP address {address} is not a valid IP for the specified subnet.", "InvalidIpForSubnet")
        raise bad(
            f"IP address {address} is not a valid IP for any of the subnets on the specified network.",
            "InvalidIpForNetwork",
        )
    if str(address) in taken:
        raise conflict(
            "IpAddressAlreadyAllocated", f"IP address {address} already allocated in subnet {fitting[0]['id']}"
        )
    return {"subnet_id": fitting[0]["id"], "ip_address": str(address)}


def _exhausted(network_id: str) -> Exception:
    return conflict("IpAddressGenerationFailure", f"No more IP addresses available on network {network_id}.")
