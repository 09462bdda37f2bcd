"""A real SQLite file, a small cloud in memory, and orchestrators on them."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from calor.server import store
from calor.server.cloud.credentials import CredentialKind, Credentials
from calor.server.cloud.errors import CloudFailed, CloudMissing
from calor.server.engine.orchestrator import Orchestrator
from calor.server.engine.settings import Settings
from calor.server.engine.views import StackIdentity, StackRequest, StackView, Status
from calor.server.identity import Caller, Keys
from calor.server.resources.registry import Types, installed


class MemoryCloud:
    """Objects in dictionaries; `faults` are called before each call and may raise or wait."""

    def __init__(self) -> None:
        self.project_id = "p1"
        self.objects: dict[str, dict[str, dict[str, Any]]] = {}
        self.calls: list[tuple[str, str]] = []
        self.faults: list[Callable[[str, str, dict[str, Any]], Any]] = []
        self.after: list[Callable[[str, str, dict[str, Any]], Any]] = []
        self._ids = itertools.count(1)

    async def _enter(self, verb: str, kind: str, facts: dict[str, Any]) -> None:
        self.calls.append((verb, kind))
        for fault in self.faults:
            answer = fault(verb, kind, facts)
            if asyncio.iscoroutine(answer):
                await answer
        await asyncio.sleep(0)

    async def create(self, of: Any, **body: Any) -> dict[str, Any]:
        await self._enter("create", of.single, body)
        ident = f"{of.single}-{next(self._ids)}"
        record = {"id": ident, "status": "ACTIVE", **body}
        self.objects.setdefault(of.single, {})[ident] = record
        for one in self.after:
            one("create", of.single, record)
        return dict(record)

    async def get(self, of: Any, ident: str) -> dict[str, Any]:
        await self._enter("get", of.single, {"id": ident})
        try:
            return dict(self.objects.get(of.single, {})[ident])
        except KeyError:
            raise CloudMissing(f"no {of.single} {ident}", code=404) from None

    async def find(self, of: Any, name_or_id: str) -> dict[str, Any] | None:
        for record in self.objects.get(of.single, {}).values():
            if name_or_id in (record["id"], record.get("name")):
                return dict(record)
        return None

    async def list(self, of: Any, **query: Any) -> list[dict[str, Any]]:
        await self._enter("list", of.single, query)
        return [
            dict(record)
            for record in self.objects.get(of.single, {}).values()
            if all(record.get(name) == value for name, value in query.items())
        ]

    async def update(self, of: Any, ident: str, **body: Any) -> dict[str, Any]:
        await self._enter("update", of.single, {"id": ident, **body})
        self.objects[of.single][ident].update(body)
        return dict(self.objects[of.single][ident])

    async def delete(self, of: Any, ident: str) -> bool:
        await self._enter("delete", of.single, {"id": ident})
        return self.objects.get(of.single, {}).pop(ident, None) is not None

    async def call(self, service: str, method: str, /, *args: Any, **kwargs: Any) -> Any:
        await self._enter(method, service, {})
        return None

    async def settled(self, of: Any, ident: str, *, ready: frozenset[str], failed: frozenset[str]) -> dict[str, Any]:
        while True:
            record = await self.get(of, ident)
            if record["status"] in ready:
                return record
            if record["status"] in failed:
                raise CloudFailed(f'Went to status {record["status"]} due to "{record.get("fault", "Unknown")}"')
            await asyncio.sleep(0.02)

    async def gone(self, of: Any, ident: str, *, failed: frozenset[str] = frozenset()) -> None:
        while ident in self.objects.get(of.single, {}):
            await asyncio.sleep(0.02)

    async def endpoint(self, service_type: str, *, region: str | None = None) -> str:
        return "http://cloud.example"

    def names(self, single: str) -> Any:
        return sorted(str(one.get("name")) for one in self.objects.get(single, {}).values())


@dataclass
class MemoryDoor:
    cloud: MemoryCloud
    opened: list[Credentials] = field(default_factory=list)
    revoked: list[Credentials] = field(default_factory=list)

    def open(self, credentials: Credentials) -> MemoryCloud:
        self.opened.append(credentials)
        return self.cloud

    async def delegate(self, caller: Caller) -> Credentials:
        return Credentials(
            kind=CredentialKind.TRUST, project_id=caller.project_id, user_id=caller.user_id, ident="trust-1"
        )

    async def revoke(self, credentials: Credentials) -> None:
        self.revoked.append(credentials)

    async def close(self) -> None:
        """Nothing is open."""


class MovingClock:
    def __init__(self) -> None:
        self.shift = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.shift


USER = Caller(user_id="u1", project_id="p1", roles=frozenset({"member"}), user_name="user1", token="t1")


class World:
    """Everything that outlives an orchestrator: the database file, the keys, the cloud."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.keys = Keys.generate()
        self.cloud = MemoryCloud()
        self.door = MemoryDoor(self.cloud)
        self.clock = MovingClock()
        self.types: list[type[Any]] = []
        self.settings: dict[str, Any] = {
            "lease_ttl": timedelta(seconds=3),
            "delete_backoff_first": 0.02,
            "twin_patience": timedelta(),
        }

    def registry(self) -> Types:
        known = installed()
        return Types((*(type(known.get(name)) for name in known.names()), *self.types))

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
            USER, stack.name, stack.id, nested_depth=depth, filters={}, detail=False
        )
        return {view.name: view for view in views}

    async def events(self, stack: StackIdentity) -> list[str]:
        from calor.server.engine.views import EventQuery

        rows = await self.orchestrator.events.list(USER, stack.name, stack.id, None, EventQuery())
        return [f"{row.resource_name} {row.action.value}_{row.status.value}" for row in rows]

    async def signal(self, stack: StackIdentity, resource: str, **details: Any) -> None:
        await self.orchestrator.resources.signal(USER, stack.name, stack.id, resource, details)

    async def until(self, test: Callable[[], Any], seconds: float = 10.0) -> None:
        async with asyncio.timeout(seconds):
            while not (await value if asyncio.iscoroutine(value := test()) else value):
                await asyncio.sleep(0.01)


@pytest.fixture
async def world(tmp_path: Path) -> World:
    url = f"sqlite:///{tmp_path}/calor.sqlite"
    await store.upgrade(url)
    return World(url)


@contextlib.asynccontextmanager
async def running(world: World) -> AsyncIterator[Engine]:
    engine = await world.engine()
    await engine.orchestrator.start()
    try:
        yield engine
    finally:
        await engine.orchestrator.stop()
        await engine.database.close()


@pytest.fixture
async def engine(world: World) -> AsyncIterator[Engine]:
    async with running(world) as one:
        yield one
