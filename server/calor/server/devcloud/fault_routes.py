"""``/faults``: scripting the fault layer over HTTP, with the admin token of the state directory."""

import hmac
from collections.abc import Awaitable, Callable

from aiohttp import web

from calor.server.devcloud.cloud import Cloud
from calor.server.devcloud.faults import Rule

HEADER = "X-Admin-Token"


def routes(cloud: Cloud) -> list[web.RouteDef]:
    """GET lists, POST adds one rule, DELETE clears."""

    def guarded(handler: Callable[[web.Request], Awaitable[web.Response]]) -> Callable[..., Awaitable[web.Response]]:
        async def checked(request: web.Request) -> web.Response:
            if not hmac.compare_digest(request.headers.get(HEADER, ""), cloud.admin_token):
                return web.json_response({"error": f"the header {HEADER} must carry the admin token"}, status=401)
            return await handler(request)

        return checked

    async def listed(request: web.Request) -> web.Response:
        return web.json_response({"faults": [rule.as_json() for rule in cloud.faults.rules]})

    async def added(request: web.Request) -> web.Response:
        try:
            rule = cloud.faults.add(Rule.from_json(await request.json()))
        except (ValueError, TypeError) as exc:
            return web.json_response({"error": str(exc)}, status=400)
        return web.json_response(rule.as_json(), status=201)

    async def cleared(request: web.Request) -> web.Response:
        cloud.faults.clear()
        return web.Response(status=204)

    return [
        web.get("/faults", guarded(listed)),
        web.post("/faults", guarded(added)),
        web.delete("/faults", guarded(cleared)),
    ]
