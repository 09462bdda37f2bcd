"""What must hold when things go wrong: the field reports of section A and B, by number."""

import asyncio
import dataclasses
from datetime import timedelta
from typing import Annotated, Any

import pytest

from calor.server.cloud.door import Collection
from calor.server.cloud.errors import CloudConflict, CloudRefused, CloudUncertain
from calor.server.engine.views import StackQuery
from calor.server.errors import NotSupported
from calor.server.identity import Caller
from calor.server.resources.base import ResourceType
from calor.server.resources.declare import UPDATABLE
from calor.server.store import models
from calor.server.store.writes import Change

USER = Caller(user_id="u1", project_id="p1", roles=frozenset({"member"}), user_name="user1", token="t1")
THINGS = Collection(service="compute", single="thing", plural="things")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ThingProps:
    size: int = 1
    note: Annotated[str, UPDATABLE] = ""


class Thing(ResourceType[ThingProps]):
    """Something in the cloud, found again by its name."""

    name, props, collection = "Test::Thing", ThingProps, THINGS

    async def create(self, at: Any, want: ThingProps) -> str:
        record = await at.cloud.create(THINGS, name=at.me.physical_name, size=want.size, note=want.note)
        return str(record["id"])

    async def find_twin(self, at: Any, want: ThingProps) -> str | None:
        found = await at.cloud.list(THINGS, name=at.me.physical_name)
        return str(found[0]["id"]) if found else None

    async def update(self, at: Any, want: ThingProps, was: ThingProps, changed: frozenset[str]) -> None:
        await at.cloud.update(THINGS, at.me.physical_id, note=want.note)

    async def check(self, at: Any, was: ThingProps) -> None:
        await at.cloud.get(THINGS, at.me.physical_id)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RaisingProps:
    what: str


ERRORS: dict[str, BaseException] = {
    "key": KeyError("lost"),
    "recursion": RecursionError("deep"),
    "memory": MemoryError("full"),
    "cancelled": asyncio.CancelledError(),
    "long": CloudConflict("ü" * 100_000 + "\ud800 tail"),
}


class Raising(ResourceType[RaisingProps]):
    """Raises what it is told to."""

    name, props = "Test::Raising", RaisingProps

    async def create(self, at: Any, want: RaisingProps) -> str:
        raise ERRORS[want.what]

    async def delete(self, at: Any, was: RaisingProps | None) -> None:
        """Nothing was made."""


@pytest.fixture
def types(world: Any) -> None:
    world.types += [Thing, Raising]


@pytest.fixture
async def things(types: None, engine: Any) -> Any:
    return engine


def hot(resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"heat_template_version": "2021-04-16", "resources": resources, **more}


def thing(size: int = 1, **more: Any) -> dict[str, Any]:
    return {"type": "Test::Thing", "properties": {"size": size}, **more}


def test_resource(**properties: Any) -> dict[str, Any]:
    return {"type": "OS::Heat::TestResource", "properties": properties}


test_resource.__test__ = False  # type: ignore[attr-defined]


async def test_replacement_keeps_the_old_until_the_new_is_ready(things: Any, world: Any) -> None:
    user = {"type": "OS::Heat::TestResource", "properties": {"value": {"get_resource": "t"}}}
    stack = await things.create("r1", hot({"t": thing(1), "u": user}))
    await things.reached(stack, "CREATE_COMPLETE")
    await things.update(stack, hot({"t": thing(2), "u": user}))
    await things.reached(stack, "UPDATE_COMPLETE")
    assert [one["size"] for one in world.cloud.objects["thing"].values()] == [2]
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
    template = hot({"a": test_resource(value="1"), "b": test_resource(value="1", wait_secs=1)})
    stack = await things.create("f7", template)
    await things.reached(stack, "CREATE_COMPLETE")
    await things.update(stack, hot({"a": test_resource(value="1"), "b": test_resource(value="2", wait_secs=1)}))
    operation = things.orchestrator._trees.find(stack.id)
    row = next(row for row in operation.tree.rows.values() if row.name == "a")
    for number in range(100):
        await operation.tree.change(row.id, meta=f'j{{"n":{number}}}')
    await things.reached(stack, "UPDATE_COMPLETE")


