"""Stacks without side effects: flat, chain, many at once."""

import asyncio
import sqlite3
import tempfile
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from benchmarks.harness import Client, client, dev

Row = dict[str, Any]
HOT = "2021-04-16"


def flat(size: int, salt: str = "") -> dict[str, Any]:
    """Resources that do not know of each other."""
    one = {"type": "OS::Heat::RandomString", "properties": {"length": 16, "salt": salt}}
    return {"heat_template_version": HOT, "resources": {f"r{n}": one for n in range(size)}}


def chain(size: int) -> dict[str, Any]:
    """Each resource reads the one before."""
    resources: dict[str, Any] = {"r0": {"type": "OS::Heat::Value", "properties": {"value": "x"}}}
    for n in range(1, size):
        value = {"get_attr": [f"r{n - 1}", "value"]}
        resources[f"r{n}"] = {"type": "OS::Heat::Value", "properties": {"value": value}}
    return {"heat_template_version": HOT, "resources": resources}


async def _timed(work: Any) -> float:
    began = time.perf_counter()
    await work
    return round(time.perf_counter() - began, 3)


async def _life(heat: Client, name: str, template: dict[str, Any]) -> Row:
    async def create() -> None:
        nonlocal ident
        ident = await heat.create(name, template)
        await heat.finished(name, ident, "CREATE")

    async def update() -> None:
        await heat.update(name, ident, template)
        await heat.finished(name, ident, "UPDATE")

    async def delete() -> None:
        await heat.delete(name, ident)
        await heat.finished(name, ident, "DELETE")

    ident = ""
    return {
        "create_s": await _timed(create()),
        "noop_update_s": await _timed(update()),
        "delete_s": await _timed(delete()),
    }


def insert_rows(size: int) -> float:
    """The floor: as many rows of the same width in a SQLite file, one transaction (seconds)."""
    with tempfile.TemporaryDirectory() as folder:
        database = sqlite3.connect(Path(folder, "floor.sqlite"))
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE r (id TEXT PRIMARY KEY, name TEXT, type TEXT, status TEXT, body TEXT)")
        database.execute("CREATE TABLE e (id TEXT PRIMARY KEY, name TEXT, type TEXT, status TEXT, body TEXT)")
        began = time.perf_counter()
        rows = [(str(uuid.uuid4()), f"r{n}", "OS::Heat::RandomString", "COMPLETE", "x" * 200) for n in range(size)]
        database.executemany("INSERT INTO r VALUES (?,?,?,?,?)", rows)
        database.executemany("INSERT INTO e VALUES (?,?,?,?,?)", rows)
        database.commit()
        elapsed = time.perf_counter() - began
        database.close()
    return round(elapsed, 4)


async def flat_1000() -> AsyncIterator[Row]:
    async with dev("--driver", "record") as cloud, client(cloud.ready) as heat:
        for repeat in range(3):
            yield {"bench": "flat-1000", "repeat": repeat, "insert_s": insert_rows(1000)} | await _life(
                heat, f"flat-{repeat}", flat(1000)
            )


async def chain_200() -> AsyncIterator[Row]:
    async with dev("--driver", "record") as cloud, client(cloud.ready) as heat:
        for repeat in range(3):
            yield {"bench": "chain-200", "repeat": repeat} | await _life(heat, f"chain-{repeat}", chain(200))


async def many_100() -> AsyncIterator[Row]:
    """100 stacks of 10 resources, 20 at a time, created and deleted."""
    async with dev("--driver", "record") as cloud, client(cloud.ready) as heat:
        gate = asyncio.Semaphore(20)

        async def one(number: int) -> float:
            async with gate:
                began = time.perf_counter()
                name = f"many-{number}"
                ident = await heat.create(name, flat(10))
                await heat.finished(name, ident, "CREATE")
                took = time.perf_counter() - began
                await heat.delete(name, ident)
                await heat.finished(name, ident, "DELETE")
                return took

        began = time.perf_counter()
        creates = sorted(await asyncio.gather(*(one(n) for n in range(100))))
        yield {
            "bench": "many-100",
            "wall_s": round(time.perf_counter() - began, 2),
            "create_p50_s": round(creates[50], 3),
            "create_p99_s": round(creates[98], 3),
        }
