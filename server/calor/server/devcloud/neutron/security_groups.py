"""Security groups and their rules."""

import ipaddress
from typing import Any

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, delete, get, new_id, now, post, put
from calor.server.devcloud.documents import Doc, Documents
from calor.server.devcloud.neutron.collections import Kind, bad, begun, changed, conflict, listed

GROUP = Kind(
    "security_group",
    "security_groups",
    "Security group",
    {"name": "", "description": "", "stateful": True},
)
RULE = Kind(
    "security_group_rule",
    "security_group_rules",
    "Security group rule",
    {
        "security_group_id": None,
        "direction": None,
        "ethertype": "IPv4",
        "protocol": None,
        "port_range_min": None,
        "port_range_max": None,
        "remote_ip_prefix": None,
        "remote_group_id": None,
        "remote_address_group_id": None,
        "description": "",
    },
)
SAME = ("direction", "ethertype", "protocol", "port_range_min", "port_range_max", "remote_ip_prefix", "remote_group_id")
PROTOCOLS = frozenset(
    [
        "ah",
        "dccp",
        "egp",
        "esp",
        "gre",
        "icmp",
        "icmpv6",
        "igmp",
        "ipip",
        "ipv6-encap",
        "ipv6-frag",
        "ipv6-icmp",
        "ipv6-nonxt",
        "ipv6-opts",
        "ipv6-route",
        "ospf",
        "pgm",
        "rsvp",
        "sctp",
        "tcp",
        "udp",
        "udplite",
        "vrrp",
        "any",
    ]
)


def show(docs: Documents, doc: Doc) -> Doc:
    return {**doc, "security_group_rules": docs.where("security_group_rule", security_group_id=doc["id"])}


def default_group(docs: Documents, project_id: str) -> Doc:
    """The project's group ``default``, made when first needed."""
    for group in docs.where("security_group", project_id=project_id, name="default"):
        return group
    group = _store(docs, project_id, "default", "Default security group")
    for ethertype in ("IPv4", "IPv6"):
        _add_rule(docs, group, direction="ingress", ethertype=ethertype, remote_group_id=group["id"])
    return group


def _store(docs: Documents, project_id: str, name: str, description: str) -> Doc:
    moment = now()
    group = {
        "id": new_id(),
        "name": name,
        "description": description,
        "stateful": True,
        "shared": False,
        "project_id": project_id,
        "tenant_id": project_id,
        "tags": [],
        "created_at": moment,
        "updated_at": moment,
        "revision_number": 1,
    }
    docs.put("security_group", group)
    _add_egress(docs, group)
    return group


def _add_egress(docs: Documents, group: Doc) -> None:
    for ethertype in ("IPv4", "IPv6"):
        _add_rule(docs, group, direction="egress", ethertype=ethertype)


def _add_rule(docs: Documents, group: Doc, **fields: Any) -> Doc:
    moment = now()
    return docs.put(
        "security_group_rule",
        {
            "id": new_id(),
            **RULE.defaults,
            "security_group_id": group["id"],
            "project_id": group["project_id"],
            "tenant_id": group["project_id"],
            "normalized_cidr": None,
            "belongs_to_default_sg": group["name"] == "default",
            "created_at": moment,
            "updated_at": moment,
            "revision_number": 0,
            "tags": [],
            **fields,
        },
    )


def create_group(call: Call) -> Answer:
    part = call.part("security_group")
    default_group(call.docs, call.project_id)
    if part.get("name") == "default":
        raise conflict("SecurityGroupDefaultAlreadyExists", "Default security group already exists.")
    doc = call.docs.put("security_group", {**begun(call, GROUP, part), "shared": False})
    _add_egress(call.docs, doc)
    return Answer(body={"security_group": show(call.docs, doc)}, status=201)


def list_groups(call: Call) -> Doc:
    if call.project_id:
        default_group(call.docs, call.project_id)
    return listed(call, GROUP, [show(call.docs, doc) for doc in call.docs.all("security_group")])


def _group(call: Call, ident: str) -> Doc:
    doc = call.docs.get("security_group", ident)
    if doc is None or not call.sees(doc):
        raise ApiError(404, f"Security group {ident} does not exist", "SecurityGroupNotFound")
    return doc


def show_group(call: Call) -> Doc:
    return {"security_group": show(call.docs, _group(call, call.path["id"]))}


def update_group(call: Call) -> Doc:
    doc = _group(call, call.path["id"])
    part = call.part("security_group")
    if doc["name"] == "default" and part.get("name", "default") != "default":
        raise conflict("SecurityGroupCannotUpdateDefault", "Updating default security group not allowed.")
    new = call.docs.put("security_group", changed(call, GROUP, doc, part))
    return {"security_group": show(call.docs, new)}


def delete_group(call: Call) -> Answer:
    doc = _group(call, call.path["id"])
    if doc["name"] == "default" and not call.token.is_admin:
        raise conflict("SecurityGroupCannotRemoveDefault", "Insufficient rights for removing default security group.")
    if any(doc["id"] in port["security_groups"] for port in call.docs.all("port")):
        raise conflict("SecurityGroupInUse", f"Security Group {doc['id']} in use.")
    for rule in call.docs.all("security_group_rule"):
        if doc["id"] in (rule["security_group_id"], rule["remote_group_id"]):
            call.docs.drop("security_group_rule", rule["id"])
    call.docs.drop("security_group", doc["id"])
    return Answer(status=204)


