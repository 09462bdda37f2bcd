"""REST v1: resources, events, signals, software configs and deployments, catalogue."""

from typing import Any

import pytest


@pytest.fixture
async def stack_url(rest: Any) -> str:
    made = await rest.post("/v1/proj1/stacks", json={"stack_name": "s1", "template": {}})
    return f"/v1/proj1/stacks/s1/{(await made.json())['stack']['id']}"


async def test_resources_have_heats_keys_and_a_link_to_their_child(rest: Any, stack_url: str) -> None:
    (listed,) = (await (await rest.get(f"{stack_url}/resources")).json())["resources"]
    assert listed.keys() == {
        "creation_time",
        "links",
        "logical_resource_id",
        "physical_resource_id",
        "required_by",
        "resource_name",
        "resource_status",
        "resource_status_reason",
        "resource_type",
        "updated_time",
    }
    assert [(one["rel"], one["href"].partition("/v1/")[2]) for one in listed["links"]][2] == (
        "nested",
        "proj1/stacks/shop-a-xyz/child-id",
    )
    shown = (await (await rest.get(f"{stack_url}/resources/a")).json())["resource"]
    assert shown.keys() - listed.keys() == {"attributes", "description"}
    detailed = (await (await rest.get(f"{stack_url}/resources?with_detail=true")).json())["resources"]
    assert detailed == [shown]
    assert (await rest.get(f"{stack_url}/resources/nope")).status == 404


async def test_an_unknown_filter_or_a_bad_number_is_refused(rest: Any, stack_url: str) -> None:
    for query in ("resources?foo=1", "resources?nested_depth=x", "events?limit=-1", "events?sort_dir=up"):
        assert (await rest.get(f"{stack_url}/{query}")).status == 400, query
    assert (await rest.get(f"{stack_url}/resources?type=x&nested_depth=9")).status == 200


async def test_events_have_heats_keys(rest: Any, stack_url: str) -> None:
    (listed,) = (await (await rest.get(f"{stack_url}/events")).json())["events"]
    assert [one["rel"] for one in listed["links"]] == ["self", "resource", "stack"]
    nested = (await (await rest.get(f"{stack_url}/events?nested_depth=2")).json())["events"]
    assert [one["rel"] for one in nested[0]["links"]] == ["self", "resource", "stack", "root_stack"]
    shown = (await (await rest.get(f"{stack_url}/resources/a/events/e1")).json())["event"]
    assert shown.keys() - listed.keys() == {"resource_type", "resource_properties"}
    for path in ("resources/nope/events", "resources/a/events/none"):
        assert (await rest.get(f"{stack_url}/{path}")).status == 404


@pytest.mark.parametrize(
    "content_type", [None, "", "text/plain", "application/json; charset=utf-8", "application/x-www-form-urlencoded"]
)
async def test_f043_a_signal_counts_whatever_its_content_type(
    rest: Any, engine: Any, stack_url: str, content_type: str | None
) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    answer = await rest.post(
        f"{stack_url}/resources/a/signal",
        data=b'{"status": "SUCCESS", "data": "\xc3\xbc"}',
        headers=headers,
        skip_auto_headers=["Content-Type"],
    )
    assert (answer.status, await answer.json()) == (200, None)
    (stack,) = engine.stacks.all.values()
    assert stack.signals == [("a", {"status": "SUCCESS", "data": "ü"})]


async def test_an_empty_signal_is_a_signal(rest: Any, engine: Any, stack_url: str) -> None:
    assert (await rest.post(f"{stack_url}/resources/a/signal")).status == 200
    (stack,) = engine.stacks.all.values()
    assert stack.signals == [("a", {})]


async def test_mark_unhealthy_takes_its_two_keys_only(rest: Any, stack_url: str) -> None:
    url = f"{stack_url}/resources/a"
    assert (await rest.patch(url, json={"mark_unhealthy": True, "resource_status_reason": "x"})).status == 200
    for body in ({}, {"mark_unhealthy": True, "x": 1}, {"mark_unhealthy": "yes"}):
        assert (await rest.patch(url, json=body)).status == 400


