"""Software deployments and the guests behind them."""

import asyncio
import re
from datetime import timedelta
from typing import Any

import pytest
from agent_hosts import deployed, exists, guest_of, hot, polled, result_of
from engine_world import USER

from calor.server.engine.guests.identities import StackGuests
from calor.server.engine.reconcile.operation import TIMED_OUT
from calor.server.errors import (
    BadRequest,
    Conflict,
    EntityNotFound,
    Forbidden,
    Unauthorized,
)
from calor.server.identity import hash_secret


async def test_a_deployment_runs_and_its_output_comes_back(hosts: Any) -> None:
    stack = await hosts.create("dep", deployed())
    who, _ = await guest_of(hosts, stack)
    found = await polled(hosts, who)
    document = found.deployments[0]
    assert (document["group"], document["config"], document["name"]) == ("script", "echo", "step-9")
    guests = hosts.orchestrator.guests
    assert await guests.result(who, result_of(found, o="made inside")) is True
    assert await guests.result(who, result_of(found, code=1)) is False
    view = await hosts.reached(stack, "CREATE_COMPLETE")
    assert view.outputs[0].value == "made inside"


async def test_deployments_that_are_ready_together_are_seen_together_in_name_order(hosts: Any) -> None:
    stack = await hosts.create("many", deployed(5))
    who, _ = await guest_of(hosts, stack)
    found = await hosts.orchestrator.guests.deployments(who, since=0, wait=5)
    assert [one["name"] for one in found.deployments] == [f"step-{n}" for n in range(5, 10)]
    for index in range(5):
        await hosts.orchestrator.guests.result(who, result_of(found, index))
    await hosts.reached(stack, "CREATE_COMPLETE")
    assert await hosts.orchestrator.guests.deployments(who, since=found.version, wait=0.05) is None


async def test_a_servers_metadata_shows_its_deployments_to_its_users(hosts: Any) -> None:
    """As in Heat (heat-tempest-plugin, test_server_software_config): before they run and after."""
    stack = await hosts.create("seen", deployed(2))
    who, _ = await guest_of(hosts, stack)
    found = await polled(hosts, who)

    async def seen() -> Any:
        return await hosts.orchestrator.resources.metadata(USER, stack.name, stack.id, "host")

    before = await seen()
    assert [one["name"] for one in before["deployments"]] == ["step-8", "step-9"]
    for index in range(2):
        await hosts.orchestrator.guests.result(who, result_of(found, index))
    await hosts.reached(stack, "CREATE_COMPLETE")
    assert (await seen())["deployments"] == before["deployments"]
    urls = [one["value"] for run in before["deployments"] for one in run["inputs"] if one["name"] == "deploy_signal_id"]
    assert all(url.startswith("http") for url in urls)


async def test_a_failed_run_shows_its_code_and_last_lines(hosts: Any) -> None:
    stack = await hosts.create("bad", deployed())
    who, _ = await guest_of(hosts, stack)
    found = await polled(hosts, who)
    await hosts.orchestrator.guests.result(who, result_of(found, code=3, deploy_stderr="a\nno such disk"))
    view = await hosts.reached(stack, "CREATE_FAILED")
    assert "exited with non-zero status code: 3" in view.status_reason
    assert "no such disk" in view.status_reason


async def test_f076_what_the_hook_says_of_a_failure_stands_for_the_last_lines(hosts: Any) -> None:
    stack = await hosts.create("worse", deployed())
    who, _ = await guest_of(hosts, stack)
    found = await polled(hosts, who)
    reason = "task place the licence on localhost: non-zero return code: line1\nline2"
    await hosts.orchestrator.guests.result(
        who, {**result_of(found, code=2, deploy_stdout="PLAY RECAP"), "reason": reason}
    )
    view = await hosts.reached(stack, "CREATE_FAILED")
    assert f"exited with non-zero status code: 2; {reason}" in view.status_reason
    assert "PLAY RECAP" not in view.status_reason


async def test_a_hook_that_knows_the_code_only_leaves_the_word_to_the_last_lines(hosts: Any) -> None:
    stack = await hosts.create("plain", deployed())
    who, _ = await guest_of(hosts, stack)
    found = await polled(hosts, who)
    body = {**result_of(found, code=3, deploy_stderr="a\nb"), "reason": "script hook: exit code 3: a\nb"}
    await hosts.orchestrator.guests.result(who, body)
    view = await hosts.reached(stack, "CREATE_FAILED")
    assert "status code: 3; last lines: a\nb" in view.status_reason


async def test_an_interrupted_run_is_a_failure(hosts: Any) -> None:
    stack = await hosts.create("cut", deployed())
    who, _ = await guest_of(hosts, stack)
    found = await polled(hosts, who)
    body = {**result_of(found), "outcome": "interrupted", "outputs": {}, "reason": "interrupted: it was killed"}
    await hosts.orchestrator.guests.result(who, body)
    view = await hosts.reached(stack, "CREATE_FAILED")
    assert "Deployment to server failed: interrupted : it was killed" in view.status_reason


