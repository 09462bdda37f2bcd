"""The unmodified python-heatclient against the application."""

import asyncio
from typing import Any

import pytest
from heatclient import exc
from heatclient.client import Client

TEMPLATE = {"heat_template_version": "2021-04-16", "resources": {"a": {"type": "OS::Heat::Value"}}}

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def heat(rest: Any) -> Any:
    return Client("1", endpoint=f"http://127.0.0.1:{rest.port}/v1/proj1", token="member:proj1")


async def test_a_stack_lives_and_dies(heat: Any, engine: Any) -> None:
    def drive() -> None:
        made = heat.stacks.create(stack_name="s1", template=TEMPLATE, tags="t1,t2")
        ident = made["stack"]["id"]
        assert [(one.stack_name, one.id) for one in heat.stacks.list(limit=5)] == [("s1", ident)]
        shown = heat.stacks.get("s1")
        assert (shown.identifier, shown.stack_status) == (f"s1/{ident}", "CREATE_COMPLETE")
        assert heat.stacks.get(ident).tags == ["t1", "t2"]
        assert heat.stacks.template("s1") == TEMPLATE
        assert heat.stacks.environment("s1") == {"parameters": {}}
        assert heat.stacks.output_list("s1")["outputs"][0]["output_key"] == "o"
        assert heat.stacks.output_show("s1", "o")["output"]["output_value"] == "hello"
        heat.stacks.update("s1", template=TEMPLATE)
        heat.stacks.update("s1", existing=True, parameters={"p": "x"})
        heat.actions.suspend("s1")
        heat.actions.check("s1")
        assert heat.stacks.preview_update("s1", template=TEMPLATE)["resource_changes"]["added"] == []
        heat.stacks.delete("s1")

    await asyncio.to_thread(drive)
    assert engine.stacks.all == {}


async def test_resources_events_and_software(heat: Any, engine: Any) -> None:
    def drive() -> None:
        heat.stacks.create(stack_name="s1", template=TEMPLATE)
        (resource,) = heat.resources.list("s1", nested_depth=2, with_detail=True)
        assert (resource.resource_name, resource.attributes) == ("a", {"value": "hello"})
        assert heat.resources.get("s1", "a").resource_type == "nested.yaml"
        assert heat.resources.metadata("s1", "a") == {}
        heat.resources.signal("s1", "a", data={"status": "SUCCESS"})
        heat.resources.mark_unhealthy("s1", "a", True, "because")
        assert [one.id for one in heat.events.list("s1")] == ["e1"]
        assert heat.events.get("s1", "a", "e1").resource_properties == {"value": "hello"}
        config = heat.software_configs.create(name="c", group="script", config="x")
        deployment = heat.software_deployments.create(config_id=config.id, server_id="srv")
        assert heat.software_deployments.get(deployment.id).status == "IN_PROGRESS"
        assert heat.software_deployments.metadata("srv") == []
        heat.software_deployments.update(deployment.id, status="COMPLETE")
        heat.software_deployments.delete(deployment.id)
        heat.software_configs.delete(config.id)

    await asyncio.to_thread(drive)
    (stack,) = engine.stacks.all.values()
    assert stack.signals == [("a", {"status": "SUCCESS"})]


async def test_the_catalogue_and_validation(heat: Any) -> None:
    def drive() -> None:
        assert [one.resource_type for one in heat.resource_types.list()] == ["OS::Heat::Value"]
        assert heat.resource_types.get("OS::Heat::Value")["support_status"]["status"] == "SUPPORTED"
        assert heat.resource_types.generate_template("OS::Heat::Value", "hot") == {"type": "hot"}
        assert [one.type for one in heat.template_versions.list()] == ["hot"]
        assert [one.functions for one in heat.template_versions.get("heat_template_version.2021-04-16")] == [
            "get_param"
        ]
        assert heat.build_info.build_info()["api"]["revision"]
        assert heat.stacks.validate(template=TEMPLATE)["Description"] == "No description"

    await asyncio.to_thread(drive)


async def test_errors_reach_the_user_in_our_words(heat: Any, rest: Any) -> None:
    def drive() -> None:
        with pytest.raises(exc.HTTPNotFound, match="could not be found"):
            heat.stacks.get("nope")
        heat.stacks.create(stack_name="s1", template=TEMPLATE)
        with pytest.raises(exc.HTTPConflict, match="already exists"):
            heat.stacks.create(stack_name="s1", template=TEMPLATE)
        with pytest.raises(exc.HTTPBadRequest, match="timeout_mins"):
            heat.stacks.create(stack_name="s2", template=TEMPLATE, timeout_mins=-1)
        stranger = Client("1", endpoint=f"http://127.0.0.1:{rest.port}/v1/proj1", token="member:proj2")
        with pytest.raises(exc.HTTPForbidden, match="project"):
            stranger.stacks.get("s1")

    await asyncio.to_thread(drive)
