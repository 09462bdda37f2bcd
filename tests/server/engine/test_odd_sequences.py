"""Whatever is asked, in whatever order and however fast: the end is what was asked last, and a delete leads out."""

import asyncio
import dataclasses
import gc
import itertools
import os
import random
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calor.server.cloud.door import Collection
from calor.server.cloud.errors import CloudConflict, CloudFailed, CloudUncertain
from calor.server.errors import CalorError
from calor.server.resources.base import ResourceType
from calor.server.resources.declare import UPDATABLE

SEATS = Collection(service="compute", single="guest", plural="guests")
VERBS = ("update", "grow", "shrink", "replace", "rename", "nest", "cancel", "roll back", "suspend", "resume", "check")
ROUNDS = int(os.environ.get("CALOR_NO_OP_UPDATES", "300"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class SeatedProps:
    seat: str
    shape: int = 1
    note: Annotated[str, UPDATABLE] = ""
    after: str | None = None


class Seated(ResourceType[SeatedProps]):
    """Something that is alone on its seat, can be suspended, and takes a moment for everything."""

    name, props, collection = "Test::Seated", SeatedProps, SEATS
    supports = frozenset({"suspend", "resume", "check"})

    async def create(self, at: Any, want: SeatedProps) -> str:
        if taken := await at.cloud.list(SEATS, seat=want.seat):
            raise CloudConflict(f"{want.seat} is taken by {taken[0]['name']}", code=409)
        record = await at.cloud.create(
            SEATS, name=at.me.physical_name, seat=want.seat, shape=want.shape, note=want.note
        )
        return str(record["id"])

    async def find_twin(self, at: Any, want: SeatedProps) -> str | None:
        found = await at.cloud.list(SEATS, name=at.me.physical_name)
        return str(found[0]["id"]) if found else None

    async def update(self, at: Any, want: SeatedProps, was: SeatedProps, changed: frozenset[str]) -> None:
        await at.cloud.update(SEATS, at.me.physical_id, note=want.note)

    async def release(self, at: Any, was: SeatedProps, want: SeatedProps | None) -> None:
        if want is None or want.seat == was.seat:
            await at.cloud.update(SEATS, at.me.physical_id, seat=None)

    async def reclaim(self, at: Any, was: SeatedProps) -> None:
        others = await at.cloud.list(SEATS, seat=was.seat)
        if any(one["id"] != at.me.physical_id for one in others):
            raise CloudConflict(f"{was.seat} is taken by {others}", code=409)
        await at.cloud.update(SEATS, at.me.physical_id, seat=was.seat)

    async def suspend(self, at: Any, was: SeatedProps) -> None:
        await at.cloud.update(SEATS, at.me.physical_id, asleep=True)

    async def resume(self, at: Any, was: SeatedProps) -> None:
        await at.cloud.update(SEATS, at.me.physical_id, asleep=False)

    async def check(self, at: Any, was: SeatedProps) -> None:
        await at.cloud.get(SEATS, at.me.physical_id)


@dataclasses.dataclass
class Wanted:
    """What the stack is to be."""

    count: int = 3
    shape: int = 1
    note: str = ""
    members: int = 1

    def change(self, verb: str, dice: random.Random) -> None:
        if verb == "grow":
            self.count += 1
        elif verb == "shrink":
            self.count = max(1, self.count - 1)
        elif verb == "replace":
            self.shape = dice.randint(1, 3)
        elif verb == "rename":
            self.note = f"note {dice.randint(1, 9)}"
        elif verb == "nest":
            self.members = dice.randint(0, 3)

    def template(self, who: str) -> dict[str, Any]:
        resources: dict[str, Any] = {"seed": {"type": "OS::Heat::RandomString"}}
        for n in range(self.count):
            properties: dict[str, Any] = {"seat": f"{who} {n}", "shape": self.shape, "note": self.note}
            if n:
                properties["after"] = {"get_resource": f"t{n - 1}"}
            resources[f"t{n}"] = {"type": "Test::Seated", "properties": properties}
        member = {"type": "Test::Seated", "properties": {"seat": f"{who} member %index%", "shape": self.shape}}
        group = {"count": self.members, "resource_def": member}
        resources["group"] = {"type": "OS::Heat::ResourceGroup", "properties": group}
        return {"heat_template_version": "2021-04-16", "resources": resources}

    def world(self, who: str) -> list[tuple[str, int]]:
        seats = [(f"{who} {n}", self.shape) for n in range(self.count)]
        return sorted([*seats, *((f"{who} member {n}", self.shape) for n in range(self.members))])


def present(world: Any, who: str) -> list[tuple[str, int]]:
    known = world.cloud.records.get("guest", {}).values()
    return sorted((str(one["seat"]), one["shape"]) for one in known if who in one["name"])


def trouble(dice: random.Random, share: float) -> Any:
    """Some calls take a while, are refused, or lose their answer."""

    async def strike(verb: str, kind: str, facts: dict[str, Any]) -> None:
        luck = dice.random()
        if luck < share:
            await asyncio.sleep(dice.random() * 0.02)
        elif luck < share * 1.2 and verb == "create":
            raise CloudFailed("no room today")
        elif luck < share * 1.4 and verb == "delete":
            raise CloudConflict("still in use", code=409)

    return strike


def losing(dice: random.Random, share: float) -> Any:
    def lose(verb: str, kind: str, record: dict[str, Any]) -> None:
        if dice.random() < share:
            raise CloudUncertain("the answer was lost")

    return lose


@pytest.fixture
async def engine(world: Any) -> AsyncIterator[Any]:
    world.types.append(Seated)
    one = await world.engine()
    await one.orchestrator.start()
    yield one
    await one.orchestrator.stop()
    await one.database.close()


async def ask(engine: Any, stack: Any, verb: str, wanted: Wanted, who: str) -> None:
    """One request; what is illegal just now may be refused, in Heat's words."""
    try:
        if verb == "cancel":
            await engine.action(stack, "cancel_without_rollback")
        elif verb == "roll back":
            await engine.action(stack, "cancel_update")
        elif verb in ("suspend", "resume", "check"):
            await engine.action(stack, verb)
        else:
            await engine.update(stack, wanted.template(who))
    except CalorError as error:
        assert type(error).__name__ == "NotSupported", error


STEPS = st.lists(st.tuples(st.sampled_from(VERBS), st.sampled_from([0.0, 0.0, 0.004, 0.02, 1.0])), max_size=9)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS, seed=st.integers(0, 10**6), rollback=st.booleans(), share=st.sampled_from([0.0, 0.1, 0.3]))
async def test_any_sequence_ends_in_the_world_that_was_asked_for_last(
    world: Any, engine: Any, steps: list[tuple[str, float]], seed: int, rollback: bool, share: float
) -> None:
    dice, wanted, who = random.Random(seed), Wanted(), uuid.uuid4().hex[:6]
    world.cloud.faults, world.cloud.after = [trouble(dice, share)], [losing(dice, share / 5)]
    stack = await engine.create(f"odd-{who}", wanted.template(who), disable_rollback=not rollback)
    for verb, pause in steps:
        if pause == 1.0:
            await engine.ended(stack)
        else:
            await asyncio.sleep(pause)
        wanted.change(verb, dice)
        await ask(engine, stack, verb, wanted, who)
    world.cloud.faults, world.cloud.after = [], []
    await engine.ended(stack)
    if (await engine.state(stack)).startswith("SUSPEND"):
        await engine.action(stack, "resume")
        await engine.ended(stack)
    await engine.update(stack, wanted.template(who), disable_rollback=True)
    await engine.reached(stack, "UPDATE_COMPLETE")
    assert present(world, who) == wanted.world(who)
    await engine.delete(stack)
    await engine.reached(stack, "DELETE_COMPLETE")
    assert present(world, who) == []


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS, seed=st.integers(0, 10**6))
async def test_a_delete_at_any_moment_leaves_nothing(
    world: Any, engine: Any, steps: list[tuple[str, float]], seed: int
) -> None:
    dice, wanted, who = random.Random(seed), Wanted(), uuid.uuid4().hex[:6]
    world.cloud.faults, world.cloud.after = [trouble(dice, 0.2)], [losing(dice, 0.05)]
    stack = await engine.create(f"odd-{who}", wanted.template(who))
    for verb, pause in steps:
        await asyncio.sleep(min(pause, 0.05))
        wanted.change(verb, dice)
        await ask(engine, stack, verb, wanted, who)
    await engine.delete(stack)
    await engine.reached(stack, "DELETE_COMPLETE")
    assert present(world, who) == []


def resident() -> float:
    """MB of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


@pytest.mark.slow
async def test_f022_no_op_updates_take_no_memory(engine: Any) -> None:
    wanted = Wanted(count=5, members=2)
    stack = await engine.create("same", wanted.template("same"))
    await engine.reached(stack, "CREATE_COMPLETE")
    sizes, tasks = [], []
    for turn in itertools.count():
        await engine.update(stack, wanted.template("same"))
        await engine.reached(stack, "UPDATE_COMPLETE")
        if turn == ROUNDS // 4 or turn == ROUNDS:
            await asyncio.sleep(0.1)
            gc.collect()
            sizes.append(resident())
            tasks.append(len(asyncio.all_tasks()))
        if turn == ROUNDS:
            break
    assert sizes[1] - sizes[0] < 10, sizes
    assert tasks[1] <= tasks[0]
