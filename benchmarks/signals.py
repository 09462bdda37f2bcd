"""What instances send: signals and metadata polls."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.harness import Client, client, dev
from benchmarks.rows import Rows
from benchmarks.stacks import HOT

Row = dict[str, Any]

WAITING = {
    "heat_template_version": HOT,
    "resources": {
        "handle": {"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": "CFN_SIGNAL"}},
        "wait": {
            "type": "OS::Heat::WaitCondition",
            "properties": {"handle": {"get_resource": "handle"}, "timeout": 600, "count": 1},
        },
    },
}


async def signal_to_complete() -> AsyncIterator[Row]:
    """From a client's sending of a signal by HTTP to the resource COMPLETE and durable. Nobody polls meanwhile: the end
    is the moment at which the server wrote the stack's end (`event.at`, the same machine's clock), which it does once
    the resource's is committed. ``answered`` is when the sender had his answer."""
    sent, answered = dict[str, float](), []
    async with dev("--driver", "record") as cloud, client(cloud.ready) as heat:
        for number in range(30):
            name = f"signal-{number}"
            ident = await heat.create(name, WAITING)
            await _until_waiting(heat, name, ident)
            sent[ident] = time.time()
            await heat.call("POST", f"/stacks/{name}/{ident}/resources/handle/signal", json={"id": "1"})
            answered.append(time.time() - sent[ident])
            await heat.finished(name, ident, "CREATE")
        rows = await Rows.of(Path(cloud.ready["clouds_yaml"]).parent / "calor.sqlite")
    took = [moment.timestamp() - sent[ident] for ident, moment in _ends(rows)]
    yield {
        "bench": "signal-to-complete",
        "p50_ms": round(statistics.median(took) * 1000, 1),
        "max_ms": round(max(took) * 1000, 1),
        "answered_p50_ms": round(statistics.median(answered) * 1000, 1),
    }


async def _until_waiting(heat: Client, name: str, ident: str) -> None:
    while True:
        answer = await heat.call("GET", f"/stacks/{name}/{ident}/resources/wait")
        if answer["resource"]["resource_status"] == "CREATE_IN_PROGRESS":
            return
        await asyncio.sleep(0.01)


def _ends(rows: Rows) -> Iterator[tuple[str, datetime]]:
    """Each stack with the moment at which it was COMPLETE."""
    for event in rows.of_table("event"):
        if event["physical_id"] == event["stack_id"] and event["status"].value == "COMPLETE":
            yield event["stack_id"], event["at"]


async def metadata_polls() -> AsyncIterator[Row]:
    """`GET software_deployments/metadata/{server}` with 5 deployments, 20 connections, 5 seconds."""
    async with dev("--driver", "record") as cloud, client(cloud.ready) as heat:
        server = "5d5d5d5d-0000-4000-8000-000000000001"
        for number in range(5):
            config = await heat.call(
                "POST", "/software_configs", json={"name": f"c{number}", "group": "script", "config": "#!/bin/sh\n"}
            )
            body = {"config_id": config["software_config"]["id"], "server_id": server, "action": "CREATE"}
            await heat.call("POST", "/software_deployments", json=body)
        count, until = 0, time.perf_counter() + 5

        async def poll() -> None:
            nonlocal count
            while time.perf_counter() < until:
                await heat.call("GET", f"/software_deployments/metadata/{server}")
                count += 1

        await asyncio.gather(*(poll() for _ in range(20)))
        yield {"bench": "metadata-polls", "per_second": round(count / 5)}
