"""What clients look at around volumes: versions, types, limits, quotas, zones, attachments, services."""

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, delete, get, new_id, now, post
from calor.server.devcloud.documents import Doc

QUOTAS = {
    "volumes": 1000,
    "per_volume_gigabytes": -1,
    "snapshots": 1000,
    "gigabytes": 100000,
    "backups": 1000,
    "backup_gigabytes": 1000,
    "groups": 10,
}
P = "/v3/{project_id}"


def versions(call: Call) -> Doc:
    return {
        "versions": [
            {
                "id": "v3.0",
                "status": "CURRENT",
                "version": "3.59",
                "min_version": "3.0",
                "updated": "2019-07-12T00:00:00Z",
                "links": [{"rel": "self", "href": call.url("/volume/v3/")}],
                "media-types": [
                    {"base": "application/json", "type": "application/vnd.openstack.volume+json;version=3"}
                ],
            }
        ]
    }


def versions_multiple(call: Call) -> Answer:
    return Answer(body=versions(call), status=300)


def _type(doc: Doc) -> Doc:
    return {**doc, "os-volume-type-access:is_public": doc["is_public"], "qos_specs_id": None}


def types(call: Call) -> Doc:
    return {"volume_types": [_type(doc) for doc in call.docs.all("volume_type")]}


def show_type(call: Call) -> Doc:
    ident = call.path["id"]
    matches = [doc for doc in call.docs.all("volume_type") if ident == doc["id"]]
    if ident == "default":
        matches = call.docs.all("volume_type")
    if not matches:
        raise ApiError(404, f"Volume type {ident} could not be found.")
    return {"volume_type": _type(matches[0])}


def create_type(call: Call) -> Doc:
    if not call.token.is_admin:
        raise ApiError(403, "Policy doesn't allow volume_extension:types_manage to be performed.")
    part = call.part("volume_type")
    if call.docs.where("volume_type", name=part.get("name")):
        raise ApiError(409, f"Volume Type {part.get('name')} already exists.")
    return {"volume_type": _type(call.docs.put("volume_type", new_type(part)))}


def new_type(part: Doc) -> Doc:
    return {
        "id": new_id(),
        "name": part["name"],
        "description": part.get("description"),
        "is_public": part.get("os-volume-type-access:is_public", True),
        "extra_specs": part.get("extra_specs") or {},
    }


def delete_type(call: Call) -> Answer:
    if not call.token.is_admin:
        raise ApiError(403, "Policy doesn't allow volume_extension:types_manage to be performed.")
    doc = show_type(call)["volume_type"]
    if call.docs.where("volume", volume_type=doc["name"]):
        raise ApiError(400, "Target volume type is still in use.")
    call.docs.drop("volume_type", doc["id"])
    return Answer(status=202)


def limits(call: Call) -> Doc:
    volumes = call.docs.where("volume", project_id=call.project_id)
    absolute = {
        "maxTotalVolumes": QUOTAS["volumes"],
        "maxTotalSnapshots": QUOTAS["snapshots"],
        "maxTotalVolumeGigabytes": QUOTAS["gigabytes"],
        "maxTotalBackups": QUOTAS["backups"],
        "maxTotalBackupGigabytes": QUOTAS["backup_gigabytes"],
        "totalVolumesUsed": len(volumes),
        "totalGigabytesUsed": sum(volume["size"] for volume in volumes),
        "totalSnapshotsUsed": len(call.docs.where("snapshot", project_id=call.project_id)),
        "totalBackupsUsed": 0,
        "totalBackupGigabytesUsed": 0,
    }
    return {"limits": {"rate": [], "absolute": absolute}}


def quotas(call: Call) -> Doc:
    return {"quota_set": {**QUOTAS, "id": call.path["id"]}}


def zones(call: Call) -> Doc:
    return {"availabilityZoneInfo": [{"zoneName": "nova", "zoneState": {"available": True}}]}


def _attachment(doc: Doc) -> Doc:
    return {
        "id": doc["id"],
        "status": doc["status"],
        "instance": doc["server_id"],
        "volume_id": doc["volume_id"],
        "attached_at": doc["attached_at"],
        "detached_at": "",
        "attach_mode": "rw",
        "connection_info": {},
    }


def attachments(call: Call) -> Doc:
    docs = [doc for doc in call.docs.all("attachment") if call.sees(doc)]
    for key, mine in (("instance_id", "server_id"), ("volume_id", "volume_id"), ("status", "status")):
        if key in call.query:
            docs = [doc for doc in docs if doc[mine] == call.query[key]]
    return {"attachments": [_attachment(doc) for doc in docs]}


def attachment(call: Call) -> Doc:
    doc = call.docs.get("attachment", call.path["id"])
    if doc is None or not call.sees(doc):
        raise ApiError(404, f"Volume attachment could not be found with filter: attachment_id = {call.path['id']}.")
    return {"attachment": _attachment(doc)}


def services(call: Call) -> Doc:
    if not call.token.is_admin:
        raise ApiError(403, "Policy doesn't allow volume_extension:services:index to be performed.")
    service = {
        "binary": "cinder-volume",
        "host": "calor-dev@files",
        "zone": "nova",
        "status": "enabled",
        "state": "up",
        "updated_at": now(),
        "disabled_reason": None,
    }
    return {"services": [service]}


def no_backups(call: Call) -> Doc:
    return {"backups": []}


def extensions(call: Call) -> Doc:
    return {"extensions": []}


ROUTES = (
    get("", versions_multiple, public=True),
    get("/", versions_multiple, public=True),
    get("/v3", versions, public=True),
    get("/v3/", versions, public=True),
    get(P + "/types", types),
    post(P + "/types", create_type),
    get(P + "/types/{id}", show_type),
    delete(P + "/types/{id}", delete_type),
    get(P + "/limits", limits),
    get(P + "/os-quota-sets/{id}", quotas),
    get(P + "/os-quota-sets/{id}/defaults", quotas),
    get(P + "/os-availability-zone", zones),
    get(P + "/attachments", attachments),
    get(P + "/attachments/detail", attachments),
    get(P + "/attachments/{id}", attachment),
    get(P + "/os-services", services),
    get(P + "/backups", no_backups),
    get(P + "/backups/detail", no_backups),
    get(P + "/extensions", extensions),
)
