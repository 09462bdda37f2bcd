"""The guest protocol, our own /v3, and what its token opens."""

import asyncio
from typing import Any

import pytest

from calor.server.identity import hash_secret

HERE = "/guest/v1/instances/srv"


@pytest.fixture
async def guest(aiohttp_client: Any, rest_app: Any) -> Any:
    return await aiohttp_client(rest_app)


async def test_an_instance_enrols_and_polls(guest: Any, engine: Any) -> None:
    bootstrap = engine.guests.bootstraps.mint("srv")
    body = {"bootstrap_token": bootstrap, "secret_hash": hash_secret("geheim")}
    for _ in range(2):
        assert (await guest.post(f"{HERE}/enrol", json=body)).status == 200
    other = await guest.post(f"{HERE}/enrol", json={**body, "secret_hash": hash_secret("other")})
    assert other.status == 409
    assert (await guest.post(f"{HERE}/enrol", json={**body, "bootstrap_token": "x"})).status == 403
    assert (await guest.post(f"{HERE}/token", json={"secret": "wrong"})).status == 401
    minted = await (await guest.post(f"{HERE}/token", json={"secret": "geheim"})).json()
    headers = {"Authorization": f"Bearer {minted['token']}"}
    polled = await (await guest.get(f"{HERE}/deployments?since=0&wait=25", headers=headers)).json()
    assert polled == {
        "protocol": 1,
        "version": 7,
        "deployments": [{"id": "c1", "group": "script"}],
        "cancelled": [],
    }
    assert (await guest.get(f"{HERE}/deployments?since=7&wait=0", headers=headers)).status == 204
    beat = await guest.post(f"{HERE}/heartbeat", json={"state": "booted"}, headers=headers)
    assert "time" in await beat.json()
    result = {"run_id": "r1", "deployment_id": "d1", "config_id": "c1", "outcome": "finished", "outputs": {}}
    answers = [await (await guest.post(f"{HERE}/results", json=result, headers=headers)).json() for _ in range(2)]
    assert answers == [{"known": False}, {"known": True}]


@pytest.mark.parametrize("body", [{}, {"bootstrap_token": "x"}, {"bootstrap_token": "x", "secret_hash": "short"}])
async def test_a_bad_enrolment_is_a_400(guest: Any, body: Any) -> None:
    assert (await guest.post(f"{HERE}/enrol", json=body)).status == 400


async def test_a_token_opens_its_own_instance_only(guest: Any, engine: Any) -> None:
    headers = {"Authorization": f"Bearer {engine.guests.token()}"}
    assert (await guest.get("/guest/v1/instances/other/deployments", headers=headers)).status == 403
    assert (await guest.get(f"{HERE}/deployments", headers={"Authorization": "Bearer x"})).status == 401
    assert (await guest.get(f"{HERE}/deployments")).status == 401
    assert (await guest.get(f"{HERE}/deployments", headers={"X-Auth-Token": "admin:proj1"})).status == 401


async def test_an_instance_without_a_key_pair_asks_the_cfn_api_as_itself(guest: Any, engine: Any) -> None:
    headers = {"Authorization": f"Bearer {engine.guests.token()}"}
    wanted = {"Action": "DescribeStackResource", "StackName": "shop", "LogicalResourceId": "server"}
    answer = await guest.post(f"{HERE}/cfn", json=wanted, headers=headers)
    assert (answer.status, answer.content_type) == (200, "application/xml")
    assert '<Metadata>{"deployments": [{"id": "c1", "config": "&lt;&amp;&gt;"}]}</Metadata>' in await answer.text()
    assert (await guest.post(f"{HERE}/cfn", json=wanted)).status == 401
    assert (await guest.post(f"{HERE}/cfn", json={}, headers=headers)).status == 400
    refused = await guest.post(f"{HERE}/cfn", json={**wanted, "Action": "DeleteStack"}, headers=headers)
    assert refused.status == 403
    assert "do not allow DeleteStack" in (await refused.json())["error"]["message"]


async def test_the_agent_needs_no_token(guest: Any) -> None:
    answer = await guest.get(f"/agent/{'a' * 64}.pyz")
    assert (answer.status, await answer.read()) == (200, b"PK")
    assert (await guest.get(f"/agent/{'b' * 64}.pyz")).status == 404
    assert (await guest.get("/agent/../etc/passwd.pyz")).status == 404


def login(password: str = "pw") -> dict[str, Any]:
    user = {"id": "agent-user", "password": password}
    return {
        "auth": {
            "identity": {"methods": ["password"], "password": {"user": user}},
            "scope": {"project": {"id": "proj1"}},
        }
    }


async def test_an_agent_logs_in_at_our_v3(guest: Any) -> None:
    answer = await guest.post("/v3/auth/tokens", json=login())
    body = (await answer.json())["token"]
    assert answer.status == 201
    urls = {one["type"]: one["endpoints"][0]["url"] for one in body["catalog"]}
    assert urls["orchestration"] == "http://guest:8004/v1/proj1"
    headers = {"X-Auth-Token": answer.headers["X-Subject-Token"]}
    metadata = await guest.get("/v1/proj1/stacks/shop/shop-id/resources/server/metadata", headers=headers)
    assert (await metadata.json())["metadata"]["deployments"][0]["id"] == "c1"
    listed = await guest.get("/v1/proj1/software_deployments/metadata/whatever", headers=headers)
    assert (await listed.json())["metadata"][0]["id"] == "c1"


async def test_a_wrong_password_is_a_401_and_another_method_a_400(guest: Any) -> None:
    assert (await guest.post("/v3/auth/tokens", json=login("no"))).status == 401
    for body in ({}, {"auth": {}}, {"auth": {"identity": {"methods": ["token"], "token": {"id": "x"}}}}, {"auth": []}):
        assert (await guest.post("/v3/auth/tokens", json=body)).status == 400


async def test_an_agents_token_opens_nothing_else(guest: Any, engine: Any, rest_app: Any) -> None:
    headers = {"X-Auth-Token": engine.guests.token()}
    allowed = 0
    for route in rest_app.router.routes():
        pattern = route.resource.canonical
        if not pattern.startswith("/v1/{tenant_id}"):
            continue
        path = (
            pattern.replace("{more}", "events")
            .replace("{tenant_id}", "proj1")
            .replace("{stack_name}", "shop")
            .replace("{stack_id}", "shop-id")
        )
        path = path.replace("{resource_name}", "server").replace("{", "").replace("}", "")
        answer = await guest.request(route.method, path, headers=headers, json={}, allow_redirects=False)
        if answer.status < 400:
            allowed += 1
        else:
            assert answer.status == 401, path
    assert allowed == 3
    elsewhere = await guest.get("/v1/proj1/stacks/shop/other-id/resources/server/metadata", headers=headers)
    assert elsewhere.status == 403


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the collector's own way, which keystoneclient calls old
async def test_an_unmodified_keystoneclient_finds_its_way(guest: Any) -> None:
    """What os-collect-config's heat collector does: log in with keystoneclient, ask the catalog."""
    from keystoneclient import discover
    from keystoneclient.v3 import client

    def ask() -> tuple[str, str]:
        url = str(guest.make_url("/v3"))
        assert discover.Discover(auth_url=url).url_for("v3")
        keystone = client.Client(auth_url=url, user_id="agent-user", password="pw", project_id="proj1")
        catalog = keystone.service_catalog
        return keystone.auth_token, catalog.url_for(service_type="orchestration", endpoint_type="publicURL")

    token, endpoint = await asyncio.to_thread(ask)
    assert token.startswith("calor1.")
    assert endpoint == "http://guest:8004/v1/proj1"
