"""What must hold when things go wrong: the field reports of section A and B, by number."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from cloud_things import ERRORS, hot, plain, thing
from engine_world import USER

from calor.server.cloud.errors import CloudConflict, CloudUncertain
from calor.server.engine.contract.views import StackQuery


async def test_replacement_keeps_the_old_until_the_new_is_ready(things: Any, world: Any) -> None:
    user = {"type": "OS::Heat::TestResource", "properties": {"value": {"get_resource": "t"}}}
    stack = await things.create("r1", hot({"t": thing(1), "u": user}))
    await things.reached(stack, "CREATE_COMPLETE")
    await things.update(stack, hot({"t": thing(2), "u": user}))
    await things.reached(stack, "UPDATE_COMPLETE")
    assert [one["size"] for one in world.cloud.records["thing"].values()] == [2]
    events = await things.events(stack)
    order = [events.index(one) for one in ("t CREATE_COMPLETE", "u UPDATE_COMPLETE", "t DELETE_COMPLETE")]
    assert order == sorted(order)
    assert events.count("t CREATE_COMPLETE") == 2


@pytest.mark.parametrize("what", list(ERRORS))
async def test_f003_f010_any_exception_ends_in_failed(things: Any, what: str) -> None:
    stack = await things.create("f3", hot({"x": {"type": "Test::Raising", "properties": {"what": what}}}))
    view = await things.reached(stack, "CREATE_FAILED")
    resource = (await things.resources(stack))["x"]
    assert resource.status.value == "FAILED"
    assert 10 < len(resource.status_reason) <= 8000
    resource.status_reason.encode("utf-8")
    assert "resources.x" in view.status_reason
    await things.delete(stack)
    await things.reached(stack, "DELETE_COMPLETE")


async def test_f007_metadata_writes_do_not_disturb_an_update(things: Any) -> None:
    template = hot({"a": plain(value="1"), "b": plain(value="1", wait_secs=1)})
    stack = await things.create("f7", template)
    await things.reached(stack, "CREATE_COMPLETE")
    await things.update(stack, hot({"a": plain(value="1"), "b": plain(value="2", wait_secs=1)}))
    operation = things.orchestrator._trees.find(stack.id)
    row = next(row for row in operation.tree.rows.values() if row.name == "a")
    for number in range(100):
        await operation.tree.change(row.id, meta=f'j{{"n":{number}}}')
    await things.reached(stack, "UPDATE_COMPLETE")


async def test_f009_delete_during_a_large_create_answers_at_once(things: Any, world: Any) -> None:
    world.cloud.after.append(lambda verb, kind, record: record.update(status="BUILD"))
    stack = await things.create("f9", hot({f"t{n}": thing() for n in range(300)}))
    await things.until(lambda: len(world.cloud.records.get("thing", {})) >= 100)
    began = asyncio.get_running_loop().time()
    await things.delete(stack)
    assert asyncio.get_running_loop().time() - began < 1
    assert await things.state(stack) == "DELETE_IN_PROGRESS"
    await things.reached(stack, "DELETE_COMPLETE", 30)
    assert world.cloud.records["thing"] == {}


async def test_f011_the_state_is_there_when_the_call_returns(things: Any, world: Any) -> None:
    stack = await things.create("f11", hot({"t": thing()}))
    await things.reached(stack, "CREATE_COMPLETE")

    seen = asyncio.Event()

    async def refuse(verb: str, kind: str, facts: Any) -> None:
        if verb == "delete":
            await seen.wait()
            raise RuntimeError("no")

    world.cloud.faults.append(refuse)
    for _ in range(30):
        seen.clear()
        await things.delete(stack)
        assert await things.state(stack) == "DELETE_IN_PROGRESS"
        seen.set()
        await things.reached(stack, "DELETE_FAILED")
    world.cloud.faults.clear()
    stack2 = await things.create("f11b", hot({"a": plain(value="1")}))
    await things.reached(stack2, "CREATE_COMPLETE")
    for verb, state in (("check", "CHECK"), ("suspend", "SUSPEND"), ("resume", "RESUME")):
        await things.action(stack2, verb)
        assert await things.state(stack2) in (f"{state}_IN_PROGRESS", f"{state}_COMPLETE")
        await things.reached(stack2, f"{state}_COMPLETE")


async def test_f013_an_update_that_keeps_what_another_is_removing(things: Any, world: Any) -> None:
    stack = await things.create("f13", hot({"t": thing(), "k": thing()}))
    await things.reached(stack, "CREATE_COMPLETE")
    removing = asyncio.Event()

    async def slow_delete(verb: str, kind: str, facts: Any) -> None:
        if verb == "delete":
            removing.set()
            await asyncio.sleep(0.2)

    world.cloud.faults.append(slow_delete)
    await things.update(stack, hot({"k": thing()}))
    await removing.wait()
    await things.update(stack, hot({"t": thing(), "k": thing()}))
    await things.reached(stack, "UPDATE_COMPLETE")
    assert len(world.cloud.records["thing"]) == 2
    assert sorted(await things.resources(stack)) == ["k", "t"]


async def test_f014_going_back_after_a_replacement_that_cannot_succeed(things: Any, world: Any) -> None:
    stack = await things.create("f14", hot({"t": thing(1)}))
    await things.reached(stack, "CREATE_COMPLETE")
    physical = (await things.resources(stack))["t"].physical_id
    world.cloud.after.append(
        lambda verb, kind, record: record.update(status="ERROR", fault="fixed IP in use") if record["size"] == 2 else 0
    )
    await things.update(stack, hot({"t": thing(2)}))
    view = await things.reached(stack, "UPDATE_FAILED")
    assert "fixed IP in use" in view.status_reason
    await things.update(stack, hot({"t": thing(1)}))
    await things.reached(stack, "UPDATE_COMPLETE")
    assert list(world.cloud.records["thing"]) == [physical]
    assert (await things.resources(stack))["t"].physical_id == physical


async def test_f018_lists_while_stacks_vanish(things: Any) -> None:
    stacks = [await things.create(f"v{n}", hot({})) for n in range(30)]
    for stack in stacks:
        await things.reached(stack, "CREATE_COMPLETE")
    deleting = asyncio.gather(*(things.delete(stack) for stack in stacks))
    while not deleting.done():
        await things.stacks.list(USER, StackQuery())
    await deleting
    for stack in stacks:
        await things.ended(stack)
    assert (await things.stacks.list(USER, StackQuery()))[1] == 0


async def test_f022_no_op_updates_leave_nothing_behind(things: Any) -> None:
    template = hot({"a": {"type": "OS::Heat::Value", "properties": {"value": 1}}})
    stack = await things.create("f22", template)
    await things.reached(stack, "CREATE_COMPLETE")
    tasks = len(asyncio.all_tasks())
    for _ in range(50):
        await things.update(stack, template)
        await things.reached(stack, "UPDATE_COMPLETE")
    await asyncio.sleep(0.05)
    assert len(asyncio.all_tasks()) <= tasks
    assert not things.orchestrator._trees._running
    assert not things.orchestrator._leases.held


async def test_f030_a_conflict_is_retried_until_the_time_is_up(things: Any, world: Any) -> None:
    stack = await things.create("f30", hot({"t": thing()}))
    await things.reached(stack, "CREATE_COMPLETE")
    refusals = [4]

    def busy(verb: str, kind: str, facts: Any) -> None:
        if verb == "delete" and refusals[0]:
            refusals[0] -= 1
            raise CloudConflict("the port is in use by server-7", code=409)

    world.cloud.faults.append(busy)
    await things.delete(stack)
    await things.reached(stack, "DELETE_COMPLETE")
    assert world.cloud.records["thing"] == {}


async def test_f030_a_conflict_for_ever_fails_at_the_time_out_with_the_text(types: None, world: Any) -> None:
    world.settings["stack_timeout"] = timedelta(seconds=1)

    def busy(verb: str, kind: str, facts: Any) -> None:
        if verb == "delete":
            raise CloudConflict("the port is in use by server-7", code=409)

    world.cloud.faults.append(busy)
    engine = await world.engine()
    await engine.orchestrator.start()
    stack = await engine.create("f30b", hot({"t": thing()}))
    await engine.reached(stack, "CREATE_COMPLETE")
    await engine.delete(stack)
    view = await engine.reached(stack, "DELETE_FAILED")
    assert "server-7" in view.status_reason
    await engine.orchestrator.stop()
    await engine.database.close()


async def test_f123_an_unchanged_update_writes_nothing_to_the_cloud(things: Any, world: Any) -> None:
    stack = await things.create("f123", hot({"t": thing(), "u": thing(2, depends_on="t")}))
    await things.reached(stack, "CREATE_COMPLETE")
    world.cloud.asked.clear()
    again = {"u": {"depends_on": "t", "properties": {"size": "2"}, "type": "Test::Thing"}, "t": thing()}
    await things.update(stack, hot(again))
    await things.reached(stack, "UPDATE_COMPLETE")
    assert [call for call in world.cloud.asked if call[0] not in ("get", "list")] == []


async def test_f150_a_lost_answer_makes_one_thing_only(things: Any, world: Any) -> None:
    def lose(verb: str, kind: str, record: Any) -> None:
        if len(world.cloud.records["thing"]) == 1:
            raise CloudUncertain("connection reset")

    world.cloud.after.append(lose)
    stack = await things.create("f150", hot({"t": thing()}))
    await things.reached(stack, "CREATE_COMPLETE")
    assert list(world.cloud.records["thing"]) == [(await things.resources(stack))["t"].physical_id]
