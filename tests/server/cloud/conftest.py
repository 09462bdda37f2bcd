"""A small cloud over real HTTP: Keystone's tokens and a compute service whose next answers a test decides."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from calor.server.cloud.credentials import CredentialKind, Credentials
from calor.server.cloud.door import Cloud
from calor.server.cloud.sdk import SdkDoor
from calor.server.cloud.settings import CloudSettings


@dataclass
class FakeCloud:
    """``plan`` is asked before each compute call; an answer of its own takes the place of the usual one."""

    url: str = ""
    servers: dict[str, dict[str, Any]] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    lifetime: int = 3600
    plan: Callable[[web.Request, "FakeCloud"], Any] = lambda request, cloud: None
    times: list[float] = field(default_factory=list)

    def application(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/v3", self.version)
        app.router.add_get("/v3/", self.version)
        app.router.add_post("/v3/auth/tokens", self.token)
        app.router.add_get("/v3/auth/tokens", self.token)
        app.router.add_get("/v2.1", self.compute_version)
        app.router.add_get("/v2.1/", self.compute_version)
        app.router.add_route("*", "/v2.1/{path:.*}", self.compute)
        return app

    async def version(self, request: web.Request) -> web.Response:
        return web.json_response(
            {"version": {"id": "v3.14", "status": "stable", "links": [{"rel": "self", "href": f"{self.url}/v3/"}]}}
        )

    async def compute_version(self, request: web.Request) -> web.Response:
        links = [{"rel": "self", "href": f"{self.url}/v2.1/"}]
        about = {"id": "v2.1", "status": "CURRENT", "version": "2.90", "min_version": "2.1", "links": links}
        return web.json_response({"version": about})

    async def token(self, request: web.Request) -> web.Response:
        self.calls["token"] += 1
        endpoint = {"interface": "public", "region": "R1", "region_id": "R1", "url": f"{self.url}/v2.1", "id": "e"}
        other = {**endpoint, "region": "R2", "region_id": "R2", "url": "http://r2.example/v2.1"}
        token = {
            "methods": ["password"],
            "user": {"id": "u", "name": "u", "domain": {"id": "default", "name": "Default"}},
            "project": {"id": "p", "name": "p", "domain": {"id": "default", "name": "Default"}},
            "roles": [{"id": "r", "name": "member"}],
            "expires_at": "2999-01-01T00:00:00.000000Z",
            "issued_at": "2020-01-01T00:00:00.000000Z",
            "catalog": [{"type": "compute", "id": "c", "name": "nova", "endpoints": [endpoint, other]}],
        }
        status = 201 if request.method == "POST" else 200
        return web.json_response({"token": token}, status=status, headers={"X-Subject-Token": "t"})

    async def compute(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        self.calls[f"{request.method} {path}"] += 1
        self.times.append(asyncio.get_running_loop().time())
        body = await request.json() if request.can_read_body else None
        answer = self.plan(request, self)
        if answer == "lose":
            self.make(body)
        if answer in ("lose", "drop"):
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if answer is not None:
            status, content, headers = answer
            return web.Response(
                status=status, text=json.dumps(content), content_type="application/json", headers=headers
            )
        return self.usual(request.method, path, body)

    def make(self, body: Any) -> dict[str, Any]:
        ident = f"00000000-0000-0000-0000-{len(self.servers):012}"
        self.servers[ident] = {"id": ident, "status": "ACTIVE", **(body or {}).get("server", {})}
        return self.servers[ident]

    def usual(self, method: str, path: str, body: Any) -> web.Response:
        if method == "POST":
            return web.json_response({"server": self.make(body)}, status=202)
        if path == "servers/detail":
            return web.json_response({"servers": list(self.servers.values())})
        ident = path.partition("/")[2]
        if ident not in self.servers:
            message = {"message": f"Instance {ident} could not be found.", "code": 404}
            return web.json_response({"itemNotFound": message}, status=404)
        if method == "DELETE":
            del self.servers[ident]
            return web.Response(status=204)
        return web.json_response({"server": self.servers[ident]})


@pytest.fixture
async def fake() -> AsyncIterator[FakeCloud]:
    fake = FakeCloud()
    runner = web.AppRunner(fake.application())
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    fake.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield fake
    await runner.cleanup()


@pytest.fixture
async def door(fake: FakeCloud) -> AsyncIterator[SdkDoor]:
    settings = CloudSettings(
        auth_url=f"{fake.url}/v3", username="heat", password="x", region="R1", threads=8, patience=30.0
    )
    door = SdkDoor(settings)
    yield door
    await door.close()


@pytest.fixture
def cloud(door: SdkDoor) -> Cloud:
    return door.open(Credentials(kind=CredentialKind.TRUST, project_id="p", user_id="u", ident="trust"))
