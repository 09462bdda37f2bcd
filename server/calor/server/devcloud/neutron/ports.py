"""Ports: an address and a MAC on a network, and what may pass."""

import re
from typing import Any

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, delete, get, post, put
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.neutron import addresses, allocation
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
from calor.server.devcloud.neutron.security_groups import default_group

MAC = re.compile(r"([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}")
PORT = Kind(
    "port",
    "ports",
    "Port",
    {
        "name": "",
        "network_id": None,
        "admin_state_up": True,
        "mac_address": None,
        "fixed_ips": [],
        "device_id": "",
        "device_owner": "",
        "security_groups": [],
        "allowed_address_pairs": [],
        "port_security_enabled": True,
        "extra_dhcp_opts": [],
        "description": "",
        "binding:vnic_type": "normal",
        "binding:host_id": "",
        "binding:profile": {},
        "dns_name": "",
        "dns_domain": "",
        "qos_policy_id": None,
        "value_specs": None,
        "propagate_uplink_status": False,
        "numa_affinity_policy": None,
        "mac_learning_enabled": None,
        "hints": None,
    },
    fixed=("network_id",),
)
ADMINS = ("binding:host_id", "binding:profile")
HIDDEN = ("value_specs", "mac_learning_enabled", "hints", "numa_affinity_policy")


def show(call: Call, doc: Doc) -> Doc:
    hidden = HIDDEN if call.token.is_admin else (*HIDDEN, *ADMINS)
    shown = {key: value for key, value in doc.items() if key not in hidden}
    return {**shown, "qos_network_policy_id": None, "dns_assignment": _assignment(doc), "ip_allocation": "immediate"}


def _assignment(doc: Doc) -> list[Doc]:
    found = []
    for fixed in doc["fixed_ips"]:
        host = doc["dns_name"] or "host-" + re.sub("[.:]", "-", fixed["ip_address"])
        found.append({"ip_address": fixed["ip_address"], "hostname": host, "fqdn": f"{host}.openstacklocal."})
    return found


def create(call: Call) -> Answer:
    return Answer(body={"port": show(call, make(call, call.part("port")))}, status=201)


def make(call: Call, part: Doc, *, of_service: bool = False) -> Doc:
    """A new port as asked; also Nova's way to one. ``of_service``: Neutron's own, also where users may not plug."""
    network = found(call, NETWORK, require_uuid("network_id", part.get("network_id")))
    if not of_service and not network.get("shared") and not call.sees(network):
        raise ApiError(403, "rule:create_port is disallowed by policy", "PolicyNotAuthorized")
    doc = begun(call, PORT, part)
    doc["port_security_enabled"] = part.get("port_security_enabled", network["port_security_enabled"])
    doc["mac_address"] = _mac(call, network["id"], part.get("mac_address"))
    doc["fixed_ips"] = allocation.allocate(call.docs, network["id"], part.get("fixed_ips"), port_id=doc["id"])
    doc["security_groups"] = _groups(call, doc, part.get("security_groups"))
    doc["allowed_address_pairs"] = _pairs(doc)
    doc["status"] = "DOWN"
    return call.docs.put("port", doc)


def _mac(call: Call, network_id: str, asked: Any) -> str:
    taken = {port["mac_address"] for port in call.docs.all("port")}
    if asked is None:
        return addresses.random_mac(taken)
    if not isinstance(asked, str) or not MAC.fullmatch(asked):
        raise bad(f"Invalid input for mac_address. Reason: '{asked}' is not a valid MAC address.")
    if any(port["mac_address"] == asked.lower() for port in call.docs.where("port", network_id=network_id)):
        raise conflict(
            "MacAddressInUse",
            f"Unable to complete operation for network {network_id}. The mac address {asked} is in use.",
        )
    return asked.lower()