async def test_a_late_result_never_completes_a_newer_config(hosts: Any) -> None:
    stack = await hosts.create("late", deployed())
    who, _ = await guest_of(hosts, stack)
    old = await polled(hosts, who)
    await hosts.orchestrator.guests.result(who, result_of(old))
    await hosts.reached(stack, "CREATE_COMPLETE")
    await hosts.update(stack, deployed(input_values={"x": "2"}))
    new = await hosts.orchestrator.guests.deployments(who, since=old.version, wait=5)
    assert new.deployments[0]["calor"]["run_id"] != old.deployments[0]["calor"]["run_id"]
    await hosts.orchestrator.guests.result(who, result_of(old))
    await asyncio.sleep(0.1)
    assert await hosts.state(stack) == "UPDATE_IN_PROGRESS"
    await hosts.orchestrator.guests.result(who, result_of(new))
    await hosts.reached(stack, "UPDATE_COMPLETE")


async def test_a_rebuild_arms_the_enrolment_again(hosts: Any) -> None:
    stack = await hosts.create("rebuilt", deployed(signal_transport="NO_SIGNAL"))
    _, resource_id = await guest_of(hosts, stack)
    await hosts.reached(stack, "CREATE_COMPLETE")
    tools, guests = hosts.orchestrator._tools, hosts.orchestrator.guests
    token = tools.identities.bootstrap_token(await tools.identities.row(resource_id))
    await guests.enrol(resource_id, token, hash_secret("secret"))
    await StackGuests(tools.identities, tools.pushes, tools.verdicts, stack.id, stack.project_id).rearm(resource_id)
    with pytest.raises(Unauthorized):
        await guests.mint(resource_id, "secret")
    await guests.enrol(resource_id, token, hash_secret("another"))
    await guests.mint(resource_id, "another")


async def test_enrolment_is_for_one_secret_and_dies_with_the_server(hosts: Any) -> None:
    stack = await hosts.create("enrol", deployed(signal_transport="NO_SIGNAL"))
    _, resource_id = await guest_of(hosts, stack)
    await hosts.reached(stack, "CREATE_COMPLETE")
    tools, guests = hosts.orchestrator._tools, hosts.orchestrator.guests
    token = tools.identities.bootstrap_token(await tools.identities.row(resource_id))
    await guests.enrol(resource_id, token, hash_secret("secret"))
    with pytest.raises(Conflict):
        await guests.enrol(resource_id, token, hash_secret("another"))
    with pytest.raises(Forbidden):
        await guests.enrol(resource_id, "forged", hash_secret("secret"))
    with pytest.raises(Unauthorized):
        await guests.mint(resource_id, "guess")
    bearer, _ = await guests.mint(resource_id, "secret")
    await hosts.delete(stack)
    await hosts.reached(stack, "DELETE_COMPLETE")
    with pytest.raises(Unauthorized):
        await guests.instance_of_bearer(bearer)
    with pytest.raises(Unauthorized):
        await guests.mint(resource_id, "secret")


async def waits_for_its_result(hosts: Any, stack: Any, name: str) -> bool:
    """Its physical id is written down before it waits."""
    found = (await hosts.resources(stack)).get(name)
    return found is not None and found.physical_id is not None


@pytest.mark.parametrize(
    ("beat", "expected"),
    [
        (None, "has never contacted this server"),
        (
            {"state": "running", "running": [{"step": "apt", "tail": "Waiting for lock"}]},
            "running apt, last output: Waiting for lock",
        ),
        ({"state": "idle"}, "no result of this deployment has reached this server"),
    ],
)
async def test_f050_a_time_out_says_what_is_known_of_the_guest(
    hosts: Any, world: Any, beat: dict[str, Any] | None, expected: str
) -> None:
    stack = await hosts.create("f50", deployed(), timeout_mins=1)
    if beat is None:
        await exists(hosts, stack, "d0")
    else:
        who, _ = await guest_of(hosts, stack)
        found = await polled(hosts, who)
        mark = {name: found.deployments[0]["calor"][name] for name in ("run_id", "deployment_id")}
        running = [{**mark, **one} for one in beat.get("running", ())]
        await hosts.orchestrator.guests.heartbeat(who, {**beat, "running": running})
    await hosts.until(lambda: waits_for_its_result(hosts, stack, "d0"))
    operation = hosts.orchestrator._trees.find(stack.id)
    operation._run.stop_all(TIMED_OUT)
    view = await hosts.reached(stack, "CREATE_FAILED")
    assert expected in view.status_reason
    assert re.search(r"timed out", view.status_reason)
    (run,) = await hosts.orchestrator.deployments.list(USER, server_id=None)
    assert (run.status, "timed out" in run.status_reason) == ("FAILED", True), "as in Heat: nobody waits for it"


