"""Stacks without side effects: flat, chain, many at once."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.harness import Client, client, cpu_seconds, dev
from benchmarks.rows import Rows

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


async def _life(
    heat: Client,
    name: str,
    template: dict[str, Any],
    pid: int,
    after_create: Callable[[], Awaitable[Any]] | None = None,
) -> Row:
    """Walls, and of the create the server's CPU; with ``rows``, what ``after_create`` has found."""

    ident = ""

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

    cpu = cpu_seconds(pid)
    row: Row = {"create_s": await _timed(create()), "create_cpu_s": round(cpu_seconds(pid) - cpu, 2)}
    if after_create is not None:
        row["rows"] = await after_create()
    return row | {"noop_update_s": await _timed(update()), "delete_s": await _timed(delete())}


async def flat_1000() -> AsyncIterator[Row]:
    """Create, unchanged update and delete of 1,000 random strings, seen by a client that polls each 10 ms.

    ``insert_s`` is the floor of the create: all rows that it left (`Rows`), inserted again by the same driver into an
    empty database of the same schema. ``ratio`` is wall to wall, ``cpu_ratio`` the server's CPU to that of inserting.
    """
    async with dev("--driver", "record") as cloud, client(cloud.ready) as heat:
        database = Path(cloud.ready["clouds_yaml"]).parent / "calor.sqlite"
        for repeat in range(3):
            before = await Rows.of(database)
            row = await _life(heat, f"flat-{repeat}", flat(1000), cloud.pid, lambda: Rows.of(database))
            floor = await (row.pop("rows") - before).inserted()
            row["insert_s"], row["insert_cpu_s"] = floor.wall, floor.cpu
            row["ratio"] = round(row["create_s"] / floor.wall, 1)
            row["cpu_ratio"] = round(row["create_cpu_s"] / floor.cpu, 1)
            yield {"bench": "flat-1000", "repeat": repeat} | row


async def chain_200() -> AsyncIterator[Row]:
    async with dev("--driver", "record") as cloud, client(cloud.ready) as heat:
        for repeat in range(3):
            yield {"bench": "chain-200", "repeat": repeat} | await _life(heat, f"chain-{repeat}", chain(200), cloud.pid)


async def many_100() -> AsyncIterator[Row]:
    """100 stacks of 10 resources, 20 at a time, created and deleted, by clients that look each 50 ms.

    ``requests_per_s`` counts all that the server was asked, what the clients look at being most of it.
    """
    async with dev("--driver", "record") as cloud, client(cloud.ready) as heat:
        gate = asyncio.Semaphore(20)
        asked: list[int] = []

        async def one(number: int) -> float:
            async with gate:
                began = time.perf_counter()
                name = f"many-{number}"
                ident = await heat.create(name, flat(10))
                asked.append(1 + await heat.finished(name, ident, "CREATE", 0.05))
                took = time.perf_counter() - began
                await heat.delete(name, ident)
                asked.append(1 + await heat.finished(name, ident, "DELETE", 0.05))
                return took

        began, cpu = time.perf_counter(), cpu_seconds(cloud.pid)
        creates = sorted(await asyncio.gather(*(one(n) for n in range(100))))
        wall = time.perf_counter() - began
        yield {
            "bench": "many-100",
            "wall_s": round(wall, 2),
            "cpu_s": round(cpu_seconds(cloud.pid) - cpu, 2),
            "requests_per_s": round(sum(asked) / wall),
            "create_p50_s": round(creates[50], 3),
            "create_p99_s": round(creates[98], 3),
        }
