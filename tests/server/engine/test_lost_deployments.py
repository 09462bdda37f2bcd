"""Deployments that a user deletes though a resource of a stack owns them: a check misses them, an update makes them."""

from typing import Any

import pytest
from agent_hosts import deployed, guest_of, polled, result_of
from engine_world import USER

from calor.server.errors import EntityNotFound


async def checked(hosts: Any, stack: Any, state: str) -> Any:
    await hosts.action(stack, "check")
    return await hosts.reached(stack, state)


async def test_a_deployment_that_was_deleted_is_missed_by_a_check_and_made_again_by_an_update(hosts: Any) -> None:
    stack = await hosts.create("lost", deployed())
    who, _ = await guest_of(hosts, stack)
    await hosts.orchestrator.guests.result(who, result_of(await polled(hosts, who), o="first"))
    await hosts.reached(stack, "CREATE_COMPLETE")
    await checked(hosts, stack, "CHECK_COMPLETE")
    (lost,) = await hosts.orchestrator.deployments.list(USER, None)
    await hosts.orchestrator.deployments.delete(USER, lost.id)
    view = await checked(hosts, stack, "CHECK_FAILED")
    assert f"resources.d0: The software deployment {lost.id} is not there any more" in view.status_reason
    await hosts.update(stack, deployed())
    await hosts.orchestrator.guests.result(who, result_of(await polled(hosts, who), o="second"))
    view = await hosts.reached(stack, "UPDATE_COMPLETE")
    assert [output.value for output in view.outputs] == ["second"]
    with pytest.raises(EntityNotFound):
        await hosts.orchestrator.deployments.show(USER, lost.id)


async def test_a_deployment_whose_actions_ask_for_nothing_yet_is_well(hosts: Any) -> None:
    stack = await hosts.create("later", deployed(actions=["DELETE"]))
    await hosts.reached(stack, "CREATE_COMPLETE")
    await checked(hosts, stack, "CHECK_COMPLETE")
    await hosts.update(stack, deployed(actions=["CREATE"]))
    await hosts.reached(stack, "UPDATE_COMPLETE")
    await checked(hosts, stack, "CHECK_COMPLETE")
