"""A real SQLite file, a small cloud in memory, and orchestrators on them."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from calor.server import store

sys.path.insert(0, str(Path(__file__).parent / "world"))  # tests are no packages: this is how they share code

from agent_hosts import Host
from cloud_things import Raising, Thing
from engine_world import Engine, World, running


@pytest.fixture
async def world(tmp_path: Path) -> World:
    url = f"sqlite:///{tmp_path}/calor.sqlite"
    await store.upgrade(url)
    return World(url)


@pytest.fixture
async def engine(world: World) -> AsyncIterator[Engine]:
    async with running(world) as one:
        yield one


@pytest.fixture
def types(world: World) -> None:
    world.types += [Thing, Raising]


@pytest.fixture
async def things(types: None, engine: Engine) -> Engine:
    return engine


@pytest.fixture
async def hosts(engine: Engine) -> Engine:
    known: Any = engine.orchestrator._tools.registry
    known._types[Host.name] = Host()
    return engine
