"""Operations that are cut short, overtaken, cancelled or stopped, and deletions without rights."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from cloud_things import THINGS, group_of_things, hot, plain, thing

from calor.server.cloud.errors import CloudRefused
from calor.server.errors import NotSupported
from calor.server.store import models
from calor.server.store.writes import Change


async def test_a_stack_time_out_fails_and_stops_what_is_in_flight(types: None, world: Any) -> None:
    world.settings["stack_timeout"] = timedelta(seconds=0.5)
    engine = await world.engine()
    await engine.orchestrator.start()
    stack = await engine.create("slow", hot({"a": plain(wait_secs=60)}))
    view = await engine.reached(stack, "CREATE_FAILED", 5)
    assert view.status_reason.startswith("Create timed out")
    assert (await engine.resources(stack))["a"].status_reason == "resources.a: CREATE aborted (timed out)"
    await engine.orchestrator.stop()
    await engine.database.close()


async def test_update_during_update_follows_the_newest_revision(things: Any) -> None:
    def chain(text: str) -> dict[str, Any]:
        return hot(
            {
                "a": plain(value=text, wait_secs=0.15),
                "b": {**plain(value=text), "depends_on": "a"},
            }
        )

    stack = await things.create("uu", chain("0"))
    await things.update(stack, chain("1"))
    await things.update(stack, chain("2"))
    await things.reached(stack, "UPDATE_COMPLETE")
    after = await things.resources(stack)
    assert {view.properties["value"] for view in after.values()} == {"2"}
    assert (await things.events(stack)).count("b CREATE_COMPLETE") == 1


async def test_cancel_update_rolls_back(things: Any) -> None:
    stack = await things.create("cu", hot({"a": plain(value="one")}))
    await things.reached(stack, "CREATE_COMPLETE")
    with pytest.raises(NotSupported):
        await things.action(stack, "cancel_update")
    await things.update(stack, hot({"a": plain(value="two", wait_secs=30)}))
    await asyncio.sleep(0.05)
    await things.action(stack, "cancel_update")
    await things.reached(stack, "ROLLBACK_COMPLETE")
    assert (await things.resources(stack))["a"].properties["value"] == "one"


async def test_cancel_without_rollback_fails_the_operation(things: Any) -> None:
    stack = await things.create("cw", hot({"a": plain(action_wait_secs={"create": 30})}), disable_rollback=False)
    await asyncio.sleep(0.05)
    await things.action(stack, "cancel_without_rollback")
    await things.reached(stack, "CREATE_FAILED")
    await things.delete(stack)
    await things.reached(stack, "DELETE_COMPLETE")


async def test_suspended_stacks_refuse_updates_and_resume_needs_suspend(things: Any) -> None:
    stack = await things.create("sr", hot({"a": plain(value="x"), "b": {**plain(), "depends_on": "a"}}))
    await things.reached(stack, "CREATE_COMPLETE")
    await things.action(stack, "resume")
    await things.reached(stack, "RESUME_FAILED")
    await things.action(stack, "suspend")
    await things.reached(stack, "SUSPEND_COMPLETE")
    with pytest.raises(NotSupported):
        await things.update(stack, hot({}))
    await things.action(stack, "resume")
    await things.reached(stack, "RESUME_COMPLETE")
    await things.update(stack, hot({"a": plain(value="z")}))
    await things.reached(stack, "UPDATE_COMPLETE")


async def test_retained_resources_stay_in_the_cloud(things: Any, world: Any) -> None:
    stack = await things.create("keep", hot({"t": thing(deletion_policy="Retain"), "u": thing()}))
    await things.reached(stack, "CREATE_COMPLETE")
    await things.delete(stack)
    await things.reached(stack, "DELETE_COMPLETE")
    assert len(world.cloud.records["thing"]) == 1


async def test_external_resources_are_checked_and_never_deleted(things: Any, world: Any) -> None:
    record = await world.cloud.create(THINGS, name="mine", size=1)
    template = hot({"a": {"type": "Test::Thing", "external_id": record["id"]}})
    stack = await things.create("ext", template, parameters={})
    await things.reached(stack, "CREATE_COMPLETE")
    assert (await things.resources(stack))["a"].action.value == "CHECK"
    other = hot({"a": {"type": "Test::Thing", "external_id": "other"}})
    await things.update(stack, other)
    await things.reached(stack, "UPDATE_FAILED")
    await things.delete(stack)
    await things.reached(stack, "DELETE_COMPLETE")
    assert list(world.cloud.records["thing"]) == [record["id"]]


async def test_a_stop_leaves_the_work_to_the_next_process(types: None, world: Any) -> None:
    first = await world.engine()
    await first.orchestrator.start()
    world.cloud.after.append(lambda verb, kind, record: record.update(status="BUILD"))
    resources = {"t": thing(), "v": {"type": "OS::Heat::Value", "properties": {"value": "x"}, "depends_on": "t"}}
    stack = await first.create("stop", hot(resources))
    await first.until(lambda: world.cloud.records.get("thing"))
    await first.orchestrator.stop()
    assert await first.state(stack) == "CREATE_IN_PROGRESS"
    await first.database.close()
    for record in world.cloud.records["thing"].values():
        record["status"] = "ACTIVE"
    second = await world.engine()
    await second.orchestrator.start()
    await second.reached(stack, "CREATE_COMPLETE")
    assert len(world.cloud.records["thing"]) == 1
    await second.orchestrator.stop()
    await second.database.close()


async def test_f025_a_delete_goes_on_with_the_rights_of_who_asks(things: Any, world: Any) -> None:
    stack = await things.create("f25", hot({"t": thing(), "g": group_of_things()}))
    await things.reached(stack, "CREATE_COMPLETE")

    def denied(verb: str, kind: str, facts: Any) -> None:
        if verb == "delete" and world.door.opened[-1].kind.value == "trust":
            raise CloudRefused("The trust is gone.", code=401)

    world.cloud.faults.append(denied)
    await things.delete(stack)
    await things.reached(stack, "DELETE_COMPLETE")
    assert world.cloud.records["thing"] == {}


async def test_f025_credentials_that_cannot_be_read_do_not_block_a_delete(things: Any, world: Any) -> None:
    stack = await things.create("f25b", hot({"t": thing()}))
    await things.reached(stack, "CREATE_COMPLETE")
    await things.orchestrator._tools.journal.commit(
        [Change(models.Stack, {"id": stack.id}, {"credentials": "sgarbage"})]
    )
    await things.delete(stack)
    await things.reached(stack, "DELETE_COMPLETE")
    assert world.cloud.records["thing"] == {}
