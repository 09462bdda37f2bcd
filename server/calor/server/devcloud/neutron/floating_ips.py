"""Floating IPs: addresses outside that lead to a port inside."""

from typing import Any

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, delete, get, post, put
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.neutron.collections import (
    Kind,
    bad,
    begun,
    changed,
    conflict,
    found,
    listed,
    own,
    require_uuid,
)
from calor.server.devcloud.neutron.networks import NETWORK
from calor.server.devcloud.neutron.ports import PORT, make
from calor.server.devcloud.neutron.routers import legs

OWNER = "network:floatingip"
FLOATING = Kind(
    "floatingip",
    "floatingips",
    "Floating IP",
    {
        "floating_network_id": None,
        "floating_ip_address": None,
        "subnet_id": None,
        "port_id": None,
        "fixed_ip_address": None,
        "description": "",
        "dns_name": "",
        "dns_domain": "",
        "qos_policy_id": None,
    },
    fixed=("floating_network_id", "floating_ip_address", "subnet_id"),
)
DETAILS = ("name", "network_id", "mac_address", "admin_state_up", "status", "device_id", "device_owner")


def show(call: Call, doc: Doc) -> Doc:
    port = call.docs.get("port", doc["port_id"] or "")
    shown = {key: value for key, value in doc.items() if key != "subnet_id"}
    return {
        **shown,
        "status": "ACTIVE" if doc["port_id"] else "DOWN",
        "port_details": {key: port[key] for key in DETAILS} if port else None,
        "port_forwardings": [],
    }


def create(call: Call) -> Answer:
    part = call.part("floatingip")
    network = found(call, NETWORK, require_uuid("floating_network_id", part.get("floating_network_id")))
    if not network["router:external"]:
        message = f"Bad floatingip request: Network {network['id']} is not a valid external network."
        raise bad(message, "BadRequest")
    doc = {**begun(call, FLOATING, part), "router_id": None}
    asked = {
        key: part[mine]
        for key, mine in (("subnet_id", "subnet_id"), ("ip_address", "floating_ip_address"))
        if part.get(mine)
    }
    port = make(
        call,
        {
            "network_id": network["id"],
            "fixed_ips": [asked] if asked else None,
            "device_id": doc["id"],
            "device_owner": OWNER,
            "port_security_enabled": False,
        },
        of_service=True,
    )
    call.docs.change("port", port["id"], project_id="", tenant_id="", status="N/A")
    if not port["fixed_ips"]:
        raise conflict("ExternalIpAddressExhausted", "Unable to find any IP address on external network.")
    doc["floating_ip_address"] = port["fixed_ips"][0]["ip_address"]
    doc.update(_association(call, doc, part.get("port_id"), part.get("fixed_ip_address")))
    return Answer(body={"floatingip": show(call, call.docs.put("floatingip", doc))}, status=201)


def _association(call: Call, doc: Doc, port_id: Any, fixed_ip: Any) -> Doc:
    """Where the floating IP leads to, checked."""
    if not port_id:
        return {"port_id": None, "fixed_ip_address": None, "router_id": None}
    port = found(call, PORT, str(port_id))
    held = [fixed for fixed in port["fixed_ips"] if fixed_ip in (None, fixed["ip_address"])]
    if not held:
        raise bad(
            f"Bad floatingip request: Port {port_id} does not have fixed ip {fixed_ip}."
            if fixed_ip
            else f"Bad floatingip request: Cannot add floating IP to port {port_id} that has no fixed IPv4 addresses.",
            "BadRequest",
        )
    fixed = held[0]
    for other in call.docs.where("floatingip", port_id=port_id, fixed_ip_address=fixed["ip_address"]):
        if other["id"] != doc["id"] and other["floating_network_id"] == doc["floating_network_id"]:
            raise conflict(
                "FloatingIPPortAlreadyAssociated",
                f"Cannot associate floating IP {doc['floating_ip_address']} ({doc['id']}) with port {port_id} using "
                f"fixed IP {fixed['ip_address']}, as that fixed IP already has a floating IP on external network "
                f"{doc['floating_network_id']}.",
            )
    router = _router_to(call, doc["floating_network_id"], fixed["subnet_id"])
    return {"port_id": port_id, "fixed_ip_address": fixed["ip_address"], "router_id": router["id"]}


def _router_to(call: Call, network_id: str, subnet_id: str) -> Doc:
    for router in call.docs.all("router"):
        outside = (router["external_gateway_info"] or {}).get("network_id")
        inside = [fixed["subnet_id"] for leg in legs(call.docs, router["id"]) for fixed in leg["fixed_ips"]]
        if outside == network_id and subnet_id in inside:
            return router
    raise ApiError(
        404,
        f"External network {network_id} is not reachable from subnet {subnet_id}. Therefore, cannot associate Port "
        "with a Floating IP.",
        "ExternalGatewayForFloatingIPNotFound",
    )


def list_floating(call: Call) -> Doc:
    return listed(call, FLOATING, [show(call, doc) for doc in call.docs.all("floatingip")])


def show_floating(call: Call) -> Doc:
    return {"floatingip": show(call, found(call, FLOATING, call.path["id"]))}


def update(call: Call) -> Doc:
    doc, part = own(call, FLOATING, call.path["id"]), call.part("floatingip")
    new = changed(call, FLOATING, doc, part)
    if "port_id" in part or "fixed_ip_address" in part:
        new.update(_association(call, doc, part.get("port_id"), part.get("fixed_ip_address")))
    return {"floatingip": show(call, call.docs.put("floatingip", new))}


def remove(call: Call) -> Answer:
    doc = own(call, FLOATING, call.path["id"])
    for port in call.docs.where("port", device_id=doc["id"], device_owner=OWNER):
        call.docs.drop("port", port["id"])
    call.docs.drop("floatingip", doc["id"])
    return Answer(status=204)


ROUTES = (
    get("/v2.0/floatingips", list_floating),
    post("/v2.0/floatingips", create),
    get("/v2.0/floatingips/{id}", show_floating),
    put("/v2.0/floatingips/{id}", update),
    delete("/v2.0/floatingips/{id}", remove),
)
