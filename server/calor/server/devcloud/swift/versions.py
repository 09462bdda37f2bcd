"""Containers with ``X-Versions-Location``: what is overwritten goes there under its length, name and time; a deletion
brings the newest of these back."""

from collections.abc import Callable
from pathlib import Path

from calor.server.devcloud.calls import Call
from calor.server.devcloud.documents import Doc

Place = Callable[[Call, str], Path]


def archive(call: Call, ident: str, place: Place) -> None:
    """Before an object is written: keep what is there."""
    doc = call.docs.get("object", ident)
    if doc is not None:
        name = _prefix(doc) + f"{doc['modified']:016.5f}"
        _move(call, doc, _location(call), name, place)


def restore(call: Call, ident: str, place: Place) -> None:
    """After an object was deleted: the version before is the object again."""
    account, container, name = ident.split("/", 2)
    prefix = f"{len(name):03x}{name}/"
    older = [one for one in call.docs.where("object", container=_location(call)) if one["name"].startswith(prefix)]
    if older:
        _move(call, max(older, key=lambda one: str(one["name"])), f"{account}/{container}", name, place)


def _prefix(doc: Doc) -> str:
    return f"{len(doc['name']):03x}{doc['name']}/"


def _location(call: Call) -> str:
    doc = call.docs.get("container", f"{call.path['account']}/{call.path['container']}") or {}
    return f"{call.path['account']}/{doc.get('versions')}"


def _move(call: Call, doc: Doc, container: str, name: str, place: Place) -> None:
    moved = {**doc, "id": f"{container}/{name}", "container": container, "name": name}
    place(call, doc["id"]).replace(place(call, str(moved["id"])))
    with call.docs.transaction():
        call.docs.drop("object", doc["id"])
        call.docs.put("object", moved)
