"""Messaging v2 (Zaqar) for agents that logged in at our own ``/v3``: their own queues, relayed to the cloud's service.

Its address is in the catalog of their token; unmodified os-collect-config and heat-config-notify take it from there.
"""

from typing import Any

from aiohttp import web

from calor.server.api.bodies import parse, read_bytes
from calor.server.api.keys import ORCHESTRATOR
from calor.server.api.middlewares import WHO
from calor.server.errors import Unauthorized

VERSIONS = ("v2", "v1.1")
"""The older is what OpenStack's heat-config-notify speaks; for messages they are alike."""


async def queue(request: web.Request) -> web.Response:
    """That a queue is there: it is made by the server, and a client that wants to make it is told that it did."""
    await _who(request)
    return web.Response(status=204)


async def relay(request: web.Request) -> web.Response:
    """Messages and claims of a queue."""
    who = await _who(request)
    text = await read_bytes(request)
    parts = request.match_info
    answer = await request.app[ORCHESTRATOR].queues.call(
        who, request.method.lower(), parts["queue"], parts["rest"], dict(request.query), parse(text) if text else None
    )
    return _answer(request.method, answer)


async def _who(request: web.Request) -> Any:
    token = request.headers.get("X-Auth-Token", "")
    if not token:
        raise Unauthorized("The request has no X-Auth-Token.")
    who = await request.app[ORCHESTRATOR].guests.instance_of_bearer(token)
    request[WHO] = f"instance {who.resource_id}"
    return who


def _answer(method: str, body: Any) -> web.Response:
    """With the status that the service gives for such an answer."""
    if not body:
        return web.Response(status=204)
    return web.json_response(body, status=201 if method == "POST" else 200)