async def test_f009_delete_during_a_large_create_answers_at_once(things: Any, world: Any) -> None:
    world.cloud.after.append(lambda verb, kind, record: record.update(status="BUILD"))
    stack = await things.create("f9", hot({f"t{n}": thing() for n in range(300)}))
    await things.until(lambda: len(world.cloud.objects.get("thing", {})) >= 100)
    began = asyncio.get_running_loop().time()
    await things.delete(stack)
    assert asyncio.get_running_loop().time() - began < 1
    assert await things.state(stack) == "DELETE_IN_PROGRESS"
    await things.reached(stack, "DELETE_COMPLETE", 30)
    assert world.cloud.objects["thing"] == {}


async def test_f011_the_state_is_there_when_the_call_returns(things: Any, world: Any) -> None:
    stack = await things.create("f11", hot({"t": thing()}))
    await things.reached(stack, "CREATE_COMPLETE")

    def refuse(verb: str, kind: str, facts: Any) -> None:
        if verb == "delete":
            raise RuntimeError("no")

    world.cloud.faults.append(refuse)
    for _ in range(30):
        await things.delete(stack)
        assert await things.state(stack) == "DELETE_IN_PROGRESS"
        await things.reached(stack, "DELETE_FAILED")
    world.cloud.faults.clear()
    stack2 = await things.create("f11b", hot({"a": test_resource(value="1")}))
    await things.reached(stack2, "CREATE_COMPLETE")
    for verb, state in (("check", "CHECK"), ("suspend", "SUSPEND"), ("resume", "RESUME")):
        await things.action(stack2, verb)
        assert await things.state(stack2) == f"{state}_IN_PROGRESS"
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
    assert len(world.cloud.objects["thing"]) == 2
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
    assert list(world.cloud.objects["thing"]) == [physical]
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
    assert world.cloud.objects["thing"] == {}


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
    world.cloud.calls.clear()
    again = {"u": {"depends_on": "t", "properties": {"size": "2"}, "type": "Test::Thing"}, "t": thing()}
    await things.update(stack, hot(again))
    await things.reached(stack, "UPDATE_COMPLETE")
    assert [call for call in world.cloud.calls if call[0] not in ("get", "list")] == []


async def test_f150_a_lost_answer_makes_one_thing_only(things: Any, world: Any) -> None:
    def lose(verb: str, kind: str, record: Any) -> None:
        if len(world.cloud.objects["thing"]) == 1:
            raise CloudUncertain("connection reset")

    world.cloud.after.append(lose)
    stack = await things.create("f150", hot({"t": thing()}))
    await things.reached(stack, "CREATE_COMPLETE")
    assert list(world.cloud.objects["thing"]) == [(await things.resources(stack))["t"].physical_id]


async def test_a_stack_time_out_fails_and_stops_what_is_in_flight(types: None, world: Any) -> None:
    world.settings["stack_timeout"] = timedelta(seconds=0.5)
    engine = await world.engine()
    await engine.orchestrator.start()
    stack = await engine.create("slow", hot({"a": test_resource(wait_secs=60)}))
    view = await engine.reached(stack, "CREATE_FAILED", 5)
    assert view.status_reason.startswith("Create timed out")
    assert (await engine.resources(stack))["a"].status_reason == "resources.a: CREATE aborted (timed out)"
    await engine.orchestrator.stop()
    await engine.database.close()


