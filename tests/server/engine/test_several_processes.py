"""Two processes of the server on one database: an agent may ask the one for what the other has to say."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from agent_hosts import Host, deployed, exists, guest_of, polled, result_of, waiting
from engine_world import World, running


@pytest.fixture
async def two(world: World, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Any, Any]]:
    """The first one works on the stacks; agents ask the second."""
    monkeypatch.setattr("calor.server.engine.orchestrator.LOOK_AROUND_EVERY", 0.02)
    monkeypatch.setattr("calor.server.engine.orchestrator.NEIGHBOURS_EVERY", 0.0)
    monkeypatch.setattr("calor.server.engine.guests.deployments.LOOK_AGAIN", 0.05)
    monkeypatch.setattr("calor.server.engine.guests.signals.LOOK_AGAIN", 0.05)
    world.types.append(Host)
    world.settings["lease_ttl"] = timedelta(seconds=30)
    async with running(world) as first, running(world) as second:
        yield first, second


async def test_a_deployment_reaches_an_agent_that_asks_another_process_and_its_result_comes_back(two: Any) -> None:
    first, second = two
    stack = await first.create("two", deployed())
    who, _ = await guest_of(first, stack)
    found = await polled(second, who)
    await second.orchestrator.guests.result(who, result_of(found, o="made"))
    view = await first.reached(stack, "CREATE_COMPLETE")
    assert [output.value for output in view.outputs] == ["made"]

    asking = asyncio.create_task(second.orchestrator.guests.deployments(who, since=found.version, wait=10.0))
    await asyncio.sleep(0.05)
    assert not asking.done()
    await first.update(stack, deployed(input_values={"word": "two"}))
    newer = await asyncio.wait_for(asking, 5)
    while not any(one["name"] == "word" for one in newer.deployments[0]["inputs"]):
        newer = await second.orchestrator.guests.deployments(who, since=newer.version, wait=5.0)
    assert newer.version > found.version
    await second.orchestrator.guests.result(who, result_of(newer, o="again"))
    view = await first.reached(stack, "UPDATE_COMPLETE")
    assert [output.value for output in view.outputs] == ["again"]


async def test_both_deliver_to_one_agent_at_once_and_nothing_is_lost(two: Any) -> None:
    """Each adds to the version in the commit that it tells of."""
    first, second = two
    posts = [engine.orchestrator._tools.mailboxes.post("server", []) for _ in range(5) for engine in two]
    await asyncio.gather(*posts)
    await asyncio.gather(first.orchestrator._look_around(), second.orchestrator._look_around())
    versions = [await engine.orchestrator._tools.mailboxes.version("server") for engine in two]
    assert versions == [10, 10]


async def test_a_guest_that_calls_another_process_is_not_out_of_contact(two: Any, world: World) -> None:
    first, second = two
    stack = await first.create("two", deployed())
    who, _ = await guest_of(first, stack)
    await exists(first, stack, "d0")
    await polled(second, who)
    for _ in range(4):
        world.clock.shift += timedelta(minutes=4)
        await second.orchestrator.guests.heartbeat(who, {"state": "running", "interval": 20})
        await second.orchestrator._tools.contacts.write_down()
        await asyncio.sleep(0.2)
        assert await first.state(stack) == "CREATE_IN_PROGRESS", "it is heard of, there"
    world.clock.shift += timedelta(minutes=11)
    view = await first.reached(stack, "CREATE_FAILED")
    assert "No contact for" in view.status_reason
    assert "last made contact at" in view.status_reason


async def test_a_signal_of_a_deployment_counts_whoever_takes_it(two: Any) -> None:
    first, second = two
    stack = await first.create("asked", deployed())
    who, _ = await guest_of(first, stack)
    await polled(second, who)
    await second.signal(stack, "d0", deploy_status_code=3, deploy_stderr="no")
    view = await first.reached(stack, "CREATE_FAILED")
    assert "non-zero status code: 3" in view.status_reason
    assert "d0 SIGNAL_COMPLETE" in await second.events(stack)


async def test_signals_count_whoever_takes_them_and_what_is_done_is_changed_anywhere(two: Any) -> None:
    first, second = two
    stack = await first.create("asked", waiting(1))
    await exists(first, stack, "w")
    await second.signal(stack, "h", status="SUCCESS", data="there")
    await first.reached(stack, "CREATE_COMPLETE")
    await second.update(stack, waiting(2))
    await exists(second, stack, "w")
    await first.signal(stack, "h", status="SUCCESS", data="more", id="2")
    await second.reached(stack, "UPDATE_COMPLETE", 30)
    await first.delete(stack)
    await second.reached(stack, "DELETE_COMPLETE", 30)
