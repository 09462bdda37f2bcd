"""Routers, their interfaces and their way out."""

import ipaddress
from typing import Any

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, delete, get, post, put
from calor.server.devcloud.documents import Doc, Documents
from calor.server.devcloud.neutron.collections import Kind, bad, begun, changed, conflict, found, listed, own
from calor.server.devcloud.neutron.networks import NETWORK
from calor.server.devcloud.neutron.ports import discard, make
from calor.server.devcloud.neutron.subnets import SUBNET

INTERFACE = "network:router_interface"
GATEWAY = "network:router_gateway"
ROUTER = Kind(
    "router",
    "routers",
    "Router",
    {
        "name": "",
        "admin_state_up": True,
        "description": "",
        "external_gateway_info": None,
        "routes": [],
        "availability_zone_hints": [],
        "distributed": False,
        "ha": False,
        "flavor_id": None,
        "enable_snat": True,
    },
)


def legs(docs: Documents, router_id: str) -> list[Doc]:
    """The router's ports inside."""
    return docs.where("port", device_id=router_id, device_owner=INTERFACE)


def show(call: Call, doc: Doc) -> Doc:
    hidden = () if call.token.is_admin else ("distributed", "ha")
    shown = {key: value for key, value in doc.items() if key not in hidden}
    return {**shown, "status": "ACTIVE", "availability_zones": ["nova"] if doc["external_gateway_info"] else []}


def create(call: Call) -> Answer:
    part = call.part("router")
    doc = begun(call, ROUTER, part)
    doc["external_gateway_info"] = _gateway(call, doc, part.get("external_gateway_info"))
    return Answer(body={"router": show(call, call.docs.put("router", doc))}, status=201)


def _gateway(call: Call, router: Doc, info: Any) -> Doc | None:
    """Make the gateway's port; the router's new gateway."""
    if not info:
        return None
    network = found(call, NETWORK, str(info.get("network_id")))
    if not network["router:external"]:
        raise bad(f"Bad router request: Network {network['id']} is not an external network.", "BadRequest")
    fixed = info.get("external_fixed_ips") or None
    asked = {
        "network_id": network["id"],
        "fixed_ips": fixed,
        "device_id": router["id"],
        "device_owner": GATEWAY,
        "port_security_enabled": False,
    }
    port = make(call, asked, of_service=True)
    call.docs.change("port", port["id"], project_id="", tenant_id="", status="ACTIVE")
    snat = info.get("enable_snat", True)
    return {"network_id": network["id"], "external_fixed_ips": port["fixed_ips"], "enable_snat": bool(snat)}


def _drop_gateway(call: Call, router: Doc) -> None:
    inside = {leg["id"] for leg in legs(call.docs, router["id"])}
    if inside and call.docs.where("floatingip", router_id=router["id"]):
        network = router["external_gateway_info"]["network_id"]
        raise conflict(
            "RouterExternalGatewayInUseByFloatingIp",
            f"Gateway cannot be updated for router {router['id']}, since a gateway to external network {network} is "
            "required by one or more floating IPs.",
        )
    for port in call.docs.where("port", device_id=router["id"], device_owner=GATEWAY):
        discard(call, port)


def list_routers(call: Call) -> Doc:
    return listed(call, ROUTER, [show(call, doc) for doc in call.docs.all("router")])


def show_router(call: Call) -> Doc:
    return {"router": show(call, found(call, ROUTER, call.path["id"]))}


def update(call: Call) -> Doc:
    doc, part = own(call, ROUTER, call.path["id"]), call.part("router")
    new = changed(call, ROUTER, doc, part)
    if "external_gateway_info" in part:
        new["external_gateway_info"] = _moved_gateway(call, doc, part["external_gateway_info"])
    if "routes" in part:
        _check_routes(call, doc, part["routes"] or [])
    return {"router": show(call, call.docs.put("router", new))}


def _moved_gateway(call: Call, doc: Doc, info: Any) -> Doc | None:
    old = doc["external_gateway_info"]
    if old and info and old["network_id"] == info.get("network_id") and not info.get("external_fixed_ips"):
        return {**old, "enable_snat": bool(info.get("enable_snat", old["enable_snat"]))}
    if old:
        _drop_gateway(call, doc)
    return _gateway(call, doc, info)


def _check_routes(call: Call, doc: Doc, routes: list[Doc]) -> None:
    nets = [ipaddress.ip_network(subnet["cidr"]) for subnet in _subnets(call.docs, doc["id"])]
    for route in routes:
        hop = ipaddress.ip_address(route["nexthop"])
        if not any(hop in net for net in nets):
            raise bad(f"Invalid format for routes: {routes}, the nexthop is not connected with router", "InvalidRoutes")


def add_routes(call: Call) -> Doc:
    """Beside those that are there; one that is there already changes nothing."""
    doc, wanted = own(call, ROUTER, call.path["id"]), call.part("router").get("routes") or []
    _check_routes(call, doc, wanted)
    return _routed(call, doc, [*doc["routes"], *(route for route in wanted if route not in doc["routes"])])


def remove_routes(call: Call) -> Doc:
    doc, gone = own(call, ROUTER, call.path["id"]), call.part("router").get("routes") or []
    return _routed(call, doc, [route for route in doc["routes"] if route not in gone])


def _routed(call: Call, doc: Doc, routes: list[Doc]) -> Doc:
    return {"router": show(call, call.docs.put("router", changed(call, ROUTER, doc, {"routes": routes})))}


def _subnets(docs: Documents, router_id: str) -> list[Doc]:
    ports = docs.where("port", device_id=router_id)
    idents = [fixed["subnet_id"] for port in ports for fixed in port["fixed_ips"]]
    return [subnet for ident in idents if (subnet := docs.get("subnet", ident)) is not None]


