"""URLs in answers. They carry the host the client asked for, so that they work behind a proxy."""

from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote

from aiohttp import web

from calor.server.engine.views import StackIdentity

Link = Mapping[str, str]


def base_url(request: web.Request) -> str:
    """``scheme://host/v1`` as the client sees it (X-Forwarded-Proto and -Prefix are honoured)."""
    scheme = request.headers.get("X-Forwarded-Proto", request.scheme).split(",")[0].strip()
    prefix = request.headers.get("X-Forwarded-Prefix", "").rstrip("/")
    return f"{scheme}://{request.host}{prefix}/v1"


def stack_url(request: web.Request, stack: StackIdentity, *more: str) -> str:
    parts = (stack.project_id, "stacks", stack.name, stack.id, *more)
    return f"{base_url(request)}/{'/'.join(quote(part, safe='') for part in parts)}"


def link(href: str, rel: str) -> Link:
    return {"href": href, "rel": rel}


def time_text(at: datetime | None) -> str | None:
    """ISO 8601 in UTC to the second, ending Z. A time without a zone is UTC."""
    if at is None:
        return None
    return (at if at.tzinfo is None else at.astimezone(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")
