"""REST v1: stacks, in the shapes of Heat's own answers."""

import io
import json
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

STACK = {"stack_name": "s1", "template": {"heat_template_version": "2021-04-16"}}


async def made(rest: Any, **more: Any) -> str:
    answer = await rest.post("/v1/proj1/stacks", json={**STACK, **more})
    assert answer.status == 201, await answer.text()
    return str((await answer.json())["stack"]["id"])


async def error_of(answer: Any, status: int) -> str:
    body = await answer.json()
    assert answer.status == status, body
    assert body.keys() == {"code", "title", "explanation", "error"}
    assert body["error"].keys() == {"message", "traceback", "type"}
    assert (body["code"], body["error"]["traceback"]) == (status, None)
    return str(body["error"]["type"])


async def test_create_answers_201_with_location_and_a_request_id(rest: Any) -> None:
    answer = await rest.post("/v1/proj1/stacks", json=STACK)
    body = await answer.json()
    url = f"http://{rest.host}:{rest.port}/v1/proj1/stacks/s1/{body['stack']['id']}"
    assert answer.status == 201
    assert answer.headers["Location"] == url
    assert body == {"stack": {"id": body["stack"]["id"], "links": [{"href": url, "rel": "self"}]}}
    assert answer.headers["X-Openstack-Request-Id"].startswith("req-")


@pytest.mark.parametrize(
    ("method", "path", "word"),
    [
        ("GET", "snapshots", "snapshots"),
        ("POST", "snapshots", "snapshots"),
        ("GET", "snapshots/x", "snapshots"),
        ("DELETE", "snapshots/x", "snapshots"),
        ("POST", "snapshots/x/restore", "snapshots"),
        ("DELETE", "abandon", "Abandoning"),
        ("GET", "export", "exporting"),
    ],
)
async def test_what_is_not_built_yet_says_so(rest: Any, method: str, path: str, word: str) -> None:
    ident = await made(rest)
    answer = await rest.request(method, f"/v1/proj1/stacks/s1/{ident}/{path}")
    assert await error_of(answer, 400) == "NotSupported"
    assert word in (await answer.json())["error"]["message"]


async def test_the_request_reaches_the_engine_as_sent(rest: Any, engine: Any) -> None:
    ident = await made(
        rest,
        template="heat_template_version: 2021-04-16",
        environment="parameters: {}",
        environment_files=["e.yaml"],
        files={"e.yaml": "parameters: {}"},
        parameters={"p": 1},
        timeout_mins=5,
        disable_rollback=False,
        tags="t1, t2",
    )
    wanted = engine.stacks.all[ident].request
    assert wanted.template == "heat_template_version: 2021-04-16"
    assert (wanted.environment, wanted.environment_files) == ("parameters: {}", ["e.yaml"])
    assert (wanted.files, wanted.parameters) == ({"e.yaml": "parameters: {}"}, {"p": 1})
    assert (wanted.timeout_mins, wanted.disable_rollback, wanted.tags) == (5, False, ["t1", "t2"])


async def test_show_has_the_outputs_unless_they_are_not_wanted(rest: Any) -> None:
    ident = await made(rest)
    shown = (await (await rest.get(f"/v1/proj1/stacks/s1/{ident}")).json())["stack"]
    assert shown["outputs"] == [
        {"output_key": "o", "output_value": "hello", "description": "No description given"},
        {"output_key": "bad", "output_value": None, "description": "why", "output_error": "it broke"},
    ]
    assert (shown["description"], shown["creation_time"]) == ("No description", "2026-05-06T07:08:09Z")
    without = (await (await rest.get(f"/v1/proj1/stacks/s1/{ident}?resolve_outputs=false")).json())["stack"]
    assert shown.keys() - without.keys() == {"outputs"}
    assert await error_of(await rest.get(f"/v1/proj1/stacks/s1/{ident}?resolve_outputs=maybe"), 400) == "HTTPBadRequest"


@pytest.mark.parametrize("method", ["get", "post", "put", "patch", "delete"])
async def test_a_lookup_redirects_whatever_the_method(rest: Any, method: str) -> None:
    ident = await made(rest)
    for name in ("s1", ident, f"arn:openstack:heat::proj1:stacks/s1/{ident}"):
        answer = await getattr(rest, method)(f"/v1/proj1/stacks/{name}?a=b%20c", allow_redirects=False)
        assert answer.status == 302
        assert answer.headers["Location"].endswith(f"/v1/proj1/stacks/s1/{ident}?a=b%20c")


