"""What exists once only passes from an incarnation to its replacement, and back where the replacement fails (F014)."""

import dataclasses
from collections.abc import AsyncIterator
from typing import Annotated, Any

import pytest

from calor.server.cloud.door import Collection
from calor.server.cloud.errors import CloudConflict, CloudFailed
from calor.server.resources.base import ResourceType
from calor.server.resources.declare import UPDATABLE

SEATS = Collection(service="compute", single="sitter", plural="sitters")


@dataclasses.dataclass(frozen=True, kw_only=True)
class SitterProps:
    seat: str
    shape: int = 1
    note: Annotated[str, UPDATABLE] = ""


class Sitter(ResourceType[SitterProps]):
    """One sits on a seat; nobody else can. Another ``shape`` is a replacement."""

    name, props, collection = "Test::Sitter", SitterProps, SEATS

    async def create(self, at: Any, want: SitterProps) -> str:
        if await at.cloud.list(SEATS, seat=want.seat):
            raise CloudConflict(f"the seat {want.seat} is taken", code=409)
        record = await at.cloud.create(SEATS, name=at.me.physical_name, seat=want.seat, shape=want.shape)
        return str(record["id"])

    async def find_twin(self, at: Any, want: SitterProps) -> str | None:
        found = await at.cloud.list(SEATS, name=at.me.physical_name)
        return str(found[0]["id"]) if found else None

    async def release(self, at: Any, was: SitterProps, want: SitterProps | None) -> None:
        if want is None or want.seat == was.seat:
            await at.cloud.update(SEATS, at.me.physical_id, seat=None)

    async def reclaim(self, at: Any, was: SitterProps) -> None:
        if others := [one for one in await at.cloud.list(SEATS, seat=was.seat) if one["id"] != at.me.physical_id]:
            raise CloudConflict(f"the seat {was.seat} is taken by {others}", code=409)
        await at.cloud.update(SEATS, at.me.physical_id, seat=was.seat)


def template(shape: int, **more: Any) -> dict[str, Any]:
    sitter = {"type": "Test::Sitter", "properties": {"seat": "s", "shape": shape, **more}}
    user = {"type": "OS::Heat::Value", "properties": {"value": {"get_resource": "sitter"}}}
    return {"heat_template_version": "2021-04-16", "resources": {"sitter": sitter, "user": user}}


def sitting(world: Any) -> list[tuple[str | None, int]]:
    return [(one["seat"], one["shape"]) for one in world.cloud.records.get("sitter", {}).values()]


def failing_shape(world: Any, shape: int) -> None:
    """What has this shape is made, and then goes bad."""

    def spoil(verb: str, kind: str, record: dict[str, Any]) -> None:
        if record.get("shape") == shape:
            record["status"] = "ERROR"

    world.cloud.after.append(spoil)


@pytest.fixture
async def engine(world: Any) -> AsyncIterator[Any]:
    world.types.append(Sitter)
    one = await world.engine()
    await one.orchestrator.start()
    yield one
    await one.orchestrator.stop()
    await one.database.close()


async def test_the_replacement_sits_where_the_old_one_sat(world: Any, engine: Any) -> None:
    stack = await engine.create("x", template(1))
    await engine.reached(stack, "CREATE_COMPLETE")
    await engine.update(stack, template(2))
    await engine.reached(stack, "UPDATE_COMPLETE")
    assert sitting(world) == [("s", 2)]


@pytest.mark.parametrize("answered", [True, False], ids=["it went bad", "it was refused"])
async def test_f014_a_roll_back_gives_the_seat_back(world: Any, engine: Any, answered: bool) -> None:
    stack = await engine.create("x", template(1), disable_rollback=False)
    await engine.reached(stack, "CREATE_COMPLETE")
    if answered:
        failing_shape(world, 2)
    else:
        world.cloud.faults.append(refusal(2))
    await engine.update(stack, template(2))
    await engine.reached(stack, "ROLLBACK_COMPLETE")
    assert sitting(world) == [("s", 1)]
    await engine.delete(stack)
    await engine.reached(stack, "DELETE_COMPLETE")
    assert sitting(world) == []


async def test_f014_going_back_by_an_update_gives_the_seat_back_and_forth(world: Any, engine: Any) -> None:
    stack = await engine.create("x", template(1))
    await engine.reached(stack, "CREATE_COMPLETE")
    failing_shape(world, 2)
    await engine.update(stack, template(2))
    await engine.reached(stack, "UPDATE_FAILED")
    assert sorted(sitting(world), key=str) == [("s", 2), (None, 1)]
    await engine.update(stack, template(1, note="changed in place meanwhile"))
    await engine.reached(stack, "UPDATE_COMPLETE")
    assert sitting(world) == [("s", 1)]
    await engine.update(stack, template(3))
    await engine.reached(stack, "UPDATE_COMPLETE")
    assert sitting(world) == [("s", 3)]


def refusal(shape: int) -> Any:
    def refuse(verb: str, kind: str, facts: dict[str, Any]) -> None:
        if verb == "create" and facts.get("shape") == shape:
            raise CloudFailed("there is no such shape")

    return refuse
