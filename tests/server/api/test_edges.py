"""What holds for every URL: tokens, projects, methods, versions, roles."""

import asyncio
import http.client
import json
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).parents[4] / "shared/reference/api-cases.json"


@pytest.mark.parametrize("token", [None, "", "wrong:proj1", "x" * 20_000])
async def test_a_wrong_token_is_a_401_that_says_where_tokens_come_from(
    aiohttp_client: Any, rest_app: Any, token: Any
) -> None:
    client = await aiohttp_client(rest_app)
    answer = await client.get("/v1/proj1/stacks", headers={"X-Auth-Token": token} if token is not None else {})
    assert answer.status in {400, 401}
    if len(token or "") < 8000:
        assert answer.headers["WWW-Authenticate"] == 'Keystone uri="http://keystone.example:5000"'
        assert (await answer.json())["error"]["type"] == "HTTPUnauthorized"


@pytest.mark.parametrize(
    "path", ["proj2", "PROJ1", "proj1%00", "%70roj2", "proj1%2e", "proj1%2f..", ".", "%2e%2e", "proj1 "]
)
async def test_f157_another_project_in_the_path_is_refused(rest: Any, path: str) -> None:
    for more in ("/stacks", "/stacks/a/b", "/software_configs", "/services", "/build_info", "/resource_types"):
        answer = await rest.get(f"/v1/{path}{more}")
        assert answer.status in {403, 404}, (path, more)


async def test_f157_every_route_compares_the_project(rest: Any, rest_app: Any) -> None:
    tried = 0
    for route in rest_app.router.routes():
        pattern = route.resource.canonical
        if not pattern.startswith("/v1/{tenant_id}"):
            continue
        path = pattern.replace("{tenant_id}", "proj2").replace("{more}", "events").replace("{", "").replace("}", "")
        answer = await rest.request(route.method, path, json={"suspend": None})
        assert answer.status == 403, path
        assert (await answer.json())["error"]["type"] == "HTTPForbidden"
        tried += 1
    assert tried > 50


async def test_f157_double_slashes_reach_nothing(rest: Any) -> None:
    for path in ("//v1/proj2/stacks", "/v1//proj2/stacks", "/v1/proj1//stacks", "/v1/proj1/../proj2/stacks"):
        assert await asyncio.to_thread(raw_status, rest.port, path) in {400, 403, 404}, path


def raw_status(port: int, path: str) -> int:
    """Send a path as it stands, which a sane client would not."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", path, headers={"X-Auth-Token": "member:proj1"})
    status = connection.getresponse().status
    connection.close()
    return status


async def test_another_tenants_stack_is_not_found(rest: Any, aiohttp_client: Any, rest_app: Any) -> None:
    made = await rest.post("/v1/proj1/stacks", json={"stack_name": "mine", "template": {}})
    ident = (await made.json())["stack"]["id"]
    for path in (f"/v1/proj2/stacks/mine/{ident}", "/v1/proj2/stacks/mine", f"/v1/proj2/stacks/{ident}"):
        answer = await rest.get(path, headers={"X-Auth-Token": "member:proj2"}, allow_redirects=False)
        assert answer.status == 404


async def test_methods_and_urls_that_are_not_there(rest: Any) -> None:
    options = await rest.options("/v1/proj1/stacks")
    assert (options.status, options.headers["Allow"]) == (204, "GET,POST")
    for method, path, status in (
        ("HEAD", "/v1/proj1/stacks", 405),
        ("PATCH", "/v1/proj1/stacks", 405),
        ("GET", "/v1/proj1/nothing", 404),
        ("GET", "/elsewhere", 404),
        ("DELETE", "/v1/proj1/stacks/a/b/template", 405),
    ):
        assert (await rest.request(method, path)).status == status, (method, path)
    body = await (await rest.get("/v1/proj1/nothing")).json()
    assert (body["title"], body["code"]) == ("Not Found", 404)


@pytest.mark.parametrize("path", ["/", "/versions", "/v1", "/v1/"])
async def test_the_versions_need_no_token(aiohttp_client: Any, rest_app: Any, path: str) -> None:
    client = await aiohttp_client(rest_app)
    answer = await client.get(path)
    body = await answer.json()
    assert answer.status == 300
    assert [(one["id"], one["status"]) for one in body["versions"]] == [("v1.0", "CURRENT")]


async def test_healthcheck_needs_no_token(aiohttp_client: Any, rest_app: Any) -> None:
    assert (await (await aiohttp_client(rest_app)).get("/healthcheck")).status == 200


def role_cases() -> list[tuple[str, str, str, Any, int]]:
    scenario = next(one for one in json.loads(CASES.read_text())["scenarios"] if one["name"] == "roles")
    found = []
    for step in scenario["steps"]:
        asked = step.get("request", {})
        if asked.get("roles") in {"reader", "heat_stack_user", "nothing"}:
            found.append(
                (asked["roles"], asked["method"], asked["path"], asked.get("body"), step["response"]["status"])
            )
    return found


@pytest.mark.skipif(not CASES.exists(), reason="the reference facts are not here")
@pytest.mark.parametrize("case", role_cases() if CASES.exists() else [], ids=lambda case: " ".join(map(str, case[:3])))
async def test_roles_may_what_heat_lets_them(rest: Any, case: Any) -> None:
    """Heat's own answers, down to forbidden or not; what the memory engine cannot know is left open."""
    role, method, path, body, status = case
    made = await rest.post("/v1/proj1/stacks", json={"stack_name": "ro", "template": {}})
    ident = (await made.json())["stack"]["id"]
    token = {"heat_stack_user": "guest"}.get(role, role)
    answer = await rest.request(
        method,
        "/v1/proj1" + path.replace("{id:ro}", ident),
        json=body,
        headers={"X-Auth-Token": f"{token}:proj1"},
        allow_redirects=False,
    )
    if "metadata" in path and role == "heat_stack_user":
        assert answer.status == 200  # the policy allows it; Heat's engine refuses users of other resources
    elif "signal" in path and status == 400:
        assert answer.status == 200  # the memory engine takes every signal
    else:
        assert (answer.status == 403) == (status == 403)
        assert answer.status == status
