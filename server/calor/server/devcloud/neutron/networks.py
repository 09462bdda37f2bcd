"""Networks."""

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, delete, get, post, put
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.neutron.collections import Kind, begun, changed, conflict, found, listed, own

NETWORK = Kind(
    "network",
    "networks",
    "Network",
    {
        "name": "",
        "admin_state_up": True,
        "shared": False,
        "router:external": False,
        "mtu": 1450,
        "port_security_enabled": True,
        "description": "",
        "dns_domain": "",
        "qos_policy_id": None,
        "is_default": False,
        "availability_zone_hints": [],
        "provider:network_type": None,
        "provider:physical_network": None,
        "provider:segmentation_id": None,
        "vlan_transparent": None,
        "segments": None,
    },
)
ADMINS = ("shared", "router:external", "provider:network_type", "provider:physical_network", "provider:segmentation_id")


def show(call: Call, doc: Doc) -> Doc:
    subnets = [subnet["id"] for subnet in call.docs.where("subnet", network_id=doc["id"])]
    hidden = (
        ()
        if call.token.is_admin
        else ("provider:network_type", "provider:physical_network", "provider:segmentation_id")
    )
    shown = {key: value for key, value in doc.items() if key not in hidden}
    return {
        **shown,
        "subnets": subnets,
        "status": "ACTIVE",
        "availability_zones": ["nova"],
        "ipv4_address_scope": None,
        "ipv6_address_scope": None,
        "l2_adjacency": True,
    }


def _refuse_admins_only(call: Call, part: Doc, verb: str) -> None:
    if any(part.get(key) for key in ADMINS) and not call.token.is_admin:
        raise ApiError(403, f"rule:{verb}_network is disallowed by policy", "PolicyNotAuthorized")


def create(call: Call) -> Answer:
    part = call.part("network")
    _refuse_admins_only(call, part, "create")
    doc = call.docs.put("network", begun(call, NETWORK, part))
    return Answer(body={"network": show(call, doc)}, status=201)


def list_networks(call: Call) -> Doc:
    return listed(call, NETWORK, [show(call, doc) for doc in call.docs.all("network")])


def show_network(call: Call) -> Doc:
    return {"network": show(call, found(call, NETWORK, call.path["id"]))}


def update(call: Call) -> Doc:
    doc, part = own(call, NETWORK, call.path["id"]), call.part("network")
    _refuse_admins_only(call, part, "update")
    return {"network": show(call, call.docs.put("network", changed(call, NETWORK, doc, part)))}


def remove(call: Call) -> Answer:
    doc = own(call, NETWORK, call.path["id"])
    ports = [port["id"] for port in call.docs.where("port", network_id=doc["id"])]
    if ports:
        raise conflict(
            "NetworkInUse",
            f"Unable to complete operation on network {doc['id']}. There are one or more ports still in use on the "
            f"network, id for these ports is: {','.join(ports)}.",
        )
    for subnet in call.docs.where("subnet", network_id=doc["id"]):
        call.docs.drop("subnet", subnet["id"])
    call.docs.drop("network", doc["id"])
    return Answer(status=204)


ROUTES = (
    get("/v2.0/networks", list_networks),
    post("/v2.0/networks", create),
    get("/v2.0/networks/{id}", show_network),
    put("/v2.0/networks/{id}", update),
    delete("/v2.0/networks/{id}", remove),
)
