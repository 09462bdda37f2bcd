"""What clients look at around the collections: versions, extensions, quotas, zones, agents, tags."""

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, Handler, delete, get, now, put
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.neutron.collections import Kind, bad, found, own
from calor.server.devcloud.neutron.floating_ips import FLOATING
from calor.server.devcloud.neutron.networks import NETWORK
from calor.server.devcloud.neutron.ports import PORT
from calor.server.devcloud.neutron.routers import ROUTER
from calor.server.devcloud.neutron.security_groups import GROUP, RULE
from calor.server.devcloud.neutron.subnets import SUBNET

KINDS = {kind.plural.replace("_", "-"): kind for kind in (NETWORK, SUBNET, PORT, ROUTER, FLOATING, GROUP, RULE)}
EXTENSIONS = {
    "agent": "agent",
    "allowed-address-pairs": "Allowed Address Pairs",
    "availability_zone": "Availability Zone",
    "dns-integration": "DNS Integration",
    "ext-gw-mode": "Neutron L3 Configurable external gateway mode",
    "external-net": "Neutron external network",
    "extra_dhcp_opt": "Neutron Extra DHCP options",
    "extraroute": "Neutron Extra Route",
    "extraroute-atomic": "Atomically add/remove extra routes",
    "net-mtu": "Network MTU",
    "net-mtu-writable": "Network MTU (writable)",
    "port-security": "Port Security",
    "project-id": "project_id field enabled",
    "provider": "Provider Network",
    "quotas": "Quota management support",
    "quota_details": "Quota details management support",
    "router": "Neutron L3 Router",
    "security-group": "security-group",
    "sorting": "Sorting support",
    "pagination": "Pagination support",
    "standard-attr-description": "standard-attr-description",
    "standard-attr-revisions": "Resource revision numbers",
    "standard-attr-tag": "Tag support for resources with standard attribute",
    "standard-attr-timestamp": "Resource timestamps",
    "subnet_allocation": "Subnet Allocation",
    "binding": "Port Binding",
}
QUOTAS = {
    "network": 1000,
    "subnet": 1000,
    "subnetpool": -1,
    "port": 5000,
    "router": 1000,
    "floatingip": 1000,
    "rbac_policy": 10,
    "security_group": 1000,
    "security_group_rule": 10000,
    "trunk": -1,
}


def versions(call: Call) -> Doc:
    link = {"rel": "self", "href": call.url("/network/v2.0/")}
    return {"versions": [{"id": "v2.0", "status": "CURRENT", "links": [link]}]}


def _extension(alias: str) -> Doc:
    name = EXTENSIONS[alias]
    return {"name": name, "alias": alias, "description": name, "updated": "2020-01-01T00:00:00-00:00", "links": []}


def extensions(call: Call) -> Doc:
    return {"extensions": [_extension(alias) for alias in EXTENSIONS]}


def extension(call: Call) -> Doc:
    alias = call.path["alias"]
    if alias not in EXTENSIONS:
        raise ApiError(404, f"Extension with alias {alias} does not exist", "HTTPNotFound")
    return {"extension": _extension(alias)}


def quotas(call: Call) -> Doc:
    return {"quota": QUOTAS}


def quota_details(call: Call) -> Doc:
    project = call.path["project_id"]
    used = {name: len(call.docs.where(name, project_id=project)) for name in QUOTAS}
    return {"quota": {name: {"limit": limit, "used": used[name], "reserved": 0} for name, limit in QUOTAS.items()}}


def agents(call: Call) -> Doc:
    if not call.token.is_admin:
        return {"agents": []}
    agent = {
        "id": "00000000-0000-4000-8000-000000000001",
        "agent_type": "Dev cloud agent",
        "binary": "calor-dev",
        "host": "calor-dev",
        "alive": True,
        "admin_state_up": True,
        "availability_zone": "nova",
        "topic": "N/A",
        "configurations": {},
        "created_at": now(),
        "started_at": now(),
        "heartbeat_timestamp": now(),
        "description": None,
    }
    return {"agents": [agent]}


def zones(call: Call) -> Doc:
    names = ("network", "router")
    return {"availability_zones": [{"name": "nova", "resource": name, "state": "available"} for name in names]}


def empty(plural: str) -> Handler:
    def none(call: Call) -> Doc:
        return {plural: []}

    return none


def _tagged(call: Call, *, change: bool) -> tuple[Kind, Doc]:
    kind = KINDS.get(call.path["plural"])
    if kind is None:
        raise ApiError(404, "The resource could not be found.", "HTTPNotFound")
    return kind, (own if change else found)(call, kind, call.path["id"])


def _store(call: Call, kind: Kind, doc: Doc, tags: list[str]) -> None:
    if any(not isinstance(tag, str) or len(tag) > 255 for tag in tags):
        raise bad(f"Invalid input for tags. Reason: '{tags}' must be texts of at most 255 characters.")
    call.docs.put(kind.name, {**doc, "tags": tags, "revision_number": doc["revision_number"] + 1, "updated_at": now()})


def list_tags(call: Call) -> Doc:
    return {"tags": _tagged(call, change=False)[1]["tags"]}


def replace_tags(call: Call) -> Doc:
    kind, doc = _tagged(call, change=True)
    tags = list(dict.fromkeys((call.body or {}).get("tags") or []))
    _store(call, kind, doc, tags)
    return {"tags": tags}


def clear_tags(call: Call) -> Answer:
    _store(call, *_tagged(call, change=True), [])
    return Answer(status=204)


def add_tag(call: Call) -> Answer:
    kind, doc = _tagged(call, change=True)
    _store(call, kind, doc, list(dict.fromkeys([*doc["tags"], call.path["tag"]])))
    return Answer(status=201)


def check_tag(call: Call) -> Answer:
    _require_tag(call, _tagged(call, change=False)[1])
    return Answer(status=204)


def remove_tag(call: Call) -> Answer:
    kind, doc = _tagged(call, change=True)
    _require_tag(call, doc)
    _store(call, kind, doc, [tag for tag in doc["tags"] if tag != call.path["tag"]])
    return Answer(status=204)


def _require_tag(call: Call, doc: Doc) -> None:
    if call.path["tag"] not in doc["tags"]:
        raise ApiError(404, f"Tag {call.path['tag']} could not be found.", "TagNotFound")


EMPTY = (
    ("subnetpools", "subnetpools"),
    ("address-scopes", "address_scopes"),
    ("address-groups", "address_groups"),
    ("rbac-policies", "rbac_policies"),
    ("qos/policies", "policies"),
    ("trunks", "trunks"),
)
ROUTES = (
    get("", versions, public=True),
    get("/", versions, public=True),
    get("/v2.0/extensions", extensions),
    get("/v2.0/extensions/{alias}", extension),
    get("/v2.0/quotas/{project_id}", quotas),
    get("/v2.0/quotas/{project_id}/default", quotas),
    get("/v2.0/quotas/{project_id}/details.json", quota_details),
    get("/v2.0/quotas/{project_id}/details", quota_details),
    get("/v2.0/agents", agents),
    get("/v2.0/availability_zones", zones),
    *(get(f"/v2.0/{path}", empty(plural)) for path, plural in EMPTY),
    get("/v2.0/{plural}/{id}/tags", list_tags),
    put("/v2.0/{plural}/{id}/tags", replace_tags),
    delete("/v2.0/{plural}/{id}/tags", clear_tags),
    get("/v2.0/{plural}/{id}/tags/{tag}", check_tag),
    put("/v2.0/{plural}/{id}/tags/{tag}", add_tag),
    delete("/v2.0/{plural}/{id}/tags/{tag}", remove_tag),
)