async def test_a_software_config_lives_and_dies(rest: Any) -> None:
    body = {"name": "c1", "group": "script", "config": "#!/bin/sh\n", "inputs": [{"name": "i"}], "options": {"k": "v"}}
    made = (await (await rest.post("/v1/proj1/software_configs", json=body)).json())["software_config"]
    assert made.keys() == {"config", "creation_time", "group", "id", "inputs", "name", "options", "outputs"}
    url = f"/v1/proj1/software_configs/{made['id']}"
    assert (await (await rest.get(url)).json())["software_config"] == made
    (listed,) = (await (await rest.get("/v1/proj1/software_configs?limit=1")).json())["software_configs"]
    assert listed.keys() == {"creation_time", "group", "id", "name"}
    assert (await rest.get("/v1/proj1/software_configs?limit=x")).status == 400
    assert (await rest.get("/v1/proj1/software_configs?global_tenant=1")).status == 403
    assert (await rest.delete(url)).status == 204
    assert (await rest.get(url)).status == 404


async def test_a_deployment_has_an_updated_time_only_once_updated(rest: Any) -> None:
    url = "/v1/proj1/software_deployments"
    body = {"server_id": "server-1", "config_id": "c", "input_values": {"i": "y"}}
    made = (await (await rest.post(url, json=body)).json())["software_deployment"]
    assert (made["output_values"], "updated_time" in made) == (None, False)
    done = await rest.put(f"{url}/{made['id']}", json={"status": "COMPLETE", "output_values": {"o": "r"}})
    assert (await done.json())["software_deployment"]["updated_time"] == "2026-05-06T07:08:09Z"
    assert len((await (await rest.get(f"{url}?server_id=server-1")).json())["software_deployments"]) == 1
    assert (await (await rest.get(f"{url}?server_id=nope")).json()) == {"software_deployments": []}
    assert (await (await rest.get(f"{url}/metadata/server-1")).json()) == {"metadata": []}
    assert (await rest.delete(f"{url}/{made['id']}")).status == 204


async def test_the_catalogue(rest: Any) -> None:
    get = rest.get
    assert await (await get("/v1/proj1/resource_types")).json() == {"resource_types": ["OS::Heat::Value"]}
    assert (await get("/v1/proj1/resource_types")).headers["Content-Type"] == "application/json"
    described = await (await get("/v1/proj1/resource_types?with_description=true")).json()
    assert described == {"resource_types": [{"resource_type": "OS::Heat::Value"}]}
    bogus = await get("/v1/proj1/resource_types?support_status=BOGUS")
    assert (bogus.status, (await bogus.json())["error"]["type"]) == (400, "Invalid")
    schema = await (await get("/v1/proj1/resource_types/OS::Heat::Value")).json()
    assert schema.keys() == {"resource_type", "properties", "attributes", "support_status"}
    assert (await get("/v1/proj1/resource_types/No::Such")).status == 404
    assert (await get("/v1/proj1/resource_types/OS::Heat::Value/template?template_type=xml")).status == 400
    assert await (await get("/v1/proj1/resource_types/OS::Heat::Value/template")).json() == {"type": "cfn"}
    assert len((await (await get("/v1/proj1/template_versions")).json())["template_versions"]) == 1
    functions = await get("/v1/proj1/template_versions/heat_template_version.2021-04-16/functions")
    assert (await functions.json())["template_functions"][0]["functions"] == "get_param"
    build = await (await get("/v1/proj1/build_info")).json()
    assert build.keys() == {"api", "engine"}
    assert (await get("/v1/proj1/services")).status == 403
    as_admin = await get("/v1/proj1/services", headers={"X-Auth-Token": "admin:proj1"})
    assert await as_admin.json() == {"services": []}
