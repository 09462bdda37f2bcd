"""A request that has been authenticated and allowed: what the handlers of REST v1 get."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from aiohttp import web

from calor.server.api.bodies import read_map
from calor.server.api.faults import HTTPForbidden
from calor.server.api.keys import ORCHESTRATOR, POLICY, SETTINGS, TOKENS
from calor.server.api.middlewares import REQUEST_ID, WHO
from calor.server.config import Limits
from calor.server.engine.contract.services import Orchestrator
from calor.server.errors import Unauthorized
from calor.server.identity.callers import Caller

Handler = Callable[["Call"], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Call:
    """One allowed request."""

    request: web.Request
    caller: Caller

    @property
    def services(self) -> Orchestrator:
        return self.request.app[ORCHESTRATOR]

    @property
    def limits(self) -> Limits:
        return self.request.app[SETTINGS].limits

    def path(self, name: str) -> str:
        """A part of the path, unquoted."""
        return self.request.match_info[name]

    @property
    def stack(self) -> tuple[str, str]:
        """The stack's name and id, as the path has them."""
        return self.path("stack_name"), self.path("stack_id")

    async def body(self) -> dict[str, Any]:
        return await read_map(self.request)

    def require(self, rule: str) -> None:
        """A rule beyond the route's own. Raises `Forbidden`."""
        self.request.app[POLICY].require(self.caller, rule)


async def authenticate(request: web.Request) -> Caller:
    """Whose X-Auth-Token it is. Raises `Unauthorized`, or `ServiceUnavailable` when Keystone is away."""
    token = request.headers.get("X-Auth-Token", "")
    if not token:
        raise Unauthorized("The request has no X-Auth-Token.")
    caller = await request.app[TOKENS].validate(token)
    request[WHO] = f"{caller.user_id}@{caller.project_id}"
    return replace(caller, request_id=request[REQUEST_ID])


async def authorise(request: web.Request, rule: str | None) -> Call:
    """Authenticate; the path's project must be the token's own (F157); the rule must allow it."""
    caller = await authenticate(request)
    if not caller.project_id or request.match_info["tenant_id"] != caller.project_id:
        raise HTTPForbidden("The project in the URL is not the project of the token.")
    if rule is not None:
        request.app[POLICY].require(caller, rule)
    return Call(request, caller)


def json_answer(value: Mapping[str, Any] | None, *, status: int = 200) -> web.Response:
    """Without ``charset``, as Heat's: there are clients that compare the header."""
    return web.Response(body=json.dumps(value).encode(), status=status, content_type="application/json")


def accepted() -> web.Response:
    """Heat's answer to what will be done later."""
    return web.Response(status=202, text="202 Accepted\n\nThe request is accepted for processing.\n")