async def test_an_output_that_no_config_declares_is_told_to_who_asks_for_it(hosts: Any) -> None:
    template = deployed(signal_transport="NO_SIGNAL")
    template["outputs"]["typo"] = {"value": {"get_attr": ["d0", "oo"]}}
    reader = {"type": "OS::Heat::Value", "properties": {"value": {"get_attr": ["d0", "oo"]}}}
    stack = await hosts.create("typo", template)
    view = await hosts.reached(stack, "CREATE_COMPLETE")
    errors = {one.name: one.error for one in view.outputs}
    assert errors["o"] is None
    assert "has no attribute 'oo'" in errors["typo"]
    template["resources"]["reader"] = reader
    await hosts.update(stack, template)
    view = await hosts.reached(stack, "UPDATE_FAILED")
    assert "has no attribute 'oo'" in view.status_reason


async def test_f026_a_delete_deployment_for_a_gone_server_does_not_block(hosts: Any, world: Any) -> None:
    stack = await hosts.create("f26", deployed(actions=["DELETE"]))
    await hosts.reached(stack, "CREATE_COMPLETE")
    world.cloud.records["server"].clear()
    await hosts.delete(stack)
    await hosts.reached(stack, "DELETE_COMPLETE")


async def test_f070_configs_in_use_and_unknown_configs(hosts: Any) -> None:
    configs, deployments = hosts.orchestrator.configs, hosts.orchestrator.deployments
    config = await configs.create(USER, {"name": "c", "group": "script", "config": "x"})
    with pytest.raises(EntityNotFound):
        await deployments.create(USER, {"config_id": "nope", "server_id": "s"})
    made = await deployments.create(
        USER, {"config_id": config.id, "server_id": "s", "status": "IN_PROGRESS", "input_values": {"i": "y"}}
    )
    assert made.input_values == {"i": "y"}
    with pytest.raises(Conflict, match=made.id):
        await configs.delete(USER, config.id)
    assert [one["id"] for one in await deployments.metadata(USER, "s")] == [config.id]
    await deployments.update(USER, made.id, {"status": "COMPLETE", "output_values": {"o": "r"}})
    assert (await deployments.show(USER, made.id)).output_values == {"o": "r"}
    await deployments.delete(USER, made.id)
    await configs.delete(USER, config.id)
    with pytest.raises(BadRequest, match="options must be a map"):
        await configs.create(USER, {"name": "c", "options": ["x"]})


async def test_f064_an_unchanged_poll_touches_neither_database_nor_cloud_and_many_can_wait(hosts: Any) -> None:
    stack = await hosts.create("poll", deployed(signal_transport="NO_SIGNAL"))
    who, _ = await guest_of(hosts, stack)
    await hosts.reached(stack, "CREATE_COMPLETE")
    found = await polled(hosts, who)
    database, reads = hosts.orchestrator._tools.database, []
    calls = len(hosts.world.cloud.asked)
    original = database.read
    database.read = lambda work: reads.append(asyncio.current_task()) or original(work)
    polls = [
        asyncio.create_task(hosts.orchestrator.guests.deployments(who, since=found.version, wait=0.3))
        for _ in range(2000)
    ]
    assert set(await asyncio.gather(*polls)) == {None}
    database.read = original
    assert not set(reads) & set(polls), "the engine's own chores may read meanwhile; polls do not"
    for _ in range(20):  # what agents of OpenStack ask for
        await hosts.orchestrator.guests.metadata(who, stack.name, "host")
    assert len(hosts.world.cloud.asked) == calls


async def test_hidden_parameters_are_masked_everywhere(hosts: Any) -> None:
    template = hot(
        {"v": {"type": "OS::Heat::TestResource", "properties": {"value": {"get_param": "pw"}}}},
        parameters={"pw": {"type": "string", "hidden": True}},
    )
    stack = await hosts.create("hid", template, parameters={"pw": "S3CR3T"})
    view = await hosts.reached(stack, "CREATE_COMPLETE")
    resources = await hosts.resources(stack)
    environment = await hosts.stacks.environment(USER, stack.name, stack.id)
    assert "S3CR3T" not in repr((view, resources, environment))
    assert view.parameters["pw"] == "******"
    with open(hosts.world.url.removeprefix("sqlite:///") + "-wal", "rb") as wal:
        assert b"S3CR3T" not in wal.read()


async def test_f069_a_guest_out_of_contact_fails_its_deployment_long_before_the_stack_time_out(
    hosts: Any, world: Any
) -> None:
    stack = await hosts.create("silent", deployed())
    await exists(hosts, stack, "d0")
    await asyncio.sleep(0.2)
    world.clock.shift += timedelta(minutes=11)
    deployments = await hosts.orchestrator.deployments.list(USER, None)
    hosts.orchestrator._tools.hub.wake(("deployment", deployments[0].id))
    view = await hosts.reached(stack, "CREATE_FAILED")
    assert "contact time-out" in view.status_reason
    assert "has never contacted this server" in view.status_reason