def remove(call: Call) -> Answer:
    doc = own(call, ROUTER, call.path["id"])
    inside = legs(call.docs, doc["id"])
    if inside:
        idents = ",".join(leg["id"] for leg in inside)
        raise conflict("RouterInUse", f"Router {doc['id']} has ports still attached: {idents}")
    if doc["external_gateway_info"]:
        _drop_gateway(call, doc)
    call.docs.drop("router", doc["id"])
    return Answer(status=204)


def add_interface(call: Call) -> Doc:
    router = own(call, ROUTER, call.path["id"])
    body = call.body or {}
    if ("subnet_id" in body) == ("port_id" in body):
        raise bad("Bad router request: Either subnet_id or port_id must be specified.", "BadRequest")
    port = (
        _leg_of_port(call, router, body["port_id"])
        if "port_id" in body
        else _leg_of_subnet(call, router, body["subnet_id"])
    )
    return _interface(router, port)


def _interface(router: Doc, port: Doc) -> Doc:
    subnets = [fixed["subnet_id"] for fixed in port["fixed_ips"]]
    return {
        "id": router["id"],
        "tenant_id": router["project_id"],
        "project_id": router["project_id"],
        "port_id": port["id"],
        "network_id": port["network_id"],
        "subnet_id": subnets[0],
        "subnet_ids": subnets,
    }


def _refuse_overlap(call: Call, router: Doc, subnet: Doc) -> None:
    net = ipaddress.ip_network(subnet["cidr"])
    for other in _subnets(call.docs, router["id"]):
        theirs = ipaddress.ip_network(other["cidr"])
        if theirs.version == net.version and net.overlaps(theirs):
            raise bad(
                f"Bad router request: Cidr {subnet['cidr']} of subnet {subnet['id']} overlaps with cidr "
                f"{other['cidr']} of subnet {other['id']}.",
                "BadRequest",
            )


def _leg_of_subnet(call: Call, router: Doc, subnet_id: str) -> Doc:
    subnet = found(call, SUBNET, subnet_id)
    if not subnet["gateway_ip"]:
        raise bad("Bad router request: Subnet for router interface must have a gateway IP.", "BadRequest")
    _refuse_overlap(call, router, subnet)
    asked = {
        "network_id": subnet["network_id"],
        "fixed_ips": [{"subnet_id": subnet["id"], "ip_address": subnet["gateway_ip"]}],
        "device_id": router["id"],
        "device_owner": INTERFACE,
        "port_security_enabled": False,
    }
    port = make(call, asked, of_service=True)
    return call.docs.change("port", port["id"], status="ACTIVE")


def _leg_of_port(call: Call, router: Doc, port_id: str) -> Doc:
    port = call.docs.get("port", port_id)
    if port is None or not call.sees(port):
        raise ApiError(404, f"Port {port_id} could not be found.", "PortNotFound")
    if port["device_id"] == router["id"]:
        return port
    if port["device_id"]:
        raise conflict(
            "PortInUse",
            f"Unable to complete operation on port {port_id} for network {port['network_id']}. Port already has an "
            f"attached device {port['device_id']}.",
        )
    if not port["fixed_ips"]:
        raise bad("Bad router request: Router port must have at least one fixed IP.", "BadRequest")
    for fixed in port["fixed_ips"]:
        _refuse_overlap(call, router, call.docs.get("subnet", fixed["subnet_id"]) or {})
    return call.docs.change(
        "port",
        port_id,
        device_id=router["id"],
        device_owner=INTERFACE,
        status="ACTIVE",
        security_groups=[],
        port_security_enabled=False,
    )


def remove_interface(call: Call) -> Doc:
    router = own(call, ROUTER, call.path["id"])
    body = call.body or {}
    port = _attached(call, router, body)
    for fixed in port["fixed_ips"]:
        _refuse_needed(call, router, fixed["subnet_id"])
    discard(call, port)
    return _interface(router, port)


def _attached(call: Call, router: Doc, body: Doc) -> Doc:
    for port in legs(call.docs, router["id"]):
        if body.get("port_id") == port["id"]:
            return port
        if "port_id" not in body and any(fixed["subnet_id"] == body.get("subnet_id") for fixed in port["fixed_ips"]):
            return port
    if "port_id" in body:
        message = f"Router {router['id']} does not have an interface with id {body['port_id']}"
        raise ApiError(404, message, "RouterInterfaceNotFound")
    message = f"Router {router['id']} has no interface on subnet {body.get('subnet_id')}"
    raise ApiError(404, message, "RouterInterfaceNotFoundForSubnet")


def _refuse_needed(call: Call, router: Doc, subnet_id: str) -> None:
    for floating in call.docs.where("floatingip", router_id=router["id"]):
        port = call.docs.get("port", floating["port_id"])
        if port is not None and any(
            fixed["subnet_id"] == subnet_id and fixed["ip_address"] == floating["fixed_ip_address"]
            for fixed in port["fixed_ips"]
        ):
            raise conflict(
                "RouterInterfaceInUseByFloatingIP",
                f"Router interface for subnet {subnet_id} on router {router['id']} cannot be deleted, as it is "
                "required by one or more floating IPs.",
            )


ROUTES = (
    get("/v2.0/routers", list_routers),
    post("/v2.0/routers", create),
    get("/v2.0/routers/{id}", show_router),
    put("/v2.0/routers/{id}", update),
    delete("/v2.0/routers/{id}", remove),
    put("/v2.0/routers/{id}/add_router_interface", add_interface),
    put("/v2.0/routers/{id}/remove_router_interface", remove_interface),
    put("/v2.0/routers/{id}/add_extraroutes", add_routes),
    put("/v2.0/routers/{id}/remove_extraroutes", remove_routes),
)
