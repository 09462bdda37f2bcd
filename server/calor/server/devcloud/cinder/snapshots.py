"""Snapshots of volumes."""

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, delete, get, new_id, now_micro, page, post, put
from calor.server.devcloud.cinder.volumes import check_metadata
from calor.server.devcloud.cinder.volumes import find as find_volume
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.tasks import enqueue


def find(call: Call) -> Doc:
    snapshot = call.docs.get("snapshot", call.path["id"])
    if snapshot is None or not call.sees(snapshot):
        raise ApiError(404, f"Snapshot {call.path['id']} could not be found.")
    return snapshot


def detail(call: Call, doc: Doc) -> Doc:
    shown = {key: value for key, value in doc.items() if key not in ("project_id", "volume_image_metadata")}
    progress = "100%" if doc["status"] == "available" else "0%"
    return {
        **shown,
        "os-extended-snapshot-attributes:project_id": doc["project_id"],
        "os-extended-snapshot-attributes:progress": progress,
    }


def create(call: Call) -> Answer:
    part = call.part("snapshot")
    volume = find_volume(call, str(part.get("volume_id")))
    force = str(part.get("force", False)).lower() in ("true", "1")
    if volume["status"] != "available" and not (force and volume["status"] == "in-use"):
        raise ApiError(
            400,
            f"Invalid volume: Volume {volume['id']} status must be available, "
            f"but current status is: {volume['status']}.",
        )
    doc = {
        "id": new_id(),
        "created_at": now_micro(),
        "updated_at": None,
        "name": part.get("name"),
        "description": part.get("description"),
        "volume_id": volume["id"],
        "status": "creating",
        "size": volume["size"],
        "metadata": check_metadata(part.get("metadata") or {}),
        "group_snapshot_id": None,
        "user_id": call.token.user_id,
        "project_id": call.project_id,
        "volume_image_metadata": volume["volume_image_metadata"],
    }
    call.docs.put("snapshot", doc)
    enqueue(call.docs, f"volume:{volume['id']}", "create_snapshot", snapshot=doc["id"])
    return Answer(body={"snapshot": detail(call, doc)}, status=202)


def list_snapshots(call: Call) -> Doc:
    docs = [doc for doc in call.docs.all("snapshot") if doc["project_id"] == call.project_id]
    for key in ("name", "status", "volume_id"):
        if key in call.query:
            docs = [doc for doc in docs if doc[key] == call.query[key]]
    return {"snapshots": [detail(call, doc) for doc in page(call, docs)]}


def show(call: Call) -> Doc:
    return {"snapshot": detail(call, find(call))}


def update(call: Call) -> Doc:
    part = call.part("snapshot")
    fields = {key: part[key] for key in ("name", "description") if key in part}
    return {"snapshot": detail(call, call.docs.change("snapshot", find(call)["id"], **fields))}


def remove(call: Call) -> Answer:
    doc = find(call)
    if doc["status"] not in ("available", "error"):
        raise ApiError(400, "Invalid snapshot: Snapshot status must be available or error.")
    call.docs.change("snapshot", doc["id"], status="deleting")
    enqueue(call.docs, f"volume:{doc['volume_id']}", "delete_snapshot", snapshot=doc["id"])
    return Answer(status=202)


S = "/v3/{project_id}/snapshots"
ROUTES = (
    get(S, list_snapshots),
    post(S, create),
    get(S + "/detail", list_snapshots),
    get(S + "/{id}", show),
    put(S + "/{id}", update),
    delete(S + "/{id}", remove),
)
