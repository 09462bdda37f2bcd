"""Volumes: create, list, show, update, delete, and their actions."""

from typing import Any

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, delete, get, new_id, now_micro, page, post, put
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.faults import fate
from calor.server.devcloud.tasks import enqueue, withdraw

DEFAULT_TYPE = "__DEFAULT__"
NOT_DELETABLE = (
    "Invalid volume: Volume status must be available or error or error_restoring or error_extending or error_managing "
    "and must not be migrating, attached, belong to a group, have snapshots, awaiting a transfer, or be disassociated "
    "from snapshots after volume transfer."
)


def find(call: Call, ident: str) -> Doc:
    volume = call.docs.get("volume", ident)
    if volume is None or not call.sees(volume):
        raise ApiError(404, f"Volume {ident} could not be found.")
    return volume


def links(call: Call, volume: Doc) -> list[Doc]:
    path = f"{volume['project_id']}/volumes/{volume['id']}"
    return [
        {"rel": "self", "href": call.url(f"/volume/v3/{path}")},
        {"rel": "bookmark", "href": call.url(f"/volume/{path}")},
    ]


def detail(call: Call, volume: Doc) -> Doc:
    hidden = ("project_id", "volume_image_metadata", "trouble")
    shown = {key: value for key, value in volume.items() if key not in hidden}
    held = call.docs.where("attachment", volume_id=volume["id"], status="attached")
    held += call.docs.where("attachment", volume_id=volume["id"], status="detaching")
    shown.update(
        links=links(call, volume),
        attachments=[_attachment(one) for one in held],
        **{"os-vol-tenant-attr:tenant_id": volume["project_id"]},
    )
    if volume["volume_image_metadata"]:
        shown["volume_image_metadata"] = volume["volume_image_metadata"]
    return shown


def _attachment(one: Doc) -> Doc:
    return {
        "id": one["volume_id"],
        "attachment_id": one["id"],
        "volume_id": one["volume_id"],
        "server_id": one["server_id"],
        "host_name": None,
        "device": one["device"],
        "attached_at": one["attached_at"],
    }


def make(call: Call, part: Doc) -> Doc:
    """A new volume, ``creating``; also Nova's way to one."""
    source = _source(call, part)
    size = _size(part, source)
    kind = part.get("volume_type") or DEFAULT_TYPE
    types = [one for one in call.docs.all("volume_type") if kind in (one["id"], one["name"])]
    if not types:
        raise ApiError(404, f"Volume type with name {kind} could not be found.")
    zone = part.get("availability_zone") or "nova"
    if zone != "nova":
        raise ApiError(400, f"Availability zone '{zone}' is invalid.")
    image = source if part.get("imageRef") else None
    inherited = (source or {}).get("volume_image_metadata")
    volume = call.docs.put(
        "volume",
        {
            "id": new_id(),
            "status": "creating",
            "size": size,
            "availability_zone": zone,
            "created_at": now_micro(),
            "updated_at": None,
            "name": part.get("name") or part.get("display_name"),
            "description": part.get("description"),
            "volume_type": types[0]["name"],
            "snapshot_id": part.get("snapshot_id"),
            "source_volid": part.get("source_volid"),
            "metadata": check_metadata(part.get("metadata") or {}),
            "user_id": call.token.user_id,
            "project_id": call.project_id,
            "bootable": "true" if image or inherited else "false",
            "encrypted": False,
            "replication_status": None,
            "consistencygroup_id": None,
            "multiattach": False,
            "group_id": None,
            "shared_targets": False,
            "service_uuid": None,
            "volume_image_metadata": _image_metadata(image) if image else inherited,
            "trouble": fate()[0],
        },
    )
    enqueue(call.docs, f"volume:{volume['id']}", "create_volume")
    return volume


def _image_metadata(image: Doc) -> Doc:
    return {"image_id": image["id"], "image_name": image["name"], **image["properties"]}