async def test_update_during_update_follows_the_newest_revision(things: Any) -> None:
    def chain(text: str) -> dict[str, Any]:
        return hot(
            {
                "a": test_resource(value=text, wait_secs=0.15),
                "b": {**test_resource(value=text), "depends_on": "a"},
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
    stack = await things.create("cu", hot({"a": test_resource(value="one")}))
    await things.reached(stack, "CREATE_COMPLETE")
    with pytest.raises(NotSupported):
        await things.action(stack, "cancel_update")
    await things.update(stack, hot({"a": test_resource(value="two", wait_secs=30)}))
    await asyncio.sleep(0.05)
    await things.action(stack, "cancel_update")
    await things.reached(stack, "ROLLBACK_COMPLETE")
    assert (await things.resources(stack))["a"].properties["value"] == "one"


async def test_cancel_without_rollback_fails_the_operation(things: Any) -> None:
    stack = await things.create(
        "cw", hot({"a": test_resource(action_wait_secs={"create": 30})}), disable_rollback=False
    )
    await asyncio.sleep(0.05)
    await things.action(stack, "cancel_without_rollback")
    await things.reached(stack, "CREATE_FAILED")
    await things.delete(stack)
    await things.reached(stack, "DELETE_COMPLETE")


async def test_suspended_stacks_refuse_updates_and_resume_needs_suspend(things: Any) -> None:
    stack = await things.create("sr", hot({"a": test_resource(value="x"), "b": {**test_resource(), "depends_on": "a"}}))
    await things.reached(stack, "CREATE_COMPLETE")
    await things.action(stack, "resume")
    await things.reached(stack, "RESUME_FAILED")
    await things.action(stack, "suspend")
    await things.reached(stack, "SUSPEND_COMPLETE")
    with pytest.raises(NotSupported):
        await things.update(stack, hot({}))
    await things.action(stack, "resume")
    await things.reached(stack, "RESUME_COMPLETE")
    await things.update(stack, hot({"a": test_resource(value="z")}))
    await things.reached(stack, "UPDATE_COMPLETE")


async def test_retained_resources_stay_in_the_cloud(things: Any, world: Any) -> None:
    stack = await things.create("keep", hot({"t": thing(deletion_policy="Retain"), "u": thing()}))
    await things.reached(stack, "CREATE_COMPLETE")
    await things.delete(stack)
    await things.reached(stack, "DELETE_COMPLETE")
    assert len(world.cloud.objects["thing"]) == 1


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
    assert list(world.cloud.objects["thing"]) == [record["id"]]


async def test_a_stop_leaves_the_work_to_the_next_process(types: None, world: Any) -> None:
    first = await world.engine()
    await first.orchestrator.start()
    world.cloud.after.append(lambda verb, kind, record: record.update(status="BUILD"))
    resources = {"t": thing(), "v": {"type": "OS::Heat::Value", "properties": {"value": "x"}, "depends_on": "t"}}
    stack = await first.create("stop", hot(resources))
    await first.until(lambda: world.cloud.objects.get("thing"))
    await first.orchestrator.stop()
    assert await first.state(stack) == "CREATE_IN_PROGRESS"
    await first.database.close()
    for record in world.cloud.objects["thing"].values():
        record["status"] = "ACTIVE"
    second = await world.engine()
    await second.orchestrator.start()
    await second.reached(stack, "CREATE_COMPLETE")
    assert len(world.cloud.objects["thing"]) == 1
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
    assert world.cloud.objects["thing"] == {}


async def test_f025_credentials_that_cannot_be_read_do_not_block_a_delete(things: Any, world: Any) -> None:
    stack = await things.create("f25b", hot({"t": thing()}))
    await things.reached(stack, "CREATE_COMPLETE")
    await things.orchestrator._tools.journal.commit(
        [Change(models.Stack, {"id": stack.id}, {"credentials": "sgarbage"})]
    )
    await things.delete(stack)
    await things.reached(stack, "DELETE_COMPLETE")
    assert world.cloud.objects["thing"] == {}


def group_of_things() -> dict[str, Any]:
    return {"type": "OS::Heat::ResourceGroup", "properties": {"count": 2, "resource_def": {"type": "Test::Thing"}}}
