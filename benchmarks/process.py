"""The processes themselves: cold start and idle memory."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from benchmarks.harness import cpu_seconds, dev, memory_mb

Row = dict[str, Any]


async def cold_start() -> AsyncIterator[Row]:
    for repeat in range(3):
        async with dev("--driver", "record") as cloud:
            yield {"bench": "cold-start", "repeat": repeat, "ready_s": round(cloud.seconds_to_ready, 3)}


async def idle() -> AsyncIterator[Row]:
    """Server and dev cloud in one process, after 10 s without a request."""
    async with dev("--driver", "record") as cloud:
        await asyncio.sleep(5)
        before = cpu_seconds(cloud.pid)
        await asyncio.sleep(5)
        cpu = cpu_seconds(cloud.pid) - before
        yield {"bench": "idle", "pss_mb": memory_mb(cloud.pid), "cpu_s_in_5s": round(cpu, 3)}
