"""REST v1 for agents that logged in at our own ``/v3``: metadata, deployments and signals of one server."""

from aiohttp import web

from calor.server.api.bodies import read_map
from calor.server.api.calls import json_answer
from calor.server.api.faults import HTTPForbidden
from calor.server.api.keys import ORCHESTRATOR
from calor.server.api.middlewares import WHO
from calor.server.engine.contract.views import InstanceIdentity


async def _agent(request: web.Request) -> InstanceIdentity:
    """Whose X-Auth-Token it is; the path must be of its own project and stack."""
    who = await request.app[ORCHESTRATOR].guests.instance_of_bearer(request.headers["X-Auth-Token"])
    parts = request.match_info
    if parts["tenant_id"] != who.project_id or parts.get("stack_id", who.stack_id) != who.stack_id:
        raise HTTPForbidden("The token of an instance opens its own stack only.")
    request[WHO] = f"instance {who.resource_id}"
    return who


async def metadata(request: web.Request) -> web.Response:
    who = await _agent(request)
    parts = request.match_info
    found = await request.app[ORCHESTRATOR].guests.metadata(who, parts["stack_name"], parts["resource_name"])
    return json_answer({"metadata": found})


async def signal(request: web.Request) -> web.Response:
    who = await _agent(request)
    parts = request.match_info
    details = await read_map(request)
    await request.app[ORCHESTRATOR].guests.signal(
        who, parts["stack_name"], parts["stack_id"], parts["resource_name"], details
    )
    return json_answer(None)


async def deployments(request: web.Request) -> web.Response:
    """Its own deployments, whichever server the path names."""
    who = await _agent(request)
    found = await request.app[ORCHESTRATOR].guests.deployments(who, since=-1, wait=0)
    return json_answer({"metadata": [dict(one) for one in found.deployments] if found else []})
