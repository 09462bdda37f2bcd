"""Images: records, properties, and the files behind them."""

from collections.abc import Callable
from typing import Any

from aiohttp import web

from calor.server.devcloud import uploads
from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, Route, delete, get, is_uuid, new_id, now, page, patch, post, put
from calor.server.devcloud.documents import Doc, Documents

BASE = frozenset(
    {
        "id",
        "name",
        "visibility",
        "disk_format",
        "container_format",
        "min_disk",
        "min_ram",
        "protected",
        "tags",
        "os_hidden",
        "owner",
    }
)
READ_ONLY = frozenset(
    [
        "checksum",
        "created_at",
        "updated_at",
        "direct_url",
        "file",
        "self",
        "schema",
        "size",
        "status",
        "virtual_size",
        "os_hash_algo",
        "os_hash_value",
    ]
)


def make(docs: Documents, owner: str, part: Doc) -> Doc:
    """A new image's record, ``queued``; everything that is no attribute is a property."""
    moment = now()
    return docs.put(
        "image",
        {
            "id": part.get("id") or new_id(),
            "name": part.get("name"),
            "visibility": part.get("visibility") or "shared",
            "disk_format": part.get("disk_format"),
            "container_format": part.get("container_format"),
            "min_disk": part.get("min_disk") or 0,
            "min_ram": part.get("min_ram") or 0,
            "protected": bool(part.get("protected")),
            "os_hidden": bool(part.get("os_hidden")),
            "tags": list(part.get("tags") or []),
            "project_id": owner,
            "properties": {key: value for key, value in part.items() if key not in BASE},
            "status": "queued",
            "size": None,
            "checksum": None,
            "sha512": None,
            "builtin": False,
            "created_at": moment,
            "updated_at": moment,
        },
    )


def show(doc: Doc) -> Doc:
    path = f"/v2/images/{doc['id']}"
    hidden = ("properties", "project_id", "sha512", "builtin")
    return {
        **doc["properties"],
        **{key: value for key, value in doc.items() if key not in hidden},
        "owner": doc["project_id"],
        "virtual_size": None,
        "os_hash_algo": "sha512" if doc["sha512"] else None,
        "os_hash_value": doc["sha512"],
        "self": path,
        "file": f"{path}/file",
        "schema": "/v2/schemas/image",
    }


def visible(call: Call, doc: Doc) -> bool:
    return call.sees(doc) or doc["visibility"] in ("public", "community")


def find(call: Call) -> Doc:
    doc = call.docs.get("image", call.path["id"])
    if doc is None or not visible(call, doc):
        raise ApiError(404, f"No image found with ID {call.path['id']}")
    return doc


def own(call: Call) -> Doc:
    doc = find(call)
    if not call.sees(doc):
        raise ApiError(403, f"You are not permitted to modify this image {doc['id']}.")
    return doc


def create(call: Call) -> Answer:
    part = call.body if isinstance(call.body, dict) else {}
    wrong = sorted(READ_ONLY & set(part))
    if wrong:
        raise ApiError(403, f"Attribute '{wrong[0]}' is read-only.")
    if part.get("visibility") == "public" and not call.token.is_admin:
        raise ApiError(403, "You are not authorized to complete publicize_image action.")
    if part.get("id") is not None:
        if not is_uuid(part["id"]):
            raise ApiError(400, f"Invalid image id format: {part['id']}")
        if call.docs.get("image", part["id"]) is not None:
            raise ApiError(409, f"Image ID {part['id']} already exists!")
    doc = make(call.docs, call.project_id, part)
    return Answer(body=show(doc), status=201, headers={"Location": call.url(f"/image/v2/images/{doc['id']}")})


def list_images(call: Call) -> Doc:
    docs = [doc for doc in call.docs.all("image") if visible(call, doc) and _passes(call, doc)]
    for key, direction in _sorting(call):
        docs.sort(key=lambda doc: str(doc.get(key) or ""), reverse=direction != "asc")
    shown = page(call, docs)
    body = {"images": [show(doc) for doc in shown], "schema": "/v2/schemas/images", "first": "/v2/images"}
    if "limit" in call.query and shown and len(shown) == int(call.query["limit"]):
        body["next"] = f"/v2/images?limit={call.query['limit']}&marker={shown[-1]['id']}"
    return body