def _groups(call: Call, doc: Doc, asked: Any) -> list[str]:
    if not doc["port_security_enabled"]:
        if asked:
            raise bad(
                "Port Security must be enabled in order to have allowed address pairs or security groups on a port.",
                "PortSecurityAndIPRequiredForSecurityGroups",
            )
        return []
    if asked is None:
        owner = doc["device_owner"]
        return [] if owner.startswith("network:") else [default_group(call.docs, doc["project_id"])["id"]]
    for ident in asked:
        group = call.docs.get("security_group", str(ident))
        if group is None or not (call.sees(group) or group["shared"]):
            raise ApiError(404, f"Security group {ident} does not exist", "SecurityGroupNotFound")
    return list(dict.fromkeys(asked))


def _pairs(doc: Doc) -> list[Doc]:
    pairs = []
    for pair in doc["allowed_address_pairs"] or []:
        if not isinstance(pair, dict) or "ip_address" not in pair:
            raise bad("AllowedAddressPair must contain ip_address", "AllowedAddressPairsMissingIP")
        addresses.parse_address(str(pair["ip_address"]).partition("/")[0], "allowed_address_pairs")
        pairs.append({"mac_address": pair.get("mac_address") or doc["mac_address"], "ip_address": pair["ip_address"]})
    if pairs and not doc["port_security_enabled"]:
        raise conflict(
            "AddressPairAndPortSecurityRequired",
            "Port Security must be enabled in order to have allowed address pairs on a port.",
        )
    return pairs


def list_ports(call: Call) -> Doc:
    return listed(call, PORT, [show(call, doc) for doc in call.docs.all("port")])


def show_port(call: Call) -> Doc:
    return {"port": show(call, found(call, PORT, call.path["id"]))}


def update(call: Call) -> Doc:
    doc, part = own(call, PORT, call.path["id"]), dict(call.part("port"))
    return {"port": show(call, alter(call, doc, part))}


def alter(call: Call, doc: Doc, part: Doc) -> Doc:
    """The port with an update's attributes, stored."""
    new = changed(call, PORT, doc, part)
    if "fixed_ips" in part:
        new["fixed_ips"] = allocation.allocate(call.docs, doc["network_id"], part["fixed_ips"], port_id=doc["id"])
        _keep_floating(call, doc, new)
    if part.get("mac_address") and part["mac_address"] != doc["mac_address"]:
        new["mac_address"] = _mac(call, doc["network_id"], part["mac_address"])
    if "security_groups" in part or "port_security_enabled" in part:
        asked = part.get("security_groups", doc["security_groups"])
        new["security_groups"] = _groups(call, new, [] if asked is None else asked)
    new["allowed_address_pairs"] = _pairs(new)
    return call.docs.put("port", new)


def _keep_floating(call: Call, doc: Doc, new: Doc) -> None:
    """An address that a floating IP leads to stays."""
    kept = {fixed["ip_address"] for fixed in new["fixed_ips"]}
    if any(floating["fixed_ip_address"] not in kept for floating in call.docs.where("floatingip", port_id=doc["id"])):
        raise ApiError(
            400,
            f"Bad port request: Cannot update the fixed_ips of the port {doc['id']}, because its original fixed_ip has "
            "been associated to a floating ip.",
            "BadRequest",
        )


def remove(call: Call) -> Answer:
    doc = own(call, PORT, call.path["id"])
    if doc["device_owner"] in ("network:router_interface", "network:router_gateway", "network:floatingip"):
        raise conflict(
            "ServicePortInUse",
            f"Port {doc['id']} cannot be deleted directly via the port API: has device owner {doc['device_owner']}.",
        )
    discard(call, doc)
    return Answer(status=204)


def discard(call: Call, doc: Doc) -> None:
    """Forget a port; floating IPs that led to it are free again."""
    for floating in call.docs.where("floatingip", port_id=doc["id"]):
        call.docs.change("floatingip", floating["id"], port_id=None, router_id=None, fixed_ip_address=None)
    call.docs.drop("port", doc["id"])


ROUTES = (
    get("/v2.0/ports", list_ports),
    post("/v2.0/ports", create),
    get("/v2.0/ports/{id}", show_port),
    put("/v2.0/ports/{id}", update),
    delete("/v2.0/ports/{id}", remove),
)
