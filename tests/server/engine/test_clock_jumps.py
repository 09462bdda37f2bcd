"""Somebody sets the machine's clock by an hour, forward or back: nothing fails or hangs, nobody is shut out."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from agent_hosts import deployed, exists, guest_of, hot, polled, result_of, waiting
from engine_world import running

from calor.server.errors import Unauthorized

JUMPS = [timedelta(hours=1), timedelta(hours=-1)]
jumps = pytest.mark.parametrize("jump", JUMPS, ids=["forward", "back"])


@jumps
async def test_a_stack_that_waits_for_a_signal_goes_on_and_so_do_update_and_delete(
    engine: Any, world: Any, jump: timedelta
) -> None:
    stack = await engine.create("waits", waiting(2), timeout_mins=30)
    await exists(engine, stack, "w")
    await engine.signal(stack, "h", id="1")
    world.clock.jump = jump
    await asyncio.sleep(1.5)  # the lease is renewed in between
    assert await engine.state(stack) == "CREATE_IN_PROGRESS"
    await engine.signal(stack, "h", id="2")
    await engine.reached(stack, "CREATE_COMPLETE")
    await engine.update(stack, waiting(2) | {"description": "another"})
    await engine.reached(stack, "UPDATE_COMPLETE")
    world.clock.jump = timedelta()
    await engine.delete(stack)
    await engine.reached(stack, "DELETE_COMPLETE")


@jumps
async def test_a_deployment_is_waited_for_as_long_as_its_guest_calls(hosts: Any, world: Any, jump: timedelta) -> None:
    """The contact time-out is 10 minutes: an hour that nobody waited must not count."""
    stack = await hosts.create("runs", deployed())
    who, _ = await guest_of(hosts, stack)
    found = await polled(hosts, who)
    world.clock.jump = jump
    mark = found.deployments[0]["calor"]["deployment_id"]
    for _ in range(3):
        hosts.orchestrator._tools.hub.wake(("deployment", mark))
        await asyncio.sleep(0.05)
    assert await hosts.state(stack) == "CREATE_IN_PROGRESS"
    await hosts.orchestrator.guests.result(who, result_of(found))
    await hosts.reached(stack, "CREATE_COMPLETE")


@jumps
async def test_an_agent_gets_another_token_where_its_own_is_out_of_date(
    hosts: Any, world: Any, jump: timedelta
) -> None:
    stack = await hosts.create("agent", deployed(signal_transport="NO_SIGNAL"))
    _, resource_id = await guest_of(hosts, stack)
    guests = hosts.orchestrator.guests
    bearer, seconds = await guests.mint(resource_id, "secret")
    world.clock.jump = jump
    if jump >= timedelta(seconds=seconds):
        with pytest.raises(Unauthorized):
            await guests.instance_of_bearer(bearer)
        bearer, _ = await guests.mint(resource_id, "secret")
    who = await guests.instance_of_bearer(bearer)
    assert who.resource_id == resource_id
    assert (await polled(hosts, who)).deployments


@jumps
async def test_two_engines_make_each_thing_once_whoever_has_the_lease(world: Any, jump: timedelta) -> None:
    """A lease that the jump ends is taken over like a dead process's; its former holder writes nothing any more."""
    template = hot(
        {
            "first": {
                "type": "OS::Heat::TestResource",
                "properties": {"value": "x", "action_wait_secs": {"create": 2}},
            },
            "pair": {"type": "OS::Nova::KeyPair", "properties": {"name": "one"}, "depends_on": "first"},
        }
    )
    async with running(world) as one, running(world) as two:
        stack = await one.create("twice", template)
        await asyncio.sleep(0.2)
        world.clock.jump = jump
        await one.reached(stack, "CREATE_COMPLETE", 40)
        assert await two.state(stack) == "CREATE_COMPLETE"
        assert len(world.cloud.records["keypair"]) == 1
        await two.delete(stack)
        await two.reached(stack, "DELETE_COMPLETE", 40)
        assert not world.cloud.records["keypair"]
