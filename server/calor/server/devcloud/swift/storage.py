"""Accounts, containers, objects."""

import hashlib
import time
from datetime import UTC, datetime
from email.utils import formatdate
from pathlib import Path
from typing import Any

from aiohttp import web

from calor.server.devcloud import uploads
from calor.server.devcloud.access import ApiError, Token
from calor.server.devcloud.calls import Call, Route
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.swift import temp_urls, versions

METADATA = {"account": "X-Account-Meta-", "container": "X-Container-Meta-", "object": "X-Object-Meta-"}
KEPT = ("Content-Encoding", "Content-Disposition", "X-Delete-At", "Content-Type")
PREFIX = "/object-store"


def _account(call: Call) -> str:
    return call.path["account"]


def container_id(call: Call) -> str:
    return f"{call.path['account']}/{call.path['container']}"


def object_id(call: Call) -> str:
    return f"{container_id(call)}/{call.path['object']}"


def _may(call: Call) -> None:
    """The account's project, the admin, or who may read what the container's ACL opens to all."""
    token = _caller(call)
    if token is not None and (token.is_admin or _account(call) == f"AUTH_{token.project_id}"):
        return
    if "container" in call.path and call.request.method in ("GET", "HEAD"):
        container = call.docs.get("container", container_id(call)) or {}
        if ".r:*" in str(container.get("read", "")).split(","):
            return
    if token is None:
        raise ApiError(401, "Unauthorized")
    raise ApiError(403, "Forbidden")


def _caller(call: Call) -> Token | None:
    ident = call.request.headers.get("X-Auth-Token")
    return call.cloud.tokens.validate(ident) if ident else None


def _may_object(call: Call) -> None:
    query = call.query
    if "temp_url_sig" not in query and "temp_url_expires" not in query:
        _may(call)
        return
    account = call.docs.get("account", _account(call)) or {"meta": {}}
    container = call.docs.get("container", container_id(call)) or {"meta": {}}
    keys = [
        source["meta"].get(name, "") for source in (account, container) for name in ("temp-url-key", "temp-url-key-2")
    ]
    raw = call.request.path
    paths = (raw, raw.removeprefix(PREFIX))
    if not temp_urls.is_allowed(call.request.method, paths, query, keys, time.time()):
        raise ApiError(401, "Temp URL invalid")


def _metadata(call: Call, of: str, old: Doc) -> Doc:
    """The metadata after this request's headers; an empty value removes."""
    prefix = METADATA[of].lower()
    new = dict(old)
    for name, value in call.request.headers.items():
        lower = name.lower()
        if lower.startswith(prefix):
            new[lower.removeprefix(prefix)] = value
        elif lower.startswith(prefix.replace("x-", "x-remove-", 1)):
            new.pop(lower.removeprefix(prefix.replace("x-", "x-remove-", 1)), None)
    return {key: value for key, value in new.items() if value}


def _meta_headers(of: str, meta: Doc) -> dict[str, str]:
    return {METADATA[of] + "-".join(part.capitalize() for part in key.split("-")): value for key, value in meta.items()}


def _objects(call: Call, container: str) -> list[Doc]:
    return sorted(call.docs.where("object", container=container), key=lambda doc: str(doc["name"]))


def _path(call: Call, ident: str) -> Path:
    return call.cloud.objects / hashlib.sha256(ident.encode()).hexdigest()


async def account(call: Call) -> web.StreamResponse:
    _may(call)
    ident = _account(call)
    doc = call.docs.get("account", ident) or {"id": ident, "meta": {}}
    if call.request.method == "POST":
        with call.docs.transaction():
            call.docs.put("account", {**doc, "meta": _metadata(call, "account", doc["meta"])})
        return web.Response(status=204)
    containers = sorted(call.docs.where("container", account=ident), key=lambda one: str(one["name"]))
    headers = _meta_headers("account", doc["meta"])
    headers["X-Account-Container-Count"] = str(len(containers))
    headers["X-Account-Object-Count"] = str(sum(len(_objects(call, one["id"])) for one in containers))
    headers["X-Account-Bytes-Used"] = str(sum(each["size"] for one in containers for each in _objects(call, one["id"])))
    if call.request.method == "HEAD":
        return web.Response(status=204, headers=headers)
    rows = [
        {"name": one["name"], "count": len(_objects(call, one["id"])), "bytes": 0, "last_modified": one["created"]}
        for one in containers
    ]
    return _listing(call, rows, headers)


def _listing(call: Call, rows: list[Doc], headers: dict[str, str]) -> web.Response:
    prefix, marker = call.query.get("prefix", ""), call.query.get("marker", "")
    rows = [row for row in rows if row["name"].startswith(prefix) and row["name"] > marker]
    rows = rows[: int(call.query.get("limit", 10000))]
    if call.query.get("format") == "json" or "json" in call.request.headers.get("Accept", ""):
        return web.json_response(rows, headers=headers)
    text = "".join(row["name"] + "\n" for row in rows)
    return web.Response(status=200 if text else 204, text=text, content_type="text/plain", headers=headers)


async def container(call: Call) -> web.StreamResponse:
    _may(call)
    if call.request.method in ("PUT", "POST", "DELETE"):
        with call.docs.transaction():
            return web.Response(status=_change_container(call))
    doc = _container(call)
    objects = _objects(call, doc["id"])
    headers = _meta_headers("container", doc["meta"])
    headers["X-Container-Object-Count"] = str(len(objects))
    headers["X-Container-Bytes-Used"] = str(sum(each["size"] for each in objects))
    if doc["read"]:
        headers["X-Container-Read"] = doc["read"]
    if doc.get("versions"):
        headers["X-Versions-Location"] = doc["versions"]
    if call.request.method == "HEAD":
        return web.Response(status=204, headers=headers)
    rows = [
        {
            "name": each["name"],
            "hash": each["etag"],
            "bytes": each["size"],
            "content_type": each["content_type"],
            "last_modified": _iso(each["modified"]),
        }
        for each in objects
    ]
    return _listing(call, rows, headers)


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")


