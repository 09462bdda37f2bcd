"""A machine that no cloud knows takes deployments by its agent's credentials alone."""

from typing import Any

from calor.server.engine.contract.views import StackRequest
from calor.server.identity import Caller

USER = Caller(user_id="u1", project_id="p1", roles=frozenset({"member"}), user_name="user1", token="t1")
TEXT = """\
heat_template_version: 2021-04-16
resources:
  machine: {type: "OS::Heat::DeployedServer"}
  config: {type: "OS::Heat::SoftwareConfig", properties: {group: script, config: "#!/bin/sh", outputs: [{name: said}]}}
  deployment:
    type: OS::Heat::SoftwareDeployment
    properties:
      config: {get_resource: config}
      server: {get_resource: machine}
      actions: [CREATE, DELETE]
outputs:
  collect: {value: {get_attr: [machine, os_collect_config]}}
  said: {value: {get_attr: [deployment, said]}}
"""


async def test_a_deployed_server_is_served_by_the_cfn_transport(engine: Any) -> None:
    stack = await engine.create("metal", TEXT)
    cfn = (await _written(engine, stack))["cfn"]
    guests = engine.orchestrator.guests
    who, secret = await guests.instance_of_access_key(cfn["access_key_id"])
    assert cfn["secret_access_key"] == "******"
    assert cfn["path"] == "machine.Metadata"

    document = await _deployment(engine, who)
    assert {item["name"]: item["value"] for item in document["inputs"]}["deploy_action"] == "CREATE"
    await engine.signal(stack, "deployment", deploy_status_code=0, said="made")
    view = await engine.reached(stack, "CREATE_COMPLETE")
    outputs = {one.name: one.value for one in view.outputs}
    assert outputs["said"] == "made"
    assert outputs["collect"]["cfn"]["secret_access_key"] == secret, "shown where the template's author asks for it"

    await engine.delete(stack)

    async def deleting() -> bool:
        found = await _deployment(engine, who)
        return {item["name"]: item["value"] for item in found["inputs"]}["deploy_action"] == "DELETE"

    await engine.until(deleting)
    assert await engine.state(stack) == "DELETE_IN_PROGRESS", "its machine is not gone for being in no cloud"
    await engine.signal(stack, "deployment", deploy_status_code=0)
    await engine.reached(stack, "DELETE_COMPLETE")


async def _written(engine: Any, stack: Any) -> dict[str, Any]:
    async def there() -> bool:
        return (await engine.resources(stack))["deployment"].physical_id is not None

    await engine.until(there)
    view = await engine.orchestrator.resources.show(
        USER, stack.name, stack.id, "machine", with_attr=["os_collect_config"]
    )
    return dict(view.attributes["os_collect_config"])


async def _deployment(engine: Any, who: Any) -> dict[str, Any]:
    async def some() -> bool:
        return bool((await engine.orchestrator.guests.metadata(who, "metal", "machine")).get("deployments"))

    await engine.until(some)
    return dict((await engine.orchestrator.guests.metadata(who, "metal", "machine"))["deployments"][0])


async def test_an_update_of_the_metadata_keeps_what_the_agent_was_told(engine: Any) -> None:
    """As in Heat: the template's keys below os-collect-config are merged with those that the server has added."""

    def template(interval: int, **more: Any) -> dict[str, Any]:
        metadata = {"os-collect-config": {"polling_interval": interval}, **more}
        machine = {"type": "OS::Heat::DeployedServer", "metadata": metadata}
        return {"heat_template_version": "2021-04-16", "resources": {"machine": machine}}

    async def metadata() -> Any:
        return await engine.orchestrator.resources.metadata(USER, stack.name, stack.id, "machine")

    stack = await engine.create("told", template(5))
    await engine.reached(stack, "CREATE_COMPLETE")
    before = await metadata()
    assert before["os-collect-config"]["polling_interval"] == 5 and "cfn" in before["os-collect-config"]
    events = len(await engine.events(stack))
    plan = await engine.orchestrator.plans.plan(USER, StackRequest(name="told", template=template(5)))
    assert [step.action.value for step in plan.steps] == ["none"]
    await engine.update(stack, template(5))
    await engine.reached(stack, "UPDATE_COMPLETE")
    assert await metadata() == before
    assert not [one for one in (await engine.events(stack))[events:] if "machine" in one]
    await engine.update(stack, template(7, mine="x"))
    await engine.reached(stack, "UPDATE_COMPLETE")
    told = {**before["os-collect-config"], "polling_interval": 7}
    assert await metadata() == {**before, "os-collect-config": told, "mine": "x"}
    await engine.update(stack, {**template(7), "resources": {"machine": {"type": "OS::Heat::DeployedServer"}}})
    await engine.reached(stack, "UPDATE_COMPLETE")
    assert await metadata() == {**before, "os-collect-config": told}, "what the template took back is gone"


async def test_metadata_that_a_template_takes_back_is_gone(engine: Any) -> None:
    def template(**more: Any) -> dict[str, Any]:
        return {"heat_template_version": "2021-04-16", "resources": {"r": {"type": "OS::Heat::TestResource", **more}}}

    async def metadata() -> Any:
        return await engine.orchestrator.resources.metadata(USER, stack.name, stack.id, "r")

    stack = await engine.create("meta", template(metadata={"a": 1, "b": {"c": 2}}))
    await engine.reached(stack, "CREATE_COMPLETE")
    for given in ({"b": {"c": 3}}, {}):
        await engine.update(stack, template(metadata=given))
        await engine.reached(stack, "UPDATE_COMPLETE")
        assert await metadata() == given
