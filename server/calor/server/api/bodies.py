"""Reading bodies: JSON whatever the Content-Type says (F043), no larger than allowed."""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from aiohttp import web

from calor.server.api.faults import HTTPBadRequest
from calor.server.api.keys import SETTINGS
from calor.server.errors import RequestLimitExceeded


async def read_bytes(request: web.Request) -> bytes:
    """Raises `RequestLimitExceeded` without reading on when the body is larger than max_json_body_size."""
    limit = request.app[SETTINGS].limits.max_json_body_size
    if (request.content_length or 0) > limit:
        _too_large(limit, request.content_length)
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > limit:
            _too_large(limit, None)
    return bytes(body)


async def read_map(request: web.Request) -> dict[str, Any]:
    """The JSON object in the body; nothing is an empty one. Raises `HTTPBadRequest`."""
    return as_map(await read_bytes(request))


def as_map(body: bytes) -> dict[str, Any]:
    """Raises `HTTPBadRequest`."""
    if not body.strip():
        return {}
    value = parse(body)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise HTTPBadRequest(f"The body must be a JSON object, not {_kind(value)}.")
    return value


def parse(body: bytes) -> Any:
    """Any JSON value, strictly: no NaN, no half surrogates, no bottomless nesting. Raises `HTTPBadRequest`."""
    try:
        text = body.decode("utf-8-sig")
        value = json.loads(text, parse_constant=_no_constant)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as exc:
        raise HTTPBadRequest(f"The body is not UTF-8 at byte {exc.start}.") from exc
    except UnicodeEncodeError as exc:
        raise HTTPBadRequest("The body has half of a surrogate pair, which is no character.") from exc
    except json.JSONDecodeError as exc:
        raise HTTPBadRequest(f"The body is not JSON: line {exc.lineno}, column {exc.colno}: {exc.msg}.") from exc
    except (ValueError, RecursionError) as exc:
        raise HTTPBadRequest(f"The body is not JSON that can be read: {exc}.") from exc
    return value


def required_map(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A map in the body, {} when absent or null. Raises `HTTPBadRequest`."""
    value = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise HTTPBadRequest(f"'{name}' must be a map, not {_kind(value)}.")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _kind(value: Any) -> str:
    names = {list: "a list", str: "a text", bool: "a boolean", int: "a number", float: "a number", dict: "a map"}
    return names.get(type(value), "null")


def _too_large(limit: int, size: int | None) -> NoReturn:
    sent = f"{size} bytes" if size else "more"
    raise RequestLimitExceeded(f"The body is too large: max_json_body_size is {limit} bytes, {sent} came.")
