"""URLs in answers. They carry the host the client asked for, so that they work behind a proxy."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote

from aiohttp import web

from calor.server.engine.contract.views import StackIdentity

Link = Mapping[str, str]

_STACKS: web.RequestKey[dict[StackIdentity, str]] = web.RequestKey("stack_urls", dict)
_SAFE = re.compile(r"[A-Za-z0-9_.~-]+")


def base_url(request: web.Request) -> str:
    """``scheme://host/v1`` as the client sees it (X-Forwarded-Proto and -Prefix are honoured)."""
    scheme = request.headers.get("X-Forwarded-Proto", request.scheme).split(",")[0].strip()
    prefix = request.headers.get("X-Forwarded-Prefix", "").rstrip("/")
    return f"{scheme}://{request.host}{prefix}/v1"


def stack_url(request: web.Request, stack: StackIdentity, *more: str) -> str:
    """The beginning, which all links of a list share, is put together once a request."""
    known = request.get(_STACKS)
    if known is None:
        known = request[_STACKS] = {}
    url = known.get(stack)
    if url is None:
        parts = (stack.project_id, "stacks", stack.name, stack.id)
        url = known[stack] = f"{base_url(request)}/{'/'.join(map(_quoted, parts))}"
    return "/".join((url, *map(_quoted, more)))


def _quoted(part: str) -> str:
    return part if _SAFE.fullmatch(part) else quote(part, safe="")


def link(href: str, rel: str) -> Link:
    return {"href": href, "rel": rel}


def time_text(at: datetime | None) -> str | None:
    """ISO 8601 in UTC to the second, ending Z. A time without a zone is UTC."""
    if at is None:
        return None
    return (at if at.tzinfo is None else at.astimezone(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")
