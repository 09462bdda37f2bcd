"""Token validation against a Keystone that answers over HTTP, and against the lab's real one where it runs."""

import asyncio
import socket
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web

from calor.server.auth import KeystoneTokens
from calor.server.auth.keystone import validated
from calor.server.config import Keystone
from calor.server.errors import ServiceUnavailable, Unauthorized

SOON = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%S.000000Z")


def body(**more: Any) -> dict[str, Any]:
    return {
        "user": {"id": "u", "name": "demo", "domain": {"id": "default", "name": "Default"}},
        "project": {"id": "p", "name": "demo", "domain": {"id": "default", "name": "Default"}},
        "roles": [{"id": "1", "name": "member"}, {"id": "2", "name": "reader"}],
        "methods": ["password"],
        "issued_at": "2026-01-01T00:00:00.000000Z",
        "expires_at": SOON,
        **more,
    }


class SmallKeystone:
    """Logs in the user ``calor`` with password ``pw``; knows the token ``good``."""

    def __init__(self) -> None:
        self.checks = 0
        self.app = web.Application()
        self.app.router.add_get("/v3", self.version)
        self.app.router.add_post("/v3/auth/tokens", self.log_in)
        self.app.router.add_get("/v3/auth/tokens", self.check)

    async def version(self, request: web.Request) -> web.Response:
        link = {"rel": "self", "href": f"http://{request.host}/v3/"}
        return web.json_response({"version": {"id": "v3.14", "status": "stable", "links": [link]}})

    async def log_in(self, request: web.Request) -> web.Response:
        user = (await request.json())["auth"]["identity"]["password"]["user"]
        if (user["name"], user["password"]) != ("calor", "pw"):
            return web.json_response({"error": {"code": 401, "message": "no", "title": "Unauthorized"}}, status=401)
        return web.json_response({"token": body(catalog=[])}, status=201, headers={"X-Subject-Token": "service"})

    async def check(self, request: web.Request) -> web.Response:
        self.checks += 1
        assert request.headers["X-Auth-Token"] == "service"
        if request.headers["X-Subject-Token"] != "good":
            return web.json_response({"error": {"code": 404, "message": "no", "title": "Not Found"}}, status=404)
        return web.json_response({"token": body()})


@pytest.fixture
async def keystone(aiohttp_server: Any) -> Any:
    small = SmallKeystone()
    server = await aiohttp_server(small.app)
    return small, str(server.make_url("/v3"))


async def test_a_token_gives_its_caller(keystone: Any) -> None:
    small, url = keystone
    tokens = KeystoneTokens(Keystone(auth_url=url, username="calor", password="pw"))
    callers = await asyncio.gather(*(tokens.validate("good") for _ in range(5)))
    assert {(one.user_id, one.project_id, one.user_name) for one in callers} == {("u", "p", "demo")}
    assert callers[0].roles == {"member", "reader"}
    assert callers[0].token == "good"
    assert "good" not in repr(callers[0])
    assert small.checks == 1
    with pytest.raises(Unauthorized):
        await tokens.validate("bad")
    await tokens.close()


@pytest.mark.parametrize("token", ["", "a b", "ü", "a\nb", "x" * 20_000])
async def test_what_cannot_be_a_token_is_not_asked_about(keystone: Any, token: str) -> None:
    small, url = keystone
    tokens = KeystoneTokens(Keystone(auth_url=url, username="calor", password="pw"))
    with pytest.raises(Unauthorized):
        await tokens.validate(token)
    assert small.checks == 0
    await tokens.close()


async def test_a_service_user_that_cannot_log_in_is_a_503_and_a_line_in_the_log(keystone: Any, caplog: Any) -> None:
    _, url = keystone
    tokens = KeystoneTokens(Keystone(auth_url=url, username="calor", password="wrong"))
    await tokens.warm_up()
    (at_start,) = caplog.records
    assert at_start.levelname == "ERROR"
    assert at_start.getMessage().startswith(f"Keystone at {url} refuses user calor (401): check username, password")
    caplog.clear()
    with pytest.raises(ServiceUnavailable, match="refuses this server's own user"):
        await tokens.validate("good")
    assert f"Keystone at {url} refuses user calor (401)" in caplog.text
    assert "wrong" not in caplog.text
    await tokens.close()


async def test_a_keystone_that_is_away_is_a_503(caplog: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    tokens = KeystoneTokens(Keystone(auth_url=f"http://127.0.0.1:{port}/v3", username="calor", password="pw"))
    await tokens.warm_up()
    at_start = caplog.records[-1]
    assert at_start.levelname == "WARNING"
    assert at_start.getMessage().startswith(f"Keystone at http://127.0.0.1:{port}/v3 does not answer: ")
    with pytest.raises(ServiceUnavailable, match="does not answer"):
        await tokens.validate("good")
    await tokens.close()


def test_the_challenge_names_the_public_keystone() -> None:
    options = Keystone(auth_url="http://inside/v3", www_authenticate_uri="https://keystone.example")
    assert KeystoneTokens(options).www_authenticate == 'Keystone uri="https://keystone.example"'


@pytest.mark.parametrize(
    ("more", "facts"),
    [
        ({}, (False, False, False)),
        ({"application_credential": {"id": "a", "restricted": True}}, (True, False, False)),
        ({"application_credential": {"id": "a", "restricted": False}}, (False, False, False)),
        ({"OS-TRUST:trust": {"id": "t"}}, (True, False, False)),
        ({"roles": [{"name": "admin"}]}, (False, True, False)),
        ({"roles": [{"name": "admin"}], "is_admin_project": False}, (False, False, False)),
        ({"system": {"all": True}}, (False, False, True)),
    ],
)
def test_what_a_token_says_of_its_owner(more: dict[str, Any], facts: tuple[bool, bool, bool]) -> None:
    caller = validated("t", body(**more)).caller
    assert (caller.restricted, caller.is_admin, caller.system_scope) == facts


def test_an_unscoped_token_has_no_project() -> None:
    unscoped = body()
    del unscoped["project"], unscoped["roles"]
    assert validated("t", unscoped).caller.project_id == ""
