"""A deployment gives a server a derived config, waits for its signal and says how it ended (agents.json)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from calor.server.errors import BadRequest
from calor.server.resources.base import Config, Deployment, ResourceFailed, UpdateReplace
from calor.server.resources.heat.derived_config import filled_in
from calor.server.resources.memory import MemoryContext, Workshop

Bench = Callable[..., MemoryContext]
DECLARED = [{"name": "answer", "type": "String", "error_output": False}]


async def stored(workshop: Workshop, **more: Any) -> Config:
    values: dict[str, Any] = {"group": "script", "config": "#!/bin/sh\n", "outputs": DECLARED, **more}
    return await workshop.configs.create(ident="config", name="install", **values)


def the(workshop: Workshop) -> Deployment:
    (deployment,) = workshop.deployments.stored.values()
    return deployment


def derived(workshop: Workshop) -> Config:
    return workshop.configs.stored[the(workshop).config_id]


def inputs(workshop: Workshop) -> dict[str, Any]:
    return {one["name"]: one["value"] for one in derived(workshop).inputs}


async def deployed(context: MemoryContext, **properties: Any) -> "asyncio.Task[str | None]":
    task = asyncio.ensure_future(context.make(server="srv", **properties))
    for _ in range(5):
        await asyncio.sleep(0)
    return task


async def answer(context: MemoryContext, **details: Any) -> str:
    return await context.kind.signal(context, details)


async def test_a_deployment_is_complete_when_its_signal_says_zero(workshop: Workshop, bench: Bench) -> None:
    await stored(workshop, inputs=[{"name": "port", "type": "Number", "default": 80, "replace_on_change": False}])
    context = bench("OS::Heat::SoftwareDeployment")
    task = await deployed(context, config="config", input_values={"extra": "x"})
    assert not task.done() and the(workshop).status == "IN_PROGRESS"
    assert await answer(context, deploy_status_code=0, answer="42", deploy_stdout="out") == "deployment succeeded"
    await task
    assert await context.read("answer") == "42"
    assert await context.read("deploy_stdout") == "out"
    assert "in progress" in await answer(context, deploy_status_code=1)
    assert the(workshop).status == "COMPLETE"


async def test_f044_a_signal_that_was_faster_than_its_deployment_counts(workshop: Workshop, bench: Bench) -> None:
    await stored(workshop)
    context = bench("OS::Heat::SoftwareDeployment")
    details = {"deploy_status_code": 0, "answer": "early"}
    await workshop.send("", details)
    assert "before the deployment began" in await answer(context, **details)
    await asyncio.wait_for(context.make(server="srv", config="config"), 5)
    assert await context.read("answer") == "early"


async def test_the_derived_config_has_what_the_agent_needs_in_heats_order(workshop: Workshop, bench: Bench) -> None:
    await stored(workshop, inputs=[{"name": "port", "type": "Number", "default": 80, "replace_on_change": False}])
    context = bench("OS::Heat::SoftwareDeployment", "dep")
    task = await deployed(context, config="config", input_values={"extra": "x"})
    assert list(inputs(workshop)) == [
        "port",
        "extra",
        "deploy_server_id",
        "deploy_action",
        "deploy_stack_id",
        "deploy_resource_name",
        "deploy_signal_transport",
        "deploy_signal_id",
        "deploy_signal_verb",
    ]
    assert inputs(workshop)["port"] == 80 and inputs(workshop)["deploy_signal_verb"] == "POST"
    assert inputs(workshop)["deploy_stack_id"] == f"{workshop.stack.name}/{workshop.stack.id}"
    assert "replace_on_change" not in derived(workshop).inputs[0]
    assert (derived(workshop).name, derived(workshop).group) == ("install", "script")
    task.cancel()


async def test_heat_signal_has_credentials_and_a_region_only_where_one_is_known(
    workshop: Workshop, bench: Bench
) -> None:
    await stored(workshop)
    task = await deployed(bench("OS::Heat::SoftwareDeployment"), config="config", signal_transport="HEAT_SIGNAL")
    assert inputs(workshop)["deploy_auth_url"] == "http://192.0.2.1:8004/v3"
    assert "deploy_region_name" not in inputs(workshop), "F049: no region is no key, never 'null'"
    task.cancel()


@pytest.mark.parametrize(
    ("details", "reason"),
    [
        ({"deploy_status_code": 3}, "deploy_status_code : Deployment exited with non-zero status code: 3"),
        ({"deploy_status_code": "1"}, "deploy_status_code : Deployment exited with non-zero status code: 1"),
        ({"deploy_status_code": 0, "oops": ""}, "oops : "),
    ],
)
async def test_a_failure_is_told_in_heats_words(
    workshop: Workshop, bench: Bench, details: dict[str, Any], reason: str
) -> None:
    await stored(workshop, outputs=[{"name": "oops", "type": "String", "error_output": True}])
    context = bench("OS::Heat::SoftwareDeployment")
    task = await deployed(context, config="config")
    await answer(context, **details)
    with pytest.raises(ResourceFailed, match=f"Deployment to server failed: {reason}"):
        await task


async def test_no_signal_is_complete_at_once(workshop: Workshop, bench: Bench) -> None:
    await stored(workshop)
    await bench("OS::Heat::SoftwareDeployment").make(server="srv", config="config", signal_transport="NO_SIGNAL")
    assert the(workshop).status == "COMPLETE"
    assert "deploy_signal_id" not in inputs(workshop)


async def test_an_action_that_is_not_asked_for_runs_nothing(workshop: Workshop, bench: Bench) -> None:
    await stored(workshop)
    await bench("OS::Heat::SoftwareDeployment").make(server="srv", config="config", actions=["DELETE"])
    assert workshop.deployments.stored == {}


async def test_a_component_runs_for_the_actions_that_its_parts_name(workshop: Workshop, bench: Bench) -> None:
    parts = {"configs": [{"tool": "script", "config": "x", "actions": ["DELETE"]}]}
    await stored(workshop, group="component", config=parts)
    context = bench("OS::Heat::SoftwareDeployment")
    await context.make(server="srv", config="config")
    assert workshop.deployments.stored == {}
    await context.kind.delete(context, context.was)
    assert the(workshop).action == "DELETE" and derived(workshop).config == parts


async def test_an_update_is_a_new_run_and_the_same_one_after_a_crash(workshop: Workshop, bench: Bench) -> None:
    await stored(workshop)
    context = bench("OS::Heat::SoftwareDeployment")
    task = await deployed(context, config="config", input_values={"n": "1"})
    first = the(workshop).config_id
    await answer(context, deploy_status_code=0)
    await task
    for attempt in range(2):
        update = asyncio.ensure_future(context.change(server="srv", config="config", input_values={"n": "2"}))
        for _ in range(5):
            await asyncio.sleep(0)
        second = the(workshop).config_id
        assert second != first and the(workshop).action == "UPDATE"
        if attempt == 0:
            update.cancel()
    await answer(context, deploy_status_code=0)
    await update
    assert set(workshop.configs.stored) == {"config", second}, "the config of before is gone"
    update = asyncio.ensure_future(context.change(server="srv", config="config", input_values={"n": "1"}))
    for _ in range(5):
        await asyncio.sleep(0)
    assert the(workshop).config_id not in {first, second}, "back to the values of before is another run still"
    update.cancel()


async def test_f073_an_input_that_must_replace_replaces(workshop: Workshop, bench: Bench) -> None:
    await stored(workshop, inputs=[{"name": "seed", "type": "String", "replace_on_change": True}])
    context = bench("OS::Heat::SoftwareDeployment")
    task = await deployed(context, config="config", input_values={"seed": "1"})
    await answer(context, deploy_status_code=0)
    await task
    with pytest.raises(UpdateReplace, match="seed"):
        await context.change(server="srv", config="config", input_values={"seed": "2"})


async def test_f073_what_the_last_run_was_given_counts_defaults_too(workshop: Workshop, bench: Bench) -> None:
    given = [{"name": "seed", "type": "String", "default": "1", "replace_on_change": True}]
    await stored(workshop, inputs=given)
    context = bench("OS::Heat::SoftwareDeployment")
    task = await deployed(context, config="config", actions=["CREATE"])
    await answer(context, deploy_status_code=0)
    await task
    await context.change(server="srv", config="config", actions=["CREATE"], input_values={"seed": "1", "more": "x"})
    new = {"name": "new", "type": "String", "default": "n", "replace_on_change": True}
    await workshop.configs.create(ident="other", name="o", group="script", config="x", inputs=[*given, new])
    await context.change(server="srv", config="other", actions=["CREATE"])
    changed = [{**given[0], "default": "2"}]
    await workshop.configs.create(ident="changed", name="c", group="script", config="x", inputs=changed)
    with pytest.raises(UpdateReplace, match="seed"):
        await context.change(server="srv", config="changed", actions=["CREATE"])


async def test_what_is_no_output_of_the_config_is_no_attribute(workshop: Workshop, bench: Bench) -> None:
    await stored(workshop)
    context = bench("OS::Heat::SoftwareDeployment")
    task = await deployed(context, config="config")
    await answer(context, deploy_status_code=0)
    await task
    assert await context.read("answer") is None, "declared, and not handed back"
    with pytest.raises(BadRequest, match="has no attribute 'anwser'; its outputs are answer, "):
        await context.read("anwser")


async def test_a_deletion_runs_and_is_waited_for_and_leaves_nothing(workshop: Workshop, bench: Bench) -> None:
    await stored(workshop)
    context = bench("OS::Heat::SoftwareDeployment")
    task = await deployed(context, config="config", actions=["CREATE", "DELETE"])
    await answer(context, deploy_status_code=0)
    await task
    for code in (7, 0):  # a deletion that failed can be asked for again, and is a new run
        removal = asyncio.ensure_future(context.remove())
        for _ in range(8):
            await asyncio.sleep(0)
        assert not removal.done() and the(workshop).status == "IN_PROGRESS"
        await answer(context, deploy_status_code=code)
        if code:
            with pytest.raises(ResourceFailed, match="7"):
                await removal
    await removal
    assert workshop.deployments.stored == {} and set(workshop.configs.stored) == {"config"}


async def test_suspend_and_resume_run_what_names_them(workshop: Workshop, bench: Bench) -> None:
    await stored(workshop)
    context = bench("OS::Heat::SoftwareDeployment")
    task = await deployed(context, config="config", actions=["CREATE", "SUSPEND"])
    await answer(context, deploy_status_code=0)
    await task
    suspending = asyncio.ensure_future(context.kind.suspend(context, context.was))
    for _ in range(5):
        await asyncio.sleep(0)
    assert the(workshop).action == "SUSPEND"
    await answer(context, deploy_status_code=0)
    await suspending
    await context.kind.resume(context, context.was)
    assert the(workshop).action == "SUSPEND"


async def test_a_structured_config_has_its_inputs_filled_in(workshop: Workshop, bench: Bench) -> None:
    await stored(workshop, config={"a": {"get_input": "x"}, "b": [{"get_input": "y"}], "c": {"get_input": "x", "d": 1}})
    values = {"input_values": {"x": {"deep": 1}}}
    task = await deployed(bench("OS::Heat::StructuredDeployment"), config="config", **values)
    assert derived(workshop).config == {"a": {"deep": 1}, "b": [None], "c": {"get_input": "x", "d": 1}}
    task.cancel()
    strict = bench("OS::Heat::StructuredDeployment")
    with pytest.raises(ResourceFailed, match="'y'"):
        await strict.make(server="srv", config="config", input_values_validate="STRICT", **values)


async def test_a_missing_config_is_refused(workshop: Workshop, bench: Bench) -> None:
    with pytest.raises(ResourceFailed, match="nowhere"):
        await bench("OS::Heat::SoftwareDeployment").make(server="srv", config="nowhere")


def test_only_maps_of_the_one_key_are_places_for_inputs() -> None:
    assert filled_in({"my_key": "x"}, "my_key", {"x": 1}, strict=True) == 1
    assert filled_in({"get_input": "x"}, "my_key", {"x": 1}, strict=True) == {"get_input": "x"}
    assert filled_in({"my_key": ["x"]}, "my_key", {"x": 1}, strict=True) == {"my_key": ["x"]}, "no name of an input"