async def test_a_lookup_keeps_what_follows_the_name(rest: Any) -> None:
    ident = await made(rest)
    answer = await rest.get("/v1/proj1/stacks/s1/events?limit=2", allow_redirects=False)
    assert answer.headers["Location"].endswith(f"/v1/proj1/stacks/s1/{ident}/events?limit=2")
    assert await error_of(await rest.get("/v1/proj1/stacks/nope"), 404) == "EntityNotFound"


async def test_a_list_has_its_page_its_count_and_the_next_link(rest: Any, engine: Any) -> None:
    for name in ("s1", "s2"):
        await rest.post("/v1/proj1/stacks", json={**STACK, "stack_name": name, "tags": "t"})
    body = await (await rest.get("/v1/proj1/stacks?limit=1&with_count=true&name=x&tags=a,b&sort_keys=name")).json()
    assert (body["count"], len(body["stacks"])) == (2, 1)
    assert "marker=" in body["links"][0]["href"]
    assert body["stacks"][0]["tags"] == ["t"]
    assert (engine.stacks.last_query.filters, engine.stacks.last_query.tags) == ({"name": ("x",)}, ("a", "b"))


async def test_only_who_may_lists_the_stacks_of_all_projects(rest: Any) -> None:
    assert await error_of(await rest.get("/v1/proj1/stacks?global_tenant=1"), 403) == "Forbidden"


async def test_update_patch_delete_and_actions_answer_as_heat_does(rest: Any, engine: Any) -> None:
    ident = await made(rest)
    url = f"/v1/proj1/stacks/s1/{ident}"
    assert (await rest.put(url, json={"template": {}})).status == 202
    assert await error_of(await rest.put(url, json={}), 400) == "HTTPBadRequest"
    assert (await rest.patch(url, json={"clear_parameters": ["p"]})).status == 202
    assert engine.stacks.all[ident].request.existing
    assert engine.stacks.all[ident].request.clear_parameters == ["p"]
    assert (await rest.post(f"{url}/actions", json={"suspend": None})).status == 200
    assert await error_of(await rest.post(f"{url}/actions", json={"cancel_update": None}), 400) == "NotSupported"
    for body in ({}, {"a": 1, "b": 2}, {"explode": None}):
        assert await error_of(await rest.post(f"{url}/actions", json=body), 400) == "HTTPBadRequest"
    answer = await rest.delete(url)
    assert (answer.status, await answer.read()) == (204, b"")
    assert await error_of(await rest.delete(url), 404) == "EntityNotFound"


async def test_what_belongs_to_a_stack_is_answered_bare(rest: Any) -> None:
    ident = await made(rest, parameters={"p": 1}, files={"f": "x"})
    url = f"/v1/proj1/stacks/s1/{ident}"
    for part, wanted in (
        ("template", STACK["template"]),
        ("environment", {"parameters": {"p": 1}}),
        ("files", {"f": "x"}),
        ("outputs/o", {"output": {"output_key": "o", "output_value": "hello", "description": "No description given"}}),
    ):
        assert await (await rest.get(f"{url}/{part}")).json() == wanted
    listed = await (await rest.get(f"{url}/outputs")).json()
    assert listed["outputs"][0] == {"output_key": "o", "description": "No description given"}
    assert await error_of(await rest.get(f"{url}/outputs/nope"), 404) == "EntityNotFound"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({}, "HTTPBadRequest"),
        ({"stack_name": "e1"}, "HTTPBadRequest"),
        ({"template": {}}, "HTTPBadRequest"),
        ({"stack_name": 5, "template": {}}, "StackValidationFailed"),
        ({"stack_name": "1bad", "template": {}}, "StackValidationFailed"),
        ({**STACK, "timeout_mins": -1}, "HTTPBadRequest"),
        ({**STACK, "timeout_mins": "x"}, "HTTPBadRequest"),
        ({**STACK, "timeout_mins": True}, "HTTPBadRequest"),
        ({**STACK, "disable_rollback": "maybe"}, "HTTPBadRequest"),
        ({**STACK, "converge": True}, "HTTPBadRequest"),
        ({**STACK, "tags": "a" * 81}, "HTTPBadRequest"),
        ({**STACK, "tags": 5}, "HTTPBadRequest"),
        ({**STACK, "template": 5}, "HTTPBadRequest"),
        ({**STACK, "environment": []}, "HTTPBadRequest"),
        ({**STACK, "environment_files": "x"}, "HTTPBadRequest"),
        ({**STACK, "files": {"a": 1}}, "HTTPBadRequest"),
        ({**STACK, "files": {"a": "b\0c"}}, "HTTPBadRequest"),
        ({**STACK, "parameters": []}, "HTTPBadRequest"),
        ({**STACK, "files_container": "c/d"}, "HTTPBadRequest"),
        ({**STACK, "adopt_stack_data": "{}"}, "NotSupported"),
        ({**STACK, "template": "x" * 600_000}, "RequestLimitExceeded"),
    ],
)
async def test_a_bad_create_is_refused_and_makes_nothing(rest: Any, engine: Any, body: Any, kind: str) -> None:
    assert await error_of(await rest.post("/v1/proj1/stacks", json=body), 400) == kind
    assert engine.stacks.all == {}


