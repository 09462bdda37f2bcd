"""Things in the cloud, and resources that raise what they are told to: for the tests of what goes wrong."""

import asyncio
import dataclasses
from typing import Annotated, Any

from calor.server.cloud.door import Collection
from calor.server.cloud.errors import CloudConflict
from calor.server.resources.base import ResourceType
from calor.server.resources.declare import UPDATABLE

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


def hot(resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"heat_template_version": "2021-04-16", "resources": resources, **more}


def thing(size: int = 1, **more: Any) -> dict[str, Any]:
    return {"type": "Test::Thing", "properties": {"size": size}, **more}


def plain(**properties: Any) -> dict[str, Any]:
    return {"type": "OS::Heat::TestResource", "properties": properties}


def group_of_things() -> dict[str, Any]:
    return {"type": "OS::Heat::ResourceGroup", "properties": {"count": 2, "resource_def": {"type": "Test::Thing"}}}