def _source(call: Call, part: Doc) -> Doc | None:
    for key, kind, title in (
        ("snapshot_id", "snapshot", "Snapshot"),
        ("source_volid", "volume", "Volume"),
        ("imageRef", "image", "Image"),
    ):
        ident = part.get(key)
        if not ident:
            continue
        found = call.docs.get(kind, str(ident))
        if found is None:
            raise ApiError(400 if kind == "image" else 404, f"{title} {ident} could not be found.")
        return found
    return None


def _size(part: Doc, source: Doc | None) -> int:
    smallest = source.get("size") if source and not part.get("imageRef") else None
    asked: Any = part.get("size", smallest)
    try:
        size = int(asked)
    except (TypeError, ValueError) as exc:
        raise ApiError(
            400, f"Invalid input received: Invalid volume size provided for create request: {asked}"
        ) from exc
    if size < 1:
        raise ApiError(
            400, f"Invalid input for field/attribute size. Value: {asked}. {asked} is less than the minimum of 1"
        )
    if smallest is not None and size < smallest:
        raise ApiError(
            400, f"Invalid input received: Volume size '{size}'GB cannot be smaller than the source's {smallest}GB."
        )
    return size


def check_metadata(metadata: Any) -> Doc:
    if not isinstance(metadata, dict) or any(not isinstance(v, str) or len(v) > 255 for v in metadata.values()):
        raise ApiError(400, f"Invalid input for field/attribute metadata. Value: {metadata}.")
    return dict(metadata)


def create(call: Call) -> Answer:
    volume = make(call, call.part("volume"))
    return Answer(body={"volume": detail(call, volume)}, status=202)


def _selected(call: Call) -> list[Doc]:
    every = call.token.is_admin and call.query.get("all_tenants", "0").lower() not in ("0", "false")
    docs = [doc for doc in call.docs.all("volume") if every or doc["project_id"] == call.project_id]
    for key in ("name", "status", "bootable"):
        if key in call.query:
            docs = [doc for doc in docs if doc[key] == call.query[key]]
    if "metadata" in call.query:
        wanted = call.query["metadata"].strip("{}").replace("'", "").replace('"', "")
        pairs = [tuple(part.strip().partition(":")[::2]) for part in wanted.split(",") if part]
        docs = [doc for doc in docs if all(doc["metadata"].get(k) == v.strip() for k, v in pairs)]
    docs.sort(key=lambda doc: str(doc["created_at"]), reverse=True)
    return page(call, docs)


def list_brief(call: Call) -> Doc:
    return {"volumes": [{"id": d["id"], "name": d["name"], "links": links(call, d)} for d in _selected(call)]}


def list_detail(call: Call) -> Doc:
    return {"volumes": [detail(call, doc) for doc in _selected(call)]}


def show(call: Call) -> Doc:
    return {"volume": detail(call, find(call, call.path["id"]))}


def update(call: Call) -> Doc:
    volume, part = find(call, call.path["id"]), call.part("volume")
    fields: Doc = {key: part[key] for key in ("name", "description") if key in part}
    if "metadata" in part:
        fields["metadata"] = check_metadata(part["metadata"])
    return {"volume": detail(call, call.docs.change("volume", volume["id"], **fields, updated_at=now_micro()))}


def remove(call: Call) -> Answer:
    volume = find(call, call.path["id"])
    stuck = volume["status"] == "creating" and volume["trouble"] == "never_ready"
    if volume["status"] == "deleting":
        return Answer(status=202)
    snapshots = call.docs.where("snapshot", volume_id=volume["id"])
    if (not volume["status"].startswith(("available", "error")) and not stuck) or snapshots:
        raise ApiError(400, NOT_DELETABLE)
    withdraw(call.docs, f"volume:{volume['id']}")
    call.docs.change("volume", volume["id"], status="deleting")
    enqueue(call.docs, f"volume:{volume['id']}", "delete_volume")
    return Answer(status=202)


