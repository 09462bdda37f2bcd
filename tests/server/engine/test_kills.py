"""An engine that dies at any write is taken over by another one: nothing twice, nothing left (F001)."""

import asyncio
import dataclasses
import random
import uuid
from datetime import timedelta
from typing import Any

import pytest
from dying_engines import survive
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calor.server.cloud.door import Collection
from calor.server.resources.base import ResourceType
from calor.server.store import queries
from calor.server.store.writes import LeaseLost

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

THINGS = Collection(service="compute", single="thing", plural="things")


@dataclasses.dataclass(frozen=True, kw_only=True)
class MortalProps:
    size: int = 1
    refers: str | None = None


class Mortal(ResourceType[MortalProps]):
    """Something in the cloud, found again by its name."""

    name, props, collection = "Test::Mortal", MortalProps, THINGS

    async def create(self, at: Any, want: MortalProps) -> str:
        record = await at.cloud.create(THINGS, name=at.me.physical_name, size=want.size)
        return str(record["id"])

    async def find_twin(self, at: Any, want: MortalProps) -> str | None:
        found = await at.cloud.list(THINGS, name=at.me.physical_name)
        return str(found[0]["id"]) if found else None


def template(size: int, count: int = 4) -> dict[str, Any]:
    resources: dict[str, Any] = {"seed": {"type": "OS::Heat::RandomString"}}
    for n in range(count):
        needs = [f"t{n - 1}"] if n % 2 else []
        resources[f"t{n}"] = {"type": "Test::Mortal", "properties": {"size": size}, "depends_on": needs}
    member = {"type": "Test::Mortal", "properties": {"size": size}}
    group = {"count": 2, "resource_def": member}
    resources["g"] = {"type": "OS::Heat::ResourceGroup", "properties": group, "depends_on": "seed"}
    return {"heat_template_version": "2021-04-16", "resources": resources}


def live(world: Any) -> list[int]:
    return sorted(one["size"] for one in world.cloud.records.get("thing", {}).values())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
async def test_f001_kills_at_random_writes_over_a_whole_life(world: Any, seed: int) -> None:
    world.types.append(Mortal)
    world.settings["lease_ttl"] = timedelta(seconds=5)
    dice = random.Random(seed)
    engine = await world.engine()
    await engine.orchestrator.start()
    stack = await engine.create("mortal", template(1))
    await engine.reached(stack, "CREATE_COMPLETE")
    await engine.orchestrator.stop()
    await engine.database.close()

    def deaths() -> list[tuple[int, bool]]:
        return [(dice.randint(4, 22), dice.random() < 0.5) for _ in range(dice.randint(1, 3))]

    async def update(one: Any) -> None:
        await one.update(stack, template(2, 3))

    async def delete(one: Any) -> None:
        await one.delete(stack)

    engine = await survive(world, update, deaths())
    view = await engine.ended(stack)
    if view.action.value == "CREATE":  # it died before the update was accepted
        await engine.update(stack, template(2, 3))
        view = await engine.ended(stack)
    assert f"{view.action.value}_{view.status.value}" == "UPDATE_COMPLETE", view.status_reason
    assert live(world) == [2] * 5
    await engine.orchestrator.stop()
    await engine.database.close()

    engine = await survive(world, delete, deaths())
    view = await engine.ended(stack)
    if view.action.value != "DELETE":
        await engine.delete(stack)
        view = await engine.ended(stack)
    assert f"{view.action.value}_{view.status.value}" == "DELETE_COMPLETE", view.status_reason
    assert live(world) == []
    await engine.orchestrator.stop()
    await engine.database.close()


@pytest.mark.slow
@pytest.mark.parametrize("left", range(2, 22))
async def test_f001_f195_a_create_killed_at_each_write(world: Any, left: int) -> None:
    """Also between the cloud's answer and its being written down: what is there already is found, not made again."""
    world.types.append(Mortal)
    world.settings["lease_ttl"] = timedelta(seconds=5)

    async def create(one: Any) -> None:
        await one.create("young", template(1))

    engine = await survive(world, create, [(left, left % 2 == 0)])
    row = await queries.live_stack(engine.database, "p1", "young")
    if row is None:  # it died before the create was accepted
        assert live(world) == []
    else:
        view = await engine.reached(await engine.stacks.identify(user(), "young"), "CREATE_COMPLETE")
        assert view.status.value == "COMPLETE"
        assert live(world) == [1] * 6
    await engine.orchestrator.stop()
    await engine.database.close()


def user() -> Any:
    from calor.server.identity import Caller

    return Caller(user_id="u1", project_id="p1", roles=frozenset({"member"}), user_name="user1", token="t1")


async def test_a_zombie_cannot_write(world: Any) -> None:
    first = await world.engine()
    await first.orchestrator.start()
    slow = {"type": "OS::Heat::TestResource", "properties": {"action_wait_secs": {"create": 4}}}
    stack = await first.create("z", {"heat_template_version": "2021-04-16", "resources": {"a": slow}})
    operation = first.orchestrator._trees.find(stack.id)
    await asyncio.sleep(0.2)  # its resource is being made, and nothing more is written
    world.clock.shift += timedelta(seconds=60)
    for chore in first.orchestrator._chores:
        chore.cancel()
    second = await world.engine()
    await second.orchestrator.start()
    assert stack.id in second.orchestrator._leases.held
    with pytest.raises(LeaseLost):
        await operation.tree.change_stack(stack.id, status_reason="undead")
    await second.reached(stack, "CREATE_COMPLETE")
    assert len(await second.resources(stack)) == 1
    await first.orchestrator.stop()
    await second.orchestrator.stop()
    await first.database.close()
    await second.database.close()


VERBS = st.lists(st.sampled_from(["grow", "shrink", "replace", "cancel", "wait"]), min_size=1, max_size=6)


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(VERBS)
async def test_whatever_is_asked_a_delete_leads_out(world: Any, verbs: list[str]) -> None:
    world.types = [Mortal]
    world.cloud.records.clear()
    engine = await world.engine()
    await engine.orchestrator.start()
    size, count = 1, 3
    stack = await engine.create(f"any-{uuid.uuid4().hex}", template(size, count))
    for verb in verbs:
        if verb == "wait":
            await engine.ended(stack)
        elif verb == "cancel":
            try:
                await engine.action(stack, "cancel_without_rollback")
            except Exception as error:
                assert type(error).__name__ == "NotSupported"
        else:
            count += {"grow": 1, "shrink": -1, "replace": 0}[verb]
            size += verb == "replace"
            count = max(count, 0)
            await engine.update(stack, template(size, count))
    await engine.update(stack, template(size, count))
    await engine.reached(stack, "UPDATE_COMPLETE")
    assert live(world) == [size] * (count + 2)
    await engine.delete(stack)
    await engine.reached(stack, "DELETE_COMPLETE")
    assert live(world) == []
    await engine.orchestrator.stop()
    await engine.database.close()
