"""Guests that hang or cannot go on, and say so: what they said stands in the reason, also after a time-out."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from agent_hosts import guest_of, polled
from engine_world import USER
from playing_guests import SECRET, beat, mark_of, sent, started, with_secret

from calor.server.engine.reconcile.operation import TIMED_OUT
from calor.server.engine.reconcile.stopping import StopKind, StopReason


async def waiting(hosts: Any, stack: Any) -> None:
    async def begun() -> bool:
        return (await hosts.resources(stack))["d0"].physical_id is not None

    await hosts.until(begun)


async def looks_again(hosts: Any, found: Any) -> None:
    hosts.orchestrator._tools.hub.wake(("deployment", mark_of(found)["deployment_id"]))


async def test_a_guest_that_calls_and_cannot_go_on_fails_its_deployment_after_the_contact_time_out(
    hosts: Any, world: Any
) -> None:
    stack, who, found = await started(hosts)
    await waiting(hosts, stack)
    stuck = beat(found, tail=f"writing {SECRET}") | {"stuck": True, "detail": "the disk is full: /var/lib/calor"}
    await hosts.orchestrator.guests.heartbeat(who, stuck)
    world.clock.shift += timedelta(minutes=9)
    await hosts.orchestrator.guests.heartbeat(who, stuck)
    await looks_again(hosts, found)
    await asyncio.sleep(0.1)
    assert await hosts.state(stack) == "CREATE_IN_PROGRESS", "it may find room yet"
    world.clock.shift += timedelta(minutes=2)
    await hosts.orchestrator.guests.heartbeat(who, stuck)
    await looks_again(hosts, found)
    view = await hosts.reached(stack, "CREATE_FAILED")
    reason = view.status_reason
    assert "running: running d0, last output: writing ******" in reason
    assert "it says: the disk is full: /var/lib/calor" in reason
    assert SECRET not in reason
    failed = (await hosts.orchestrator.resources.show(USER, stack.name, stack.id, "d0", with_attr=[])).status_reason
    assert "the disk is full" in failed


async def test_a_guest_that_goes_on_after_all_is_given_its_time(hosts: Any, world: Any) -> None:
    stack, who, found = await started(hosts)
    await waiting(hosts, stack)
    await hosts.orchestrator.guests.heartbeat(who, beat(found) | {"stuck": True, "detail": "the disk is full"})
    world.clock.shift += timedelta(minutes=9)
    await hosts.orchestrator.guests.heartbeat(who, beat(found))
    world.clock.shift += timedelta(minutes=9)
    await hosts.orchestrator.guests.heartbeat(who, beat(found) | {"stuck": True, "detail": "the disk is full"})
    await looks_again(hosts, found)
    await asyncio.sleep(0.1)
    assert await hosts.state(stack) == "CREATE_IN_PROGRESS"


@pytest.mark.parametrize("stuck", [True, False])
async def test_a_time_out_tells_where_a_hanging_run_is_and_what_it_printed_last(hosts: Any, stuck: bool) -> None:
    stack, who, found = await started(hosts)
    await waiting(hosts, stack)
    await sent(hosts, who, found, b"Reading package lists...\n", 0)
    said = {"stuck": True, "detail": "no room in /var"} if stuck else {}
    run = beat(found, doing="task 2 of 5: install", tail=f"E: lock of {SECRET} is held")
    await hosts.orchestrator.guests.heartbeat(who, run | said)
    hosts.orchestrator._trees.find(stack.id)._run.stop_all(TIMED_OUT)
    view = await hosts.reached(stack, "CREATE_FAILED")
    assert "timed out" in view.status_reason
    assert "running d0, last output: E: lock of ****** is held" in view.status_reason
    assert ("it says: no room in /var" in view.status_reason) is stuck


async def test_a_time_out_after_a_restart_tells_what_is_durable_of_the_guest(hosts: Any, world: Any) -> None:
    """What a run printed last is in the database though the heartbeat that told it went to a process that is gone."""
    stack, who, found = await started(hosts)
    await waiting(hosts, stack)
    await sent(hosts, who, found, b"Reading package lists...\nE: the lock is held\n", 0)
    await hosts.orchestrator.guests.heartbeat(who, beat(found) | {"detail": "no room in /var", "stuck": True})
    hosts.orchestrator._tools.contacts._known.clear()
    hosts.orchestrator._tools.outputs._known.clear()
    hosts.orchestrator._trees.find(stack.id)._run.stop_all(TIMED_OUT)
    view = await hosts.reached(stack, "CREATE_FAILED")
    assert "it says: no room in /var" in view.status_reason
    assert "E: the lock is held" in view.status_reason


async def test_a_deployment_that_was_aborted_says_what_it_waited_for_and_nothing_of_what_others_printed(
    hosts: Any,
) -> None:
    stack = await hosts.create("behind", with_secret(3), parameters={"word": SECRET})
    who, _ = await guest_of(hosts, stack)
    found = await polled(hosts, who, 3)
    first = {name: found.deployments[0]["calor"][name] for name in ("run_id", "deployment_id")}
    ran = next(
        name for name, one in (await hosts.resources(stack)).items() if one.physical_id == first["deployment_id"]
    )
    for name in ("d0", "d1", "d2"):
        await hosts.until(lambda name=name: has_begun(hosts, stack, name))
    running = {**first, "step": ran, "tail": "unpacking the archive"}
    await hosts.orchestrator.guests.heartbeat(who, {"state": "running", "interval": 4, "running": [running]})
    hosts.orchestrator._trees.find(stack.id)._run.stop_all(StopReason(StopKind.CANCEL, "another resource failed: x"))
    await hosts.reached(stack, "CREATE_FAILED")
    reasons = {name: one.status_reason for name, one in (await hosts.resources(stack)).items() if name[0] == "d"}
    own = reasons.pop(ran)
    assert f"running {ran}, last output: unpacking the archive" in own
    for reason in reasons.values():
        assert f"this deployment waits behind {ran}." in reason
        assert "unpacking" not in reason


async def has_begun(hosts: Any, stack: Any, name: str) -> bool:
    return (await hosts.resources(stack))[name].physical_id is not None