def act(call: Call) -> Answer:
    volume = find(call, call.path["id"])
    if not isinstance(call.body, dict) or len(call.body) != 1:
        raise ApiError(400, "Exactly one action is expected.")
    ((name, argument),) = call.body.items()
    if name not in ACTIONS:
        raise ApiError(400, f"There is no such action: {name}")
    return ACTIONS[name](call, volume, argument or {})


def _extend(call: Call, volume: Doc, argument: Doc) -> Answer:
    new = int(argument.get("new_size", 0))
    if volume["status"] not in ("available", "in-use"):
        raise ApiError(400, f"Invalid volume: Volume {volume['id']} status must be ('available', 'in-use') to extend.")
    if new <= volume["size"]:
        raise ApiError(
            400,
            "Invalid input received: New size for extend must be greater than current size. "
            f"(current: {volume['size']}, extended: {new}).",
        )
    call.docs.change("volume", volume["id"], status="extending")
    enqueue(call.docs, f"volume:{volume['id']}", "extend_volume", size=new, back=volume["status"])
    return Answer(status=202)


def _reset(call: Call, volume: Doc, argument: Doc) -> Answer:
    if not call.token.is_admin:
        raise ApiError(403, "Policy doesn't allow volume_extension:volume_admin_actions:reset_status to be performed.")
    call.docs.change("volume", volume["id"], status=argument.get("status", volume["status"]))
    return Answer(status=202)


def _set_bootable(call: Call, volume: Doc, argument: Doc) -> Answer:
    call.docs.change("volume", volume["id"], bootable=str(bool(argument.get("bootable"))).lower())
    return Answer(status=200)


def _retype(call: Call, volume: Doc, argument: Doc) -> Answer:
    types = [t for t in call.docs.all("volume_type") if argument.get("new_type") in (t["id"], t["name"])]
    if not types:
        raise ApiError(404, f"Volume type with name {argument.get('new_type')} could not be found.")
    call.docs.change("volume", volume["id"], volume_type=types[0]["name"])
    return Answer(status=202)


def _nothing(call: Call, volume: Doc, argument: Doc) -> Answer:
    return Answer(status=202)


ACTIONS = {
    "os-extend": _extend,
    "os-reset_status": _reset,
    "os-set_bootable": _set_bootable,
    "os-retype": _retype,
    "os-update_readonly_flag": _nothing,
}


def show_metadata(call: Call) -> Doc:
    return {"metadata": find(call, call.path["id"])["metadata"]}


def merge_metadata(call: Call) -> Doc:
    volume = find(call, call.path["id"])
    merged = check_metadata({**volume["metadata"], **call.part("metadata")})
    return {"metadata": call.docs.change("volume", volume["id"], metadata=merged)["metadata"]}


def replace_metadata(call: Call) -> Doc:
    volume = find(call, call.path["id"])
    new = check_metadata(call.part("metadata"))
    return {"metadata": call.docs.change("volume", volume["id"], metadata=new)["metadata"]}


def delete_item(call: Call) -> Answer:
    volume, key = find(call, call.path["id"]), call.path["key"]
    if key not in volume["metadata"]:
        raise ApiError(404, f"Volume {volume['id']} has no metadata with key {key}.")
    call.docs.change("volume", volume["id"], metadata={k: v for k, v in volume["metadata"].items() if k != key})
    return Answer()


V = "/v3/{project_id}/volumes"
ROUTES = (
    get(V, list_brief),
    post(V, create),
    get(V + "/detail", list_detail),
    get(V + "/{id}", show),
    put(V + "/{id}", update),
    delete(V + "/{id}", remove),
    post(V + "/{id}/action", act),
    get(V + "/{id}/metadata", show_metadata),
    post(V + "/{id}/metadata", merge_metadata),
    put(V + "/{id}/metadata", replace_metadata),
    delete(V + "/{id}/metadata/{key}", delete_item),
)
