"""What clients look at around servers: versions, zones, limits, quotas, hypervisors, services, groups."""

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, delete, get, new_id, post
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.nova.microversions import MAXIMUM, MINIMUM, asked, text
from calor.server.devcloud.nova.server_views import HOST

QUOTAS = {
    "cores": 2000,
    "instances": 1000,
    "key_pairs": 1000,
    "metadata_items": 128,
    "ram": 5120000,
    "server_group_members": 10,
    "server_groups": 100,
}


def _version(call: Call) -> Doc:
    return {
        "id": "v2.1",
        "status": "CURRENT",
        "version": text(MAXIMUM),
        "min_version": text(MINIMUM),
        "updated": "2013-07-23T11:33:21Z",
        "links": [{"rel": "self", "href": call.url("/compute/v2.1/")}],
    }


def versions(call: Call) -> Doc:
    return {"versions": [_version(call)]}


def version(call: Call) -> Doc:
    media = {"base": "application/json", "type": "application/vnd.openstack.compute+json;version=2.1"}
    return {"version": {**_version(call), "media-types": [media]}}


def zones(call: Call) -> Doc:
    zone = {"zoneName": "nova", "zoneState": {"available": True}, "hosts": None}
    return {"availabilityZoneInfo": [zone]}


def zones_detail(call: Call) -> Doc:
    hosts = {HOST: {"calor-dev": {"available": True, "active": True, "updated_at": None}}}
    return {"availabilityZoneInfo": [{"zoneName": "nova", "zoneState": {"available": True}, "hosts": hosts}]}


def limits(call: Call) -> Doc:
    servers = call.docs.where("server", project_id=call.project_id)
    absolute = {
        "maxTotalCores": QUOTAS["cores"],
        "maxTotalInstances": QUOTAS["instances"],
        "maxTotalKeypairs": QUOTAS["key_pairs"],
        "maxServerMeta": QUOTAS["metadata_items"],
        "maxTotalRAMSize": QUOTAS["ram"],
        "maxServerGroups": QUOTAS["server_groups"],
        "maxServerGroupMembers": QUOTAS["server_group_members"],
        "totalRAMUsed": sum(server["flavor"]["ram"] for server in servers),
        "totalCoresUsed": sum(server["flavor"]["vcpus"] for server in servers),
        "totalInstancesUsed": len(servers),
        "totalServerGroupsUsed": len(call.docs.where("server_group", project_id=call.project_id)),
    }
    if asked(call) < (2, 57):
        absolute |= {"maxImageMeta": 128, "maxPersonality": 5, "maxPersonalitySize": 10240}
    return {"limits": {"rate": [], "absolute": absolute}}


def quotas(call: Call) -> Doc:
    return {"quota_set": {"id": call.path["project_id"], **QUOTAS}}


def quota_details(call: Call) -> Doc:
    details = {name: {"limit": limit, "in_use": 0, "reserved": 0} for name, limit in QUOTAS.items()}
    return {"quota_set": {"id": call.path["project_id"], **details}}


def _admin_only(call: Call, rule: str) -> None:
    if not call.token.is_admin:
        raise ApiError(403, f"Policy doesn't allow os_compute_api:{rule} to be performed.")


def _hypervisor(call: Call) -> Doc:
    about = call.cloud.driver.describe()
    servers = call.docs.all("server")
    return {
        "id": "00000000-0000-4000-8000-000000000002" if asked(call) >= (2, 53) else 1,
        "hypervisor_hostname": HOST,
        "hypervisor_type": about.get("hypervisor_type", call.cloud.driver.name),
        "hypervisor_version": 1,
        "state": "up",
        "status": "enabled",
        "host_ip": "127.0.0.1",
        "running_vms": sum(server["vm_state"] == "active" for server in servers),
        "vcpus": QUOTAS["cores"],
        "vcpus_used": sum(server["flavor"]["vcpus"] for server in servers),
        "memory_mb": QUOTAS["ram"],
        "memory_mb_used": sum(server["flavor"]["ram"] for server in servers),
        "local_gb": 100000,
        "local_gb_used": sum(server["flavor"]["disk"] for server in servers),
        "servers": [{"name": server["name"], "uuid": server["id"]} for server in servers],
        "cpu_info": {},
        "service": {"id": 1, "host": HOST, "disabled_reason": None},
    }


def hypervisors(call: Call) -> Doc:
    _admin_only(call, "os-hypervisors:list")
    return {"hypervisors": [_hypervisor(call)]}


def hypervisor(call: Call) -> Doc:
    _admin_only(call, "os-hypervisors:show")
    one = _hypervisor(call)
    if call.path["id"] != str(one["id"]):
        raise ApiError(404, f"Compute host {call.path['id']} could not be found.")
    return {"hypervisor": one}


def services(call: Call) -> Doc:
    _admin_only(call, "os-services:list")
    service = {
        "id": "00000000-0000-4000-8000-000000000003",
        "binary": "nova-compute",
        "host": HOST,
        "zone": "nova",
        "status": "enabled",
        "state": "up",
        "updated_at": None,
        "disabled_reason": None,
        "forced_down": False,
    }
    return {"services": [service]}


def list_groups(call: Call) -> Doc:
    return {"server_groups": [_group(one) for one in call.docs.all("server_group") if call.sees(one)]}


def _group(doc: Doc) -> Doc:
    return {**doc, "metadata": {}}


def create_group(call: Call) -> Doc:
    part = call.part("server_group")
    policy = part.get("policy") or next(iter(part.get("policies") or []), "anti-affinity")
    doc = {
        "id": new_id(),
        "name": part.get("name"),
        "policy": policy,
        "policies": [policy],
        "rules": part.get("rules") or {},
        "members": [],
        "project_id": call.project_id,
        "user_id": call.token.user_id,
    }
    return {"server_group": _group(call.docs.put("server_group", doc))}


def _found_group(call: Call) -> Doc:
    doc = call.docs.get("server_group", call.path["id"])
    if doc is None or not call.sees(doc):
        raise ApiError(404, f"Instance group {call.path['id']} could not be found.")
    return doc


def show_group(call: Call) -> Doc:
    return {"server_group": _group(_found_group(call))}


def delete_group(call: Call) -> Answer:
    call.docs.drop("server_group", _found_group(call)["id"])
    return Answer(status=204)


def extensions(call: Call) -> Doc:
    return {"extensions": []}


def aggregates(call: Call) -> Doc:
    _admin_only(call, "os-aggregates:index")
    return {"aggregates": []}


ROUTES = (
    get("", versions, public=True),
    get("/", versions, public=True),
    get("/v2.1", version, public=True),
    get("/v2.1/", version, public=True),
    get("/v2.1/os-availability-zone", zones),
    get("/v2.1/os-availability-zone/detail", zones_detail),
    get("/v2.1/limits", limits),
    get("/v2.1/os-quota-sets/{project_id}", quotas),
    get("/v2.1/os-quota-sets/{project_id}/defaults", quotas),
    get("/v2.1/os-quota-sets/{project_id}/detail", quota_details),
    get("/v2.1/os-hypervisors", hypervisors),
    get("/v2.1/os-hypervisors/detail", hypervisors),
    get("/v2.1/os-hypervisors/{id}", hypervisor),
    get("/v2.1/os-services", services),
    get("/v2.1/os-aggregates", aggregates),
    get("/v2.1/os-server-groups", list_groups),
    post("/v2.1/os-server-groups", create_group),
    get("/v2.1/os-server-groups/{id}", show_group),
    delete("/v2.1/os-server-groups/{id}", delete_group),
    get("/v2.1/extensions", extensions),
)
