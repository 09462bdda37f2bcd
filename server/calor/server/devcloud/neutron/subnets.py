"""Subnets."""

import ipaddress
from typing import Any

from calor.server.devcloud.calls import Answer, Call, delete, get, post, put
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.neutron import addresses
from calor.server.devcloud.neutron.collections import (
    Kind,
    bad,
    begun,
    changed,
    conflict,
    found,
    invalid,
    listed,
    own,
    require_uuid,
)
from calor.server.devcloud.neutron.networks import NETWORK

UNSET = object()
SUBNET = Kind(
    "subnet",
    "subnets",
    "Subnet",
    {
        "name": "",
        "network_id": None,
        "cidr": None,
        "ip_version": 4,
        "gateway_ip": None,
        "allocation_pools": [],
        "enable_dhcp": True,
        "dns_nameservers": [],
        "host_routes": [],
        "description": "",
        "ipv6_ra_mode": None,
        "ipv6_address_mode": None,
        "subnetpool_id": None,
        "prefixlen": None,
        "service_types": [],
        "segment_id": None,
        "dns_publish_fixed_ip": False,
        "use_default_subnetpool": False,
    },
    fixed=("network_id", "cidr", "ip_version", "ipv6_ra_mode", "ipv6_address_mode", "subnetpool_id"),
)
HIDDEN = frozenset({"prefixlen", "use_default_subnetpool"})


def show(call: Call, doc: Doc) -> Doc:
    network = call.docs.get("network", doc["network_id"]) or {}
    shown = {key: value for key, value in doc.items() if key not in HIDDEN}
    return {**shown, "router:external": network.get("router:external", False)}


def create(call: Call) -> Answer:
    part = call.part("subnet")
    network = found(call, NETWORK, require_uuid("network_id", part.get("network_id")))
    if not call.sees(network):
        raise bad("Tenant does not own the network.", "InvalidInput")
    doc = {**begun(call, SUBNET, part), **planned(part), "shared": network["shared"]}
    _refuse_overlap(call, doc)
    return Answer(body={"subnet": show(call, call.docs.put("subnet", doc))}, status=201)


def planned(part: Doc) -> Doc:
    """CIDR, gateway and pools of a new subnet, checked, with Neutron's defaults. Pure."""
    if part.get("subnetpool_id"):
        raise bad("The dev cloud has no subnet pools: give a cidr.", "InvalidInput")
    if not part.get("cidr"):
        raise bad("Bad subnets request: a subnetpool must be specified in the absence of a cidr.", "BadRequest")
    version = part.get("ip_version", 4)
    if version not in (4, 6):
        raise bad(f"Invalid input for ip_version. Reason: '{version}' is not in [4, 6].")
    net = addresses.parse_cidr(part["cidr"], version)
    gateway = _gateway(net, part.get("gateway_ip", UNSET))
    pools = part.get("allocation_pools")
    chosen = addresses.check_pools(net, gateway, pools) if pools else addresses.default_pools(net, gateway)
    _check_lists(part)
    return {"cidr": str(net), "gateway_ip": gateway, "allocation_pools": chosen}


def _gateway(net: addresses.Net, asked: Any) -> str | None:
    if asked is None:
        return None
    if asked is UNSET or asked == "":
        return str(net.network_address + 1)
    gateway = addresses.parse_address(asked, "gateway_ip")
    if gateway not in net or gateway in (net.network_address, net.broadcast_address):
        raise invalid(f"Gateway is not valid on subnet: {gateway} is not in {net}.")
    return str(gateway)


def _check_lists(part: Doc) -> None:
    for server in part.get("dns_nameservers") or []:
        addresses.parse_address(server, "dns_nameservers")
    for route in part.get("host_routes") or []:
        if not isinstance(route, dict) or {"destination", "nexthop"} - set(route):
            raise bad(f"Invalid input for host_routes. Reason: '{route}' needs destination and nexthop.")
        addresses.parse_address(route["nexthop"], "host_routes")


def _refuse_overlap(call: Call, doc: Doc) -> None:
    net = ipaddress.ip_network(doc["cidr"])
    for other in call.docs.where("subnet", network_id=doc["network_id"]):
        theirs = ipaddress.ip_network(other["cidr"])
        if other["id"] != doc["id"] and theirs.version == net.version and net.overlaps(theirs):
            raise invalid(
                f"Requested subnet with cidr: {doc['cidr']} for network: {doc['network_id']} overlaps with "
                "another subnet."
            )


def list_subnets(call: Call) -> Doc:
    return listed(call, SUBNET, [show(call, doc) for doc in call.docs.all("subnet")])


def show_subnet(call: Call) -> Doc:
    return {"subnet": show(call, found(call, SUBNET, call.path["id"]))}


def update(call: Call) -> Doc:
    doc, part = own(call, SUBNET, call.path["id"]), call.part("subnet")
    net = addresses.parse_cidr(doc["cidr"], doc["ip_version"])
    new = changed(call, SUBNET, doc, part)
    if "gateway_ip" in part and part["gateway_ip"] != doc["gateway_ip"]:
        new["gateway_ip"] = _gateway(net, part["gateway_ip"])
        _refuse_gateway_in_use(call, doc)
    if "allocation_pools" in part or "gateway_ip" in part:
        addresses.check_pools(net, new["gateway_ip"], new["allocation_pools"])
    _check_lists(part)
    return {"subnet": show(call, call.docs.put("subnet", new))}


def _refuse_gateway_in_use(call: Call, doc: Doc) -> None:
    for port in call.docs.where("port", network_id=doc["network_id"]):
        if {"subnet_id": doc["id"], "ip_address": doc["gateway_ip"]} in port["fixed_ips"]:
            raise conflict(
                "GatewayIpInUse",
                f"Current gateway ip {doc['gateway_ip']} already in use by port {port['id']}. Unable to update.",
            )


def remove(call: Call) -> Answer:
    doc = own(call, SUBNET, call.path["id"])
    for port in call.docs.where("port", network_id=doc["network_id"]):
        if any(fixed["subnet_id"] == doc["id"] for fixed in port["fixed_ips"]):
            raise conflict(
                "SubnetInUse",
                f"Unable to complete operation on subnet {doc['id']}: One or more ports have an IP allocation from "
                "this subnet.",
            )
    call.docs.drop("subnet", doc["id"])
    return Answer(status=204)


ROUTES = (
    get("/v2.0/subnets", list_subnets),
    post("/v2.0/subnets", create),
    get("/v2.0/subnets/{id}", show_subnet),
    put("/v2.0/subnets/{id}", update),
    delete("/v2.0/subnets/{id}", remove),
)