def _container(call: Call) -> Doc:
    doc = call.docs.get("container", container_id(call))
    if doc is None:
        raise ApiError(404, "The resource could not be found.")
    return doc


def _change_container(call: Call) -> int:
    ident = container_id(call)
    doc = call.docs.get("container", ident)
    if call.request.method == "PUT":
        fresh = {
            "id": ident,
            "account": _account(call),
            "name": call.path["container"],
            "meta": {},
            "read": "",
            "versions": "",
            "created": _iso(time.time()),
        }
        call.docs.put("container", _touched(call, doc or fresh))
        return 202 if doc else 201
    doc = _container(call)
    if call.request.method == "POST":
        call.docs.put("container", _touched(call, doc))
        return 204
    if _objects(call, ident):
        raise ApiError(409, "There was a conflict when trying to complete your request.")
    call.docs.drop("container", ident)
    return 204


def _touched(call: Call, doc: Doc) -> Doc:
    read = call.request.headers.get("X-Container-Read", doc["read"])
    location = call.request.headers.get("X-Versions-Location", doc.get("versions", ""))
    return {**doc, "meta": _metadata(call, "container", doc["meta"]), "read": read, "versions": location}


async def put_object(call: Call) -> web.StreamResponse:
    _may_object(call)
    ident = object_id(call)
    if _container(call).get("versions"):
        versions.archive(call, ident, _path)
    expected = call.request.headers.get("ETag", "").strip('"')

    def check(upload: uploads.Upload) -> None:
        if expected and expected != upload.md5:
            raise ApiError(422, "Unable to process the contained instructions.")

    received = await uploads.receive(call.request, _path(call, ident), accept=check)
    moment = time.time()
    with call.docs.transaction():
        call.docs.put(
            "object",
            {
                "id": ident,
                "container": container_id(call),
                "name": call.path["object"],
                "etag": received.md5,
                "size": received.size,
                "content_type": call.request.headers.get("Content-Type", "application/octet-stream"),
                "modified": moment,
                "meta": _metadata(call, "object", {}),
                "headers": {name: call.request.headers[name] for name in KEPT if name in call.request.headers},
            },
        )
    stamp = formatdate(moment, usegmt=True)
    return web.Response(status=201, headers={"ETag": received.md5, "Last-Modified": stamp})


def _object(call: Call) -> Doc:
    doc = call.docs.get("object", object_id(call))
    if doc is None:
        raise ApiError(404, "The resource could not be found.")
    return doc


def _object_headers(doc: Doc) -> dict[str, str]:
    headers = {
        "ETag": doc["etag"],
        "Last-Modified": formatdate(int(doc["modified"] + 0.999999), usegmt=True),
        "X-Timestamp": f"{doc['modified']:.5f}",
        "Accept-Ranges": "bytes",
        **doc["headers"],
        **_meta_headers("object", doc["meta"]),
    }
    headers.setdefault("Content-Type", doc["content_type"])
    return headers


async def get_object(call: Call) -> web.StreamResponse:
    _may_object(call)
    doc = _object(call)
    if call.request.headers.get("If-None-Match", "").strip('"') == doc["etag"]:
        return web.Response(status=304, headers=_object_headers(doc))
    if call.request.method == "HEAD":
        return web.Response(headers={**_object_headers(doc), "Content-Length": str(doc["size"])})
    body = _path(call, doc["id"]).read_bytes()
    return web.Response(body=body, headers=_object_headers(doc))


async def post_object(call: Call) -> web.StreamResponse:
    _may_object(call)
    doc = _object(call)
    kept = {name: call.request.headers[name] for name in KEPT if name in call.request.headers}
    with call.docs.transaction():
        call.docs.put("object", {**doc, "meta": _metadata(call, "object", {}), "headers": {**doc["headers"], **kept}})
    return web.Response(status=202)


async def delete_object(call: Call) -> web.StreamResponse:
    _may_object(call)
    doc = _object(call)
    with call.docs.transaction():
        call.docs.drop("object", doc["id"])
    _path(call, doc["id"]).unlink(missing_ok=True)
    if _container(call).get("versions"):
        versions.restore(call, doc["id"], _path)
    return web.Response(status=204)


async def info(call: Call) -> web.StreamResponse:
    allowed = {"methods": ["GET", "HEAD", "PUT", "POST", "DELETE"], "allowed_digests": ["sha1", "sha256", "sha512"]}
    return web.json_response({"swift": {"version": "2.30.0", "max_file_size": 5368709122}, "tempurl": allowed})


def _route(methods: str, path: str, handler: Any) -> list[Route]:
    return [Route(method=method, path=path, handler=handler, public=True, stream=True) for method in methods.split()]


OBJECT = "/v1/{account}/{container}/{object:.+}"
ROUTES = (
    *_route("GET", "/info", info),
    *_route("GET HEAD POST", "/v1/{account}", account),
    *_route("GET HEAD POST", "/v1/{account}/", account),
    *_route("GET HEAD PUT POST DELETE", "/v1/{account}/{container}", container),
    *_route("GET HEAD PUT POST DELETE", "/v1/{account}/{container}/", container),
    *_route("PUT", OBJECT, put_object),
    *_route("GET HEAD", OBJECT, get_object),
    *_route("POST", OBJECT, post_object),
    *_route("DELETE", OBJECT, delete_object),
)
