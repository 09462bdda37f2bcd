"""Objects in the user's own object store that guests reach by TempURL: no token, one method, one object.

The key is the container's own, derived from ours; where the container has one already, or the name of a container is
the user's, his stays. What a TempURL is: https://docs.openstack.org/swift/latest/api/temporary_url_middleware.html
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlsplit

from calor.server.cloud.errors import CloudConflict, CloudError, CloudMissing
from calor.server.resources.base import Context

SERVICE = "object_store"
KEY = "X-Container-Meta-Temp-Url-Key"
FOR_EVER = 2147483647
"""Seconds since 1970: the last that every object store takes. A URL ends with its object, not by the clock."""
DIGESTS = ("sha256", "sha512", "sha1")
WAITING = b"in_progress"
"""What an object holds until a guest has put something in its place."""
TRIES = 4


def temp_url(base: str, path: str, method: str, key: str, digest: str) -> str:
    """``base`` is the store's address up to the account (``http://host/v1/AUTH_x``), ``path`` ``/container/object``."""
    parts = urlsplit(base)
    signed = f"{method}\n{FOR_EVER}\n{parts.path.rstrip('/')}{path}"
    signature = hmac.new(key.encode(), signed.encode(), digest).hexdigest()
    return f"{base.rstrip('/')}{quote(path)}?temp_url_sig={signature}&temp_url_expires={FOR_EVER}"


async def make(at: Context, container: str, name: str, content: bytes, *, versioned: bool = False) -> None:
    """The object, in a container that has a key for TempURLs. One that is there stays as it is."""
    for attempt in range(TRIES):
        await _ensure(at, container, versioned=versioned)
        try:
            await at.cloud.call(SERVICE, "head", _path(container, name))
        except CloudMissing:
            try:
                await at.cloud.call(SERVICE, "put", _path(container, name), data=content)
            except CloudMissing:  # its neighbour in the container went, and the container with it
                if attempt == TRIES - 1:
                    raise
                continue
        return


async def _ensure(at: Context, container: str, *, versioned: bool) -> None:
    wanted = {"X-Versions-Location": container} if versioned else {}
    try:
        known = await at.cloud.call(SERVICE, "head", _path(container))
    except CloudMissing:
        known = {}
    if not known.get(KEY.lower()):
        wanted[KEY] = at.urls.container_key(container)
    if wanted.keys() - {name for name in wanted if known.get(name.lower())}:
        await at.cloud.call(SERVICE, "put", _path(container), headers=wanted)


async def url(at: Context, container: str, name: str, method: str) -> str:
    """A TempURL as the guest must use it."""
    known = await at.cloud.call(SERVICE, "head", _path(container))
    key = str(known.get(KEY.lower()) or at.urls.container_key(container))
    base = await at.cloud.endpoint("object-store", region=at.stack.region)
    return at.urls.outside(temp_url(base, f"/{container}/{name}", method, key, await _digest(at)))


async def _digest(at: Context) -> str:
    """The best of those that the store names; old ones know only the last and name none."""
    try:
        info = await at.cloud.call(SERVICE, "get_info")
    except CloudError:
        return DIGESTS[0]
    allowed = (info.get("tempurl") or {}).get("allowed_digests") or [DIGESTS[-1]]
    return next((one for one in DIGESTS if one in allowed), DIGESTS[0])


async def versions(at: Context, container: str, name: str, *, fresh: bool) -> Mapping[str, str]:
    """Time of writing to name, of all that guests have put in the place of one object, oldest first; waits for the
    next listing. A versioned container keeps what was overwritten under the object's length, name and time."""
    listing = await at.cloud.listed(SERVICE, _path(container), fresh=fresh)
    archived = f"{len(name):03x}{name}/"
    found = {}
    for each, record in listing.items():
        if record.get("hash") == hashlib.md5(WAITING, usedforsecurity=False).hexdigest():
            continue
        if each == name:
            found[_moment(str(record.get("last_modified")))] = each
        elif each.startswith(archived):
            found[_seconds(each.removeprefix(archived))] = each
    return dict(sorted(found.items()))


def _moment(text: str) -> str:
    return _seconds(str(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()))


def _seconds(text: str) -> str:
    """A time with as many digits as the store keeps, so that an object has one name before and after it is archived."""
    return f"{float(re.split('[_/]', text)[0]):016.5f}"


async def content(at: Context, container: str, name: str) -> Any:
    """What was put there; None while nothing was."""
    found = await at.cloud.call(SERVICE, "get", _path(container, name))
    return None if found == WAITING.decode() else found


async def forget(at: Context, container: str, prefix: str, *, keep_container: bool = False) -> None:
    """Remove the objects of that prefix with their older versions, and the container if it is empty then."""
    try:
        listing = await at.cloud.call(SERVICE, "get", _path(container), params={"format": "json"})
    except CloudMissing:
        return
    names = [str(one["name"]) for one in listing or ()]
    archived = re.compile("[0-9a-f]{3}" + re.escape(prefix))
    for name in sorted(names, key=lambda one: not archived.match(one)):  # else a removal brings the older one back
        if name.startswith(prefix) or archived.match(name):
            await _remove(at, _path(container, name))
    if not keep_container:
        try:
            await _remove(at, _path(container))
        except CloudConflict:
            return  # others still have something in it


async def _remove(at: Context, path: str) -> None:
    try:
        await at.cloud.call(SERVICE, "delete", path)
    except CloudMissing:
        return


def _path(container: str, name: str = "") -> str:
    return f"/{quote(container, safe='')}" + (f"/{quote(name)}" if name else "")