def create_rule(call: Call) -> Answer:
    part = call.part("security_group_rule")
    group = _group(call, str(part.get("security_group_id")))
    doc = begun(call, RULE, part)
    _check_rule(call, doc)
    doc.update(project_id=group["project_id"], tenant_id=group["project_id"], revision_number=0)
    doc.update(normalized_cidr=doc["remote_ip_prefix"], belongs_to_default_sg=group["name"] == "default")
    for other in call.docs.where("security_group_rule", security_group_id=group["id"]):
        if all(other[key] == doc[key] for key in SAME):
            raise conflict("SecurityGroupRuleExists", f"Security group rule already exists. Rule id is {other['id']}.")
    return Answer(body={"security_group_rule": call.docs.put("security_group_rule", doc)}, status=201)


def _check_rule(call: Call, doc: Doc) -> None:
    if doc["direction"] not in ("ingress", "egress"):
        raise bad(f"Invalid input for direction. Reason: '{doc['direction']}' is not in ['ingress', 'egress'].")
    if doc["ethertype"] not in ("IPv4", "IPv6"):
        raise bad(f"Invalid input for ethertype. Reason: '{doc['ethertype']}' is not in ['IPv4', 'IPv6'].")
    doc["protocol"] = _protocol(doc["protocol"])
    _check_ports(doc)
    if doc["remote_ip_prefix"] and doc["remote_group_id"]:
        raise bad("Only one remote_ip_prefix or remote_group_id may be provided.", "SecurityGroupMultipleRemoteEntites")
    if doc["remote_group_id"]:
        _group(call, doc["remote_group_id"])
    if doc["remote_ip_prefix"]:
        doc["remote_ip_prefix"] = _prefix(doc["remote_ip_prefix"], doc["ethertype"])


def _protocol(value: Any) -> str | None:
    if value is None or str(value).lower() in ("any", "0", "-1"):
        return None
    text = str(value).lower()
    if text not in PROTOCOLS and not (text.isdecimal() and len(text) < 4 and int(text) < 256):
        raise bad(
            f"Security group rule protocol {value} not supported. Only protocol values {sorted(PROTOCOLS)} and integer "
            "representations [0 to 255] are supported.",
            "SecurityGroupRuleInvalidProtocol",
        )
    return text


def _check_ports(doc: Doc) -> None:
    low, high = doc["port_range_min"], doc["port_range_max"]
    if low is None and high is None:
        return
    if doc["protocol"] is None:
        raise bad("Must also specify protocol if port range is given.", "SecurityGroupProtocolRequiredWithPorts")
    try:
        doc["port_range_min"] = low = None if low is None else int(low)
        doc["port_range_max"] = high = None if high is None else int(high)
    except (TypeError, ValueError) as exc:
        raise bad(f"Invalid input for port_range_min. Reason: '{low}' is not an integer.") from exc
    if doc["protocol"] in ("icmp", "icmpv6", "ipv6-icmp", "1", "58"):
        if any(value is not None and not 0 <= value <= 255 for value in (low, high)):
            raise bad("Invalid value for ICMP type or code.", "SecurityGroupInvalidIcmpValue")
    elif low is None or high is None or low > high:
        raise bad("For TCP/UDP protocols, port_range_min must be <= port_range_max", "SecurityGroupInvalidPortRange")
    elif not (0 <= low <= 65535 and 0 <= high <= 65535):
        raise bad(f"Invalid port range [{low}, {high}].", "SecurityGroupInvalidPortValue")


def _prefix(text: Any, ethertype: str) -> str:
    try:
        net = ipaddress.ip_network(str(text), strict=False)
    except ValueError as exc:
        raise bad(f"Invalid CIDR {text} given as IP prefix.", "InvalidCIDR") from exc
    if f"IPv{net.version}" != ethertype:
        raise bad(f"Conflicting value ethertype {ethertype} for CIDR {text}", "SecurityGroupRuleParameterConflict")
    return str(text) if "/" in str(text) else str(net)


def list_rules(call: Call) -> Doc:
    if call.project_id:
        default_group(call.docs, call.project_id)
    return listed(call, RULE, call.docs.all("security_group_rule"))


def show_rule(call: Call) -> Doc:
    return {"security_group_rule": _rule(call)}


def _rule(call: Call) -> Doc:
    doc = call.docs.get("security_group_rule", call.path["id"])
    if doc is None or not call.sees(doc):
        raise ApiError(404, f"Security group rule {call.path['id']} does not exist", "SecurityGroupRuleNotFound")
    return doc


def delete_rule(call: Call) -> Answer:
    call.docs.drop("security_group_rule", _rule(call)["id"])
    return Answer(status=204)


ROUTES = (
    get("/v2.0/security-groups", list_groups),
    post("/v2.0/security-groups", create_group),
    get("/v2.0/security-groups/{id}", show_group),
    put("/v2.0/security-groups/{id}", update_group),
    delete("/v2.0/security-groups/{id}", delete_group),
    get("/v2.0/security-group-rules", list_rules),
    post("/v2.0/security-group-rules", create_rule),
    get("/v2.0/security-group-rules/{id}", show_rule),
    delete("/v2.0/security-group-rules/{id}", delete_rule),
)
