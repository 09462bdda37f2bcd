"""A small Keystone v3 for agents with a password: unmodified os-collect-config and heat-config-notify log in here.

The token is good for one server's metadata, deployments and signals; its catalog holds our own listeners only.
"""

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import web

from calor.server.api.bodies import read_map
from calor.server.api.faults import HTTPBadRequest
from calor.server.api.keys import ORCHESTRATOR, SETTINGS
from calor.server.engine.contract.views import InstanceIdentity
from calor.server.errors import Unauthorized

_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"


async def version(request: web.Request) -> web.Response:
    """What a client looks at before it logs in."""
    return web.json_response(
        {
            "version": {
                "id": "v3.14",
                "status": "stable",
                "updated": "2020-04-07T00:00:00Z",
                "links": [{"rel": "self", "href": f"{request.app[SETTINGS].guest_urls.orchestration}/v3/"}],
                "media-types": [
                    {"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"},
                ],
            }
        }
    )


async def create_token(request: web.Request) -> web.Response:
    """``POST /v3/auth/tokens`` with method password. Raises `Unauthorized`."""
    user_id, password = _password(await read_map(request))
    who, token = await request.app[ORCHESTRATOR].guests.instance_of_password(user_id, password)
    now = datetime.now(UTC)
    expires = now + timedelta(seconds=request.app[SETTINGS].instance_token_lifetime)
    body = {
        "token": {
            "methods": ["password"],
            "user": {"id": user_id, "name": user_id, "domain": {"id": "calor", "name": "calor"}},
            "project": {"id": who.project_id, "name": who.project_id, "domain": {"id": "calor", "name": "calor"}},
            "roles": [{"id": "heat_stack_user", "name": "heat_stack_user"}],
            "is_domain": False,
            "audit_ids": [uuid.uuid4().hex],
            "issued_at": now.strftime(_TIME),
            "expires_at": expires.strftime(_TIME),
            "catalog": _catalog(request, who),
        }
    }
    return web.json_response(body, status=201, headers={"X-Subject-Token": token})


def _password(body: Mapping[str, Any]) -> tuple[str, str]:
    """The user's id and password; agents know their id, and use it as the name too."""
    try:
        user = body["auth"]["identity"]["password"]["user"]
        user_id, password = user.get("id") or user["name"], user["password"]
    except (KeyError, TypeError, AttributeError) as exc:
        raise HTTPBadRequest("Only the method 'password' with a user's id is known here.") from exc
    if not isinstance(user_id, str) or not isinstance(password, str):
        raise Unauthorized("The user's id and password must be texts.")
    return user_id, password


def _catalog(request: web.Request, who: InstanceIdentity) -> list[dict[str, Any]]:
    settings = request.app[SETTINGS]
    urls = {
        "orchestration": f"{settings.guest_urls.orchestration}/v1/{who.project_id}",
        "cloudformation": f"{settings.guest_urls.cfn}/v1",
        "messaging": settings.guest_urls.orchestration,
        "identity": f"{settings.guest_urls.orchestration}/v3",
    }
    return [
        {
            "id": kind,
            "type": kind,
            "name": kind,
            "endpoints": [
                {
                    "id": f"{kind}-{interface}",
                    "interface": interface,
                    "region": settings.region,
                    "region_id": settings.region,
                    "url": url,
                }
                for interface in ("public", "internal", "admin")
            ],
        }
        for kind, url in urls.items()
    ]
