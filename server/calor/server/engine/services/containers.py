"""A request's files in a container of the object store (``files_container``), read with the caller's rights."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from calor.server.cloud.door import Cloud
from calor.server.cloud.errors import CloudError, CloudMissing
from calor.server.engine.contract.views import StackRequest
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.services import credentials
from calor.server.errors import BadRequest, RequestLimitExceeded
from calor.server.identity import Caller
from calor.server.template.files import text_of

SERVICE = "object_store"
MOST_FILES = 1000


async def filled(tools: Tools, caller: Caller, request: StackRequest) -> StackRequest:
    """The request with the container's files; those that it sends itself win. Raises `BadRequest` where the container
    cannot be read and `RequestLimitExceeded` where it holds more than a request may."""
    container = request.files_container
    if not container:
        return request
    cloud = tools.door.open(credentials.of_token(caller, tools.settings.region))
    try:
        found = await _read(cloud, container, request.files, tools.settings.max_json_body_size)
    except CloudMissing as error:
        raise BadRequest(f"The files_container {container!r} does not exist in the project's object store.") from error
    except CloudError as error:
        raise BadRequest(f"The files_container {container!r} cannot be read: {error.detail}") from error
    return replace(request, files={**found, **request.files}, files_container="")


async def _read(cloud: Cloud, container: str, known: Mapping[str, str], most_bytes: int) -> Mapping[str, str]:
    path = f"/{quote(container, safe='')}"
    listing: list[Mapping[str, Any]] = await cloud.call(SERVICE, "get", path, params={"format": "json"}) or []
    wanted = [one for one in listing if "name" in one and not one["name"].endswith("/") and one["name"] not in known]
    size = sum(int(one.get("bytes", 0)) for one in wanted)
    if len(wanted) > MOST_FILES:
        raise RequestLimitExceeded(f"A files_container may hold {MOST_FILES} files; {container!r} has {len(wanted)}.")
    if size > most_bytes:
        raise RequestLimitExceeded(
            f"max_json_body_size: a request's files may have {most_bytes} bytes; those in {container!r} have {size}."
        )
    names = [str(one["name"]) for one in wanted]
    contents = await asyncio.gather(*(cloud.call(SERVICE, "download_object", name, container) for name in names))
    return {name: text_of(content) for name, content in zip(names, contents, strict=True)}
