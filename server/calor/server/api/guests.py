"""The guest protocol, version 1 (docs/architecture.md)."""

import random
import re
from datetime import UTC, datetime

from aiohttp import web

from calor.server.api import cfn
from calor.server.api.bodies import read_map
from calor.server.api.calls import json_answer
from calor.server.api.faults import HTTPBadRequest, HTTPForbidden
from calor.server.api.keys import ORCHESTRATOR
from calor.server.api.middlewares import WHO
from calor.server.api.queries import number
from calor.server.engine.contract.services import Guests
from calor.server.engine.contract.views import InstanceIdentity
from calor.server.errors import Unauthorized

PROTOCOL = 1
_LONGEST_WAIT = 60
_SHORTEST_SHARE = 0.85
_SHA256 = re.compile(r"[0-9a-f]{64}")


def _guests(request: web.Request) -> Guests:
    return request.app[ORCHESTRATOR].guests


async def _instance(request: web.Request) -> InstanceIdentity:
    """Whose bearer token it is; it must be that of the instance in the path."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() != "bearer" or not token:
        raise Unauthorized("The request has no bearer token.")
    who = await _guests(request).instance_of_bearer(token.strip())
    if who.resource_id != request.match_info["instance_id"]:
        raise HTTPForbidden("The token belongs to another instance.")
    request[WHO] = f"instance {who.resource_id}"
    return who


def _text(body: dict[str, object], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise HTTPBadRequest(f"'{name}' must be a text.")
    return value


async def agent_file(request: web.Request) -> web.Response:
    """The agent, by its hash: needs no token, never changes."""
    content = _guests(request).agent_file(request.match_info["sha256"])
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return web.Response(body=content, content_type="application/zip", headers=headers)


async def enrol(request: web.Request) -> web.Response:
    body = await read_map(request)
    secret_hash = _text(body, "secret_hash").lower()
    if not _SHA256.fullmatch(secret_hash):
        raise HTTPBadRequest("'secret_hash' must be a SHA-256 in hexadecimal.")
    await _guests(request).enrol(request.match_info["instance_id"], _text(body, "bootstrap_token"), secret_hash)
    return json_answer({})


async def token(request: web.Request) -> web.Response:
    secret = _text(await read_map(request), "secret")
    minted, seconds = await _guests(request).mint(request.match_info["instance_id"], secret)
    return json_answer({"token": minted, "expires_in": seconds})


async def deployments(request: web.Request) -> web.Response:
    """Long poll: 204 when nothing newer than ``since`` came within ``wait`` seconds, or a little less: agents that came
    together, as after a restart of this process, are not to come back together for ever."""
    who = await _instance(request)
    since, wait = number(request, "since") or 0, min(number(request, "wait") or 0, _LONGEST_WAIT)
    found = await _guests(request).deployments(who, since=since, wait=wait * random.uniform(_SHORTEST_SHARE, 1.0))
    if found is None:
        return web.Response(status=204)
    return json_answer(
        {
            "protocol": PROTOCOL,
            "version": found.version,
            "deployments": [dict(one) for one in found.deployments],
            "cancelled": list(found.cancelled),
        }
    )


async def heartbeat(request: web.Request) -> web.Response:
    who = await _instance(request)
    moot = await _guests(request).heartbeat(who, await read_map(request))
    return json_answer({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "cancelled": list(moot)})


async def output(request: web.Request) -> web.Response:
    """What a run prints, while it runs. ``next`` null: nobody wants it any more."""
    who = await _instance(request)
    body = await read_map(request)
    for name in ("run_id", "deployment_id"):
        _text(body, name)
    found = await _guests(request).output(who, body)
    return json_answer({"next": None if found is None else dict(found)})


async def verdict(request: web.Request) -> web.Response:
    """What the instance's cloud-init came to."""
    who = await _instance(request)
    body = await read_map(request)
    _text(body, "status")
    await _guests(request).verdict(who, body)
    return json_answer({})


async def cloudformation(request: web.Request) -> web.Response:
    """An action of the CFN Query API for an instance that has no key pair; parameters as a map, AWS's XML back."""
    who = await _instance(request)
    body = await read_map(request)
    params = {name: value for name, value in body.items() if isinstance(value, str)}
    return await cfn.act(request, who, _text(body, "Action"), params)


async def results(request: web.Request) -> web.Response:
    who = await _instance(request)
    body = await read_map(request)
    for name in ("run_id", "deployment_id", "outcome"):
        _text(body, name)
    return json_answer({"known": not await _guests(request).result(who, body)})
