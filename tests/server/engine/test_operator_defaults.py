"""Defaults of properties that an operator sets: what is new gets them, what exists keeps what it was made with."""

from dataclasses import replace
from typing import Any

import pytest
from engine_world import USER, World, running

from calor.server.cloud.credentials import Credentials
from calor.server.engine.contract.views import StackRequest
from calor.server.errors import Forbidden
from calor.server.identity import Caller
from calor.server.store import guest_queries

TEMPLATE = """\
heat_template_version: 2021-04-16
resources:
  machine: {type: "OS::Heat::DeployedServer"}
  config: {type: "OS::Heat::SoftwareConfig", properties: {group: script, config: "#!/bin/sh"}}
  deployment:
    type: OS::Heat::SoftwareDeployment
    properties: {config: {get_resource: config}, server: {get_resource: machine}}
"""
SERVER = """\
heat_template_version: 2021-04-16
resources:
  server: {type: "OS::Nova::Server", properties: {image: i, flavor: f, networks: [{network: n}]}}
"""
BY_HEAT = {
    "default_software_config_transport": "POLL_SERVER_HEAT",
    "default_deployment_signal_transport": "HEAT_SIGNAL",
}


@pytest.fixture
def cloud(world: World) -> World:
    """What the server's properties name."""
    for kind, ident in (("image", "i"), ("flavor", "f"), ("network", "n")):
        world.cloud.records[kind][ident] = {"id": ident, "name": ident}
    return world


async def collected(engine: Any, stack: Any) -> dict[str, Any]:
    known = await engine.orchestrator.resources.metadata(USER, stack.name, stack.id, "machine")
    return dict(known["os-collect-config"])


async def inputs(engine: Any, stack: Any) -> dict[str, Any]:
    async def there() -> bool:
        return bool(await guest_queries.deployments_of_stacks(engine.database, [stack.id]))

    await engine.until(there)
    (row,) = await guest_queries.deployments_of_stacks(engine.database, [stack.id])
    config = await engine.orchestrator._tools.configs.get("p1", row.config_id)
    return {one["name"]: one["value"] for one in config.inputs}


async def complete(engine: Any, stack: Any, state: str = "CREATE_COMPLETE") -> None:
    await inputs(engine, stack)
    await engine.signal(stack, "deployment", deploy_status_code=0)
    await engine.reached(stack, state)


async def test_the_transports_decide_how_guests_collect_and_signal_and_what_credentials_are_made(world: World) -> None:
    world.options = BY_HEAT
    async with running(world) as engine:
        stack = await engine.create("metal", TEMPLATE)
        given = await inputs(engine, stack)
        assert given["deploy_signal_transport"] == "HEAT_SIGNAL" and given["deploy_password"]
        assert "deploy_signal_id" not in given
        collect = await collected(engine, stack)
        assert collect["collectors"] == ["heat", "local"] and "cfn" not in collect
        guests = await guest_queries.guests_of_stack(engine.database, stack.id)
        assert [(guest.user_id is None, guest.access_key) for guest in guests] == [(False, None)] * 2


async def test_what_exists_keeps_what_it_was_made_with_when_the_operator_changes_his_mind(world: World) -> None:
    world.options = BY_HEAT
    async with running(world) as engine:
        stack = await engine.create("metal", TEMPLATE)
        await complete(engine, stack)
        before = (await engine.resources(stack))["deployment"].physical_id
    world.options = {}
    async with running(world) as engine:
        await engine.update(stack, TEMPLATE + "outputs: {x: {value: 1}}\n")
        await engine.reached(stack, "UPDATE_COMPLETE")
        assert (await engine.resources(stack))["deployment"].physical_id == before
        assert (await collected(engine, stack))["collectors"] == ["heat", "local"]
        said = TEMPLATE.replace(
            'DeployedServer"', 'DeployedServer", properties: {software_config_transport: POLL_SERVER_CFN}'
        )
        await engine.update(stack, said)
        await engine.reached(stack, "UPDATE_COMPLETE")
        assert (await collected(engine, stack))["collectors"] == ["cfn", "local"], "the template has the last word"
        other = await engine.create("other", TEMPLATE)
        assert (await inputs(engine, other))["deploy_signal_transport"] == "CFN_SIGNAL"


async def test_a_plan_keeps_it_too(world: World, cloud: World) -> None:
    world.options = {"default_user_data_format": "RAW"}
    async with running(cloud) as engine:
        stack = await engine.create("one", SERVER)
        await engine.reached(stack, "CREATE_COMPLETE")
        (server,) = world.cloud.records["server"].values()
        assert server.get("user_data") is None, "raw, and empty"
    world.options = {"default_user_data_format": "SOFTWARE_CONFIG"}
    async with running(world) as engine:
        plan = await engine.orchestrator.plans.plan(USER, StackRequest(name="one", template=SERVER))
        assert [step.action.value for step in plan.steps] == ["none"]
        await engine.update(stack, SERVER)
        await engine.reached(stack, "UPDATE_COMPLETE")
        assert len(world.cloud.records["server"]) == 1


async def test_a_default_that_needs_a_trust_is_refused_where_there_can_be_none(world: World, cloud: World) -> None:
    world.options = {
        "default_user_data_format": "SOFTWARE_CONFIG",
        "default_software_config_transport": "POLL_TEMP_URL",
    }
    confined = replace(USER, restricted=True)

    async def refused(caller: Caller) -> Credentials:
        raise Forbidden("The credential is restricted.")

    world.door.delegate = refused  # type: ignore[method-assign]  # as Keystone answers
    async with running(world) as engine:
        with pytest.raises(Forbidden, match="The resources server need"):
            await engine.stacks.create(confined, StackRequest(name="one", template=SERVER))
        said = SERVER.replace("image: i", "image: i, software_config_transport: POLL_SERVER_CFN")
        await engine.stacks.create(confined, StackRequest(name="one", template=said))


async def test_generated_names_are_as_long_as_the_operator_allows(world: World, cloud: World) -> None:
    world.options = {"max_server_name_length": 20}
    async with running(world) as engine:
        stack = await engine.create("a-stack-with-a-rather-long-name", SERVER)
        await engine.reached(stack, "CREATE_COMPLETE")
        (name,) = world.cloud.names("server")
        assert len(name) <= 20


async def test_a_type_shows_the_operators_default(world: World) -> None:
    world.options = {"default_user_data_format": "RAW"}
    async with running(world) as engine:
        shown = engine.orchestrator.catalogue.type("OS::Nova::Server")
        assert shown.properties["user_data_format"]["default"] == "RAW"