def _sorting(call: Call) -> list[tuple[str, str]]:
    if "sort" in call.query:
        pairs = [part.partition(":") for part in call.query["sort"].split(",")]
        return [(key, direction or "desc") for key, _, direction in reversed(pairs)]
    return [(call.query.get("sort_key", "created_at"), call.query.get("sort_dir", "desc"))]


def _passes(call: Call, doc: Doc) -> bool:
    shown = show(doc)
    for key, value in call.query.items():
        if key in ("limit", "marker", "sort", "sort_key", "sort_dir", "member_status"):
            continue
        if key == "tag":
            if value not in doc["tags"]:
                return False
        elif value.startswith("in:"):
            if str(shown.get(key)) not in [word.strip('"') for word in value[3:].split(",")]:
                return False
        elif str(shown.get(key)).lower() != value.lower() and not (key == "visibility" and value == "all"):
            return False
    return "os_hidden" in call.query or not doc["os_hidden"]


def show_image(call: Call) -> Doc:
    return show(find(call))


def update(call: Call) -> Doc:
    """JSON patch, as Glance takes it: add, replace, remove of whole attributes."""
    doc = own(call)
    properties, fields = dict(doc["properties"]), {}
    for change in call.body if isinstance(call.body, list) else []:
        key = str(change.get("path", "")).lstrip("/").replace("~1", "/").replace("~0", "~")
        if key in READ_ONLY or key == "id":
            raise ApiError(403, f"Attribute '{key}' is read-only.")
        if key in BASE:
            fields["project_id" if key == "owner" else key] = change.get("value")
        elif change.get("op") == "remove":
            if properties.pop(key, None) is None:
                raise ApiError(409, f"Property {key} does not exist.")
        else:
            properties[key] = change.get("value")
    return show(call.docs.put("image", {**doc, **fields, "properties": properties, "updated_at": now()}))


def remove(call: Call) -> Answer:
    doc = own(call)
    if doc["protected"]:
        raise ApiError(403, f"Image {doc['id']} is protected and cannot be deleted.")
    call.docs.drop("image", doc["id"])
    (call.cloud.images / doc["id"]).unlink(missing_ok=True)
    return Answer(status=204)


async def upload(call: Call) -> web.StreamResponse:
    doc = own(call)
    if doc["status"] != "queued":
        raise ApiError(409, f"Image status transition from {doc['status']} to saving is not allowed")
    received = await uploads.receive(call.request, call.cloud.images / doc["id"])
    with call.docs.transaction():
        if call.docs.get("image", doc["id"]) is None:
            raise ApiError(410, f"Image {doc['id']} was deleted while it was uploaded.")
        call.docs.change(
            "image",
            doc["id"],
            status="active",
            size=received.size,
            checksum=received.md5,
            sha512=received.sha512,
            updated_at=now(),
        )
    return web.Response(status=204)


async def download(call: Call) -> web.StreamResponse:
    doc = find(call)
    path = call.cloud.images / doc["id"]
    if not path.is_file():
        return web.Response(status=204)
    return web.FileResponse(
        path, headers={"Content-Type": "application/octet-stream", "Content-MD5": doc["checksum"] or ""}
    )


def _tagger(change: Callable[[list[str], str], list[str]]) -> Callable[[Call], Any]:
    def tag(call: Call) -> Answer:
        doc = own(call)
        call.docs.change("image", doc["id"], tags=change(doc["tags"], call.path["tag"]))
        return Answer(status=204)

    return tag


def members(call: Call) -> Doc:
    find(call)
    return {"members": [], "schema": "/v2/schemas/members"}


IMAGES = "/v2/images"
ROUTES = (
    get(IMAGES, list_images),
    post(IMAGES, create),
    get(IMAGES + "/{id}", show_image),
    patch(IMAGES + "/{id}", update),
    delete(IMAGES + "/{id}", remove),
    Route(method="PUT", path=IMAGES + "/{id}/file", handler=upload, stream=True),
    Route(method="GET", path=IMAGES + "/{id}/file", handler=download, stream=True),
    put(IMAGES + "/{id}/tags/{tag}", _tagger(lambda tags, tag: list(dict.fromkeys([*tags, tag])))),
    delete(IMAGES + "/{id}/tags/{tag}", _tagger(lambda tags, tag: [one for one in tags if one != tag])),
    get(IMAGES + "/{id}/members", members),
)
