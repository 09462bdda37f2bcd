"""Messaging v2 (Zaqar): queues, messages and claims."""

from aiohttp import web

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Service, get
from calor.server.devcloud.zaqar import claims, discovery, messages, queues


def refuse(error: ApiError) -> web.Response:
    body = {"title": error.kind or "Error", "description": error.message}
    return web.json_response(body, status=error.status, headers=error.headers)


ZAQAR = Service(
    type="messaging",
    name="zaqar",
    prefix="/messaging",
    endpoint="/messaging",
    routes=(
        get("", discovery.versions, public=True),
        get("/", discovery.versions, public=True),
        get("/v2", discovery.home),
        get("/v2/", discovery.home),
        *queues.ROUTES,
        *messages.ROUTES,
        *claims.ROUTES,
    ),
    refuse=refuse,
)
