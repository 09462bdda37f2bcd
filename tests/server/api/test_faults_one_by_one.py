"""Faults of templates one by one for those who ask for them; Heat's error body, and no more, for all others."""

from collections.abc import Callable
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

HEATS = {"code", "error", "explanation", "title"}
OF_ERROR = {"message", "traceback", "type"}
ASKING = {"X-Calor-Faults": "1"}
TEMPLATE = """heat_template_version: 2021-04-16
resources:
  a:
    type: OS::Heat::RandomString
    properties: {lenght: 3}
  b: {type: inner.yaml}
"""
INNER = "heat_template_version: 2021-04-16\nresources:\n  c: {type: OS::Heat::Valeu}\n"
BODY = {"stack_name": "s", "template": TEMPLATE, "files": {"inner.yaml": INNER}}


@pytest.fixture
async def rest(app_of: Callable[[Any], Any], real_engine: Any) -> Any:
    async with TestClient(TestServer(app_of(real_engine)), headers={"X-Auth-Token": "member:proj1"}) as client:
        yield client


@pytest.mark.parametrize("path", ["stacks", "validate", "plans", "stacks/preview"])
async def test_f107_each_fault_has_its_code_and_place_where_that_is_asked_for(rest: Any, path: str) -> None:
    plain = await rest.post(f"/v1/proj1/{path}", json=BODY)
    body = await plain.json()
    assert (plain.status, body.keys(), body["error"].keys()) == (400, HEATS, OF_ERROR)
    asked = await rest.post(f"/v1/proj1/{path}", json=BODY, headers=ASKING)
    more = await asked.json()
    problems = more["error"].pop("problems")
    assert more == body
    assert [
        {key: one[key] for key in ("code", "file", "line", "column", "path", "did_you_mean")} for one in problems
    ] == [
        {
            "code": "unknown-property",
            "file": "template",
            "line": 5,
            "column": 18,
            "path": "resources.a.properties.lenght",
            "did_you_mean": ["length"],
        },
        {
            "code": "unknown-type",
            "file": "inner.yaml",
            "line": 3,
            "column": 13,
            "path": "resources.c.type",
            "did_you_mean": ["OS::Heat::Value", "OS::Heat::None"],
        },
    ]
    for one in problems:
        assert one["message"] in body["error"]["message"]


async def test_errors_of_another_kind_have_no_problems_and_limits_have_one(rest: Any) -> None:
    missing = await rest.get("/v1/proj1/stacks/nosuch/id", headers=ASKING)
    assert (await missing.json())["error"]["problems"] == []
    large = await rest.post("/v1/proj1/stacks", headers=ASKING, json={**BODY, "template": "x" * 600_000})
    (problem,) = (await large.json())["error"]["problems"]
    assert problem["code"] == "limit"
    assert "max_template_size" in problem["message"]


async def test_f124_a_guarded_update_is_a_409_with_each_resource_by_its_path(rest: Any) -> None:
    def hot(length: int) -> dict[str, Any]:
        text = {"type": "OS::Heat::RandomString", "properties": {"length": length}}
        return {"heat_template_version": "2021-04-16", "resources": {"text": text}}

    made = await (await rest.post("/v1/proj1/stacks", json={"stack_name": "g", "template": hot(8)})).json()
    path = f"/v1/proj1/stacks/g/{made['stack']['id']}"
    environment = {"resource_registry": {"resources": {"text": {"restricted_actions": "replace"}}}}
    body = {"template": hot(9), "environment": environment, "guard": "restricted"}
    while (await (await rest.get(path)).json())["stack"]["stack_status"] != "CREATE_COMPLETE":
        pass
    refused = await rest.put(path, json=body, headers=ASKING)
    answer = await refused.json()
    assert (refused.status, answer["error"]["type"]) == (409, "UpdateRefused")
    assert [(one["path"], one["code"]) for one in answer["error"]["problems"]] == [
        ("resources.text", "restricted-action")
    ]
    assert (await rest.put(path, json={**body, "guard": "everything"})).status == 400
    assert (await rest.put(path, json={**body, "allow_replace": ["nosuch"]})).status == 400
    assert (await rest.patch(path, json={**body, "allow_replace": ["text"]})).status == 202
