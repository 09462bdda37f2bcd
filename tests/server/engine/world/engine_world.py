"""What outlives an engine, and an engine on it: a real SQLite file, a clock that is moved, a cloud in memory."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from scripted_cloud import ScriptedCloud, ScriptedDoor

from calor.server import store
from calor.server.engine.contract.views import EventQuery, StackIdentity, StackRequest, StackView, Status
from calor.server.engine.orchestrator import Orchestrator
from calor.server.engine.settings import Settings
from calor.server.identity import Caller, Keys
from calor.server.resources.registry import Types, installed


class MovingClock:
    """``shift`` is time that goes by; ``jump`` is what somebody sets the machine's clock forward or back by."""

    def __init__(self) -> None:
        self.shift = self.jump = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.shift + self.jump

    def steady(self) -> float:
        return time.monotonic() + self.shift.total_seconds()


USER = Caller(user_id="u1", project_id="p1", roles=frozenset({"member"}), user_name="user1", token="t1")


class World:
    """Everything that outlives an orchestrator: the database file, the keys, the cloud."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.keys = Keys.generate()
        self.cloud = ScriptedCloud()
        self.door = ScriptedDoor(self.cloud)
        self.clock = MovingClock()
        self.types: list[type[Any]] = []
        self.options: dict[str, Any] = {}
        self.settings: dict[str, Any] = {
            "lease_ttl": timedelta(seconds=3),
            "delete_backoff_first": 0.02,
            "twin_patience": timedelta(),
        }

    def registry(self) -> Types:
        known = installed()
        return Types((*(type(known.get(name)) for name in known.names()), *self.types), self.options)

    async def engine(self, database: store.Database | None = None) -> "Engine":
        database = database or await store.open_database(self.url)
        orchestrator = Orchestrator(
            database, self.keys, self.door, self.registry(), Settings(**self.settings), self.clock
        )
        return Engine(self, orchestrator, database)


class Engine:
    """One engine process, with the few verbs that tests need."""

    def __init__(self, world: World, orchestrator: Orchestrator, database: store.Database) -> None:
        self.world = world
        self.orchestrator = orchestrator
        self.database = database

    @property
    def stacks(self) -> Any:
        return self.orchestrator.stacks

    async def create(self, name: str, template: Any, **more: Any) -> StackIdentity:
        return await self.stacks.create(USER, StackRequest(name=name, template=template, **more))

    async def update(self, stack: StackIdentity, template: Any, **more: Any) -> None:
        await self.stacks.update(USER, stack.name, stack.id, StackRequest(template=template, **more))

    async def delete(self, stack: StackIdentity) -> None:
        await self.stacks.delete(USER, stack.name, stack.id)

    async def action(self, stack: StackIdentity, action: str) -> None:
        await self.stacks.action(USER, stack.name, stack.id, action)

    async def show(self, stack: StackIdentity) -> StackView:
        return await self.stacks.show(USER, stack.name, stack.id)

    async def state(self, stack: StackIdentity) -> str:
        view = await self.show(stack)
        return f"{view.action.value}_{view.status.value}"

    async def ended(self, stack: StackIdentity, seconds: float = 20.0) -> StackView:
        async with asyncio.timeout(seconds):
            while True:
                view = await self.show(stack)
                if view.status is not Status.IN_PROGRESS:
                    return view
                await asyncio.sleep(0.01)

    async def reached(self, stack: StackIdentity, state: str, seconds: float = 20.0) -> StackView:
        view = await self.ended(stack, seconds)
        assert f"{view.action.value}_{view.status.value}" == state, view.status_reason
        return view

    async def resources(self, stack: StackIdentity, depth: int = 0) -> dict[str, Any]:
        views = await self.orchestrator.resources.list(
            USER, stack.name, stack.id, nested_depth=depth, filters={}, detail=True
        )
        return {view.name: view for view in views}

    async def events(self, stack: StackIdentity) -> list[str]:
        rows = await self.orchestrator.events.list(USER, stack.name, stack.id, None, EventQuery())
        return [f"{row.resource_name} {row.action.value}_{row.status.value}" for row in rows]

    async def signal(self, stack: StackIdentity, resource: str, **details: Any) -> None:
        await self.orchestrator.resources.signal(USER, stack.name, stack.id, resource, details)

    async def until(self, test: Callable[[], Any], seconds: float = 10.0) -> None:
        async with asyncio.timeout(seconds):
            while not (await value if asyncio.iscoroutine(value := test()) else value):
                await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def running(world: World) -> AsyncIterator[Engine]:
    engine = await world.engine()
    await engine.orchestrator.start()
    try:
        yield engine
    finally:
        await engine.orchestrator.stop()
        await engine.database.close()