async def test_a_body_over_the_limit_is_not_read_on(rest: Any, engine: Any) -> None:
    big = io.BytesIO(b'{"stack_name": "' + b"x" * 1_100_000 + b'"}')
    answer = await rest.post("/v1/proj1/stacks", data=big)
    assert await error_of(answer, 400) == "RequestLimitExceeded"
    assert "max_json_body_size is 1048576 bytes" in (await answer.json())["error"]["message"]


async def test_a_limit_is_named_with_its_value(rest: Any) -> None:
    answer = await rest.post("/v1/proj1/stacks", json={**STACK, "template": "x" * 600_000})
    assert "max_template_size is 524288 bytes, it has 600000" in (await answer.json())["error"]["message"]


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b'"x"', b"\xff", b'{"a": NaN}', b'{"stack_name": "\\ud800"}', b"[" * 100_000, b'{"a":' * 50_000],
)
async def test_a_body_that_is_no_json_object_is_a_400(rest: Any, body: bytes) -> None:
    assert await error_of(await rest.post("/v1/proj1/stacks", data=body), 400) == "HTTPBadRequest"


@pytest.mark.parametrize(
    "url",
    ["file:///dev/zero", "FILE:///etc/passwd", "/etc/passwd", "http://127.0.0.1:22", "http://[::1]/", "http://x/"],
)
async def test_f159_f160_a_template_url_is_refused_without_being_touched(rest: Any, engine: Any, url: str) -> None:
    for path, more in (("stacks", {"stack_name": "s1"}), ("validate", {}), ("stacks/preview", {"stack_name": "s1"})):
        answer = await rest.post(f"/v1/proj1/{path}", json={**more, "template_url": url})
        body = await answer.json()
        assert answer.status == 400
        assert "template_url" in body["error"]["message"]
        assert url not in json.dumps(body)
    assert engine.stacks.all == {}


async def test_a_name_that_is_taken_is_a_conflict(rest: Any) -> None:
    await made(rest)
    assert await error_of(await rest.post("/v1/proj1/stacks", json=STACK), 409) == "StackExists"


async def test_preview_and_validate(rest: Any) -> None:
    assert (await (await rest.post("/v1/proj1/stacks/preview", json=STACK)).json())["stack"]["stack_name"] == "s1"
    answer = await rest.post("/v1/proj1/validate?show_nested=true", json={"template": {}})
    assert "Parameters" in await answer.json()
    assert (
        await error_of(await rest.post("/v1/proj1/validate", json={"template": {"bad": True}}), 400) == "HTTPBadRequest"
    )
    wrong = await rest.post("/v1/proj1/validate?ignore_errors=5", json={"template": {}})
    assert await error_of(wrong, 400) == "HTTPBadRequest"
    ident = await made(rest)
    for method in (rest.put, rest.patch):
        answer = await method(f"/v1/proj1/stacks/s1/{ident}/preview", json={"template": {}})
        assert (await answer.json())["resource_changes"].keys() == {
            "added",
            "deleted",
            "replaced",
            "unchanged",
            "updated",
        }


@pytest.mark.parametrize(
    ("reason", "words"),
    [("database or disk is full", "its disk is full"), ("connection to 10.0.0.1 was lost", "it does not answer")],
)
async def test_a_database_that_fails_is_a_503_to_be_tried_again(
    rest: Any, engine: Any, reason: str, words: str, caplog: Any
) -> None:
    engine.stacks.broken = OperationalError("INSERT INTO stack", {}, Exception(reason))
    answer = await rest.post("/v1/proj1/stacks", json=STACK)
    text = await answer.text()
    assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
    assert words in text and "INSERT" not in text and "10.0.0.1" not in text
    assert any(record.exc_info for record in caplog.records)


async def test_an_unexpected_error_says_nothing_of_the_inside(rest: Any, engine: Any, caplog: Any) -> None:
    engine.stacks.broken = RuntimeError("postgresql://user:pw@inside")
    answer = await rest.post("/v1/proj1/stacks", json=STACK)
    text = await answer.text()
    assert answer.status == 500
    assert "postgresql" not in text
    assert answer.headers["X-Openstack-Request-Id"] in text
    assert any(record.exc_info for record in caplog.records)
