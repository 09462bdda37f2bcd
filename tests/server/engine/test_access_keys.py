"""Keys that a template makes for the cfn tools: what they open, and what not."""

from typing import Any

import pytest
from agent_hosts import exists
from engine_world import USER

from calor.server.errors import BadRequest, EntityNotFound, Forbidden, Unauthorized

TEMPLATE = {
    "HeatTemplateFormatVersion": "2012-12-12",
    "Resources": {
        "User": {"Type": "AWS::IAM::User"},
        "Keys": {"Type": "AWS::IAM::AccessKey", "Properties": {"UserName": {"Ref": "User"}}},
        "Machine": {
            "Type": "OS::Heat::DeployedServer",
            "Metadata": {"key": {"Fn::GetAtt": ["Keys", "SecretAccessKey"]}},
        },
        "Other": {"Type": "OS::Heat::DeployedServer", "Metadata": {"word": "other"}},
        "Handle": {"Type": "AWS::CloudFormation::WaitConditionHandle"},
        "Done": {
            "Type": "AWS::CloudFormation::WaitCondition",
            "Properties": {"Handle": {"Ref": "Handle"}, "Timeout": "60"},
        },
    },
}


async def made(engine: Any, stack: Any, *names: str) -> None:
    async def there() -> bool:
        found = await engine.resources(stack)
        return all(found[name].action.value == "CREATE" and found[name].status.value == "COMPLETE" for name in names)

    await engine.until(there)


async def test_they_open_the_metadata_of_their_stacks_instances_and_its_signals(engine: Any) -> None:
    stack = await engine.create("smoke", TEMPLATE)

    await made(engine, stack, "Keys", "Machine", "Other", "Handle")
    await exists(engine, stack, "Done")
    access = (await engine.resources(stack))["Keys"].physical_id
    guests = engine.orchestrator.guests
    who, secret = await guests.instance_of_access_key(access)
    assert (await guests.metadata(who, "smoke", "Machine"))["key"] == secret
    assert (await guests.metadata(who, "smoke", "Other"))["word"] == "other"
    shown = await engine.orchestrator.resources.metadata(USER, stack.name, stack.id, "Machine")
    assert shown["key"] == "******", "the tools read it in clear, users do not"
    for name in ("Handle", "User"):
        with pytest.raises(Forbidden):
            await guests.metadata(who, "smoke", name)
    with pytest.raises(EntityNotFound, match=r"The Resource \(nosuch\) could not be found in Stack smoke."):
        await guests.describe(who, "smoke", "nosuch")
    with pytest.raises(Forbidden):
        await guests.metadata(who, "another", "Machine")
    await guests.signal_resource(who, "smoke", "Done", "i-1", "SUCCESS")
    await engine.reached(stack, "CREATE_COMPLETE")
    await engine.delete(stack)
    await engine.reached(stack, "DELETE_COMPLETE")
    with pytest.raises(Unauthorized):
        await guests.instance_of_access_key(access)


async def test_f156_the_pair_of_an_agent_opens_its_own_resource_only(engine: Any) -> None:
    stack = await engine.create("smoke", TEMPLATE)

    await made(engine, stack, "Other", "Machine")
    view = await engine.orchestrator.resources.show(
        USER, stack.name, stack.id, "Other", with_attr=["os_collect_config"]
    )
    who, _ = await engine.orchestrator.guests.instance_of_access_key(
        view.attributes["os_collect_config"]["cfn"]["access_key_id"]
    )
    assert (await engine.orchestrator.guests.metadata(who, "smoke", "Other"))["word"] == "other"
    with pytest.raises(Forbidden):
        await engine.orchestrator.guests.metadata(who, "smoke", "Machine")


@pytest.mark.parametrize("sent", [{"Status": "SUCCESS"}, {"status": "SUCCESS", "id": "1"}])
async def test_a_signal_that_is_none_is_refused_and_not_kept(engine: Any, sent: dict[str, Any]) -> None:
    stack = await engine.create("smoke", TEMPLATE)

    await made(engine, stack, "Handle")
    await exists(engine, stack, "Done")
    with pytest.raises(BadRequest, match="A signal has the keys Data, Reason, Status, UniqueId, all of them"):
        await engine.signal(stack, "Handle", **sent)
    row = next(one for one in (await engine.resources(stack)).values() if one.name == "Handle")
    assert row.status.value == "COMPLETE"
    await engine.signal(stack, "Handle", Status="SUCCESS", Reason="", Data="done", UniqueId="a")
    await engine.reached(stack, "CREATE_COMPLETE")
    view = await engine.orchestrator.resources.show(USER, stack.name, stack.id, "Done", with_attr=["Data"])
    assert view.attributes["Data"] == '{"a": "done"}'
