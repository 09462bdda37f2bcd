"""Thousands of instances at once: agents on the long poll, and agents of OpenStack that poll by Heat's or CFN's API."""

import asyncio
import hashlib
import random
import resource
import secrets
import sqlite3
import statistics
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp

from benchmarks.guests import Guest, server_template
from benchmarks.harness import Client, client, cpu_seconds, dev, memory_mb
from benchmarks.stacks import HOT
from calor.cfntools import ec2

Row = dict[str, Any]

AGENTS = 10_000
DELIVERIES = 200
PAUSE = 0.15
"""Seconds: so that what the server does now and then for all of them falls into the measurement."""
WAIT = 25
WATCHED = 30.0
POLLERS = 1_000
PERIOD = 30.0
STACK = 250


def percentiles(seconds: Sequence[float]) -> Row:
    cuts = statistics.quantiles(seconds, n=100)
    return {
        "p50_ms": round(cuts[49] * 1000, 1),
        "p99_ms": round(cuts[98] * 1000, 1),
        "max_ms": round(max(seconds) * 1000, 1),
    }


def allow_files(number: int) -> None:
    """For so many connections of this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < number:
        resource.setrlimit(resource.RLIMIT_NOFILE, (number, max(number, hard)))


class Waiter:
    """An agent that polls as ours does, for ever; ``heard`` has the moment at which it heard of each version."""

    def __init__(self, guest: Guest, server_id: str) -> None:
        self.guest, self.server_id = guest, server_id
        self.version = 0
        self.polls = 0
        self.heard: dict[int, float] = {}

    async def start(self) -> None:
        self.version = await self.guest.poll(0, 0)

    async def work(self) -> None:
        while True:
            found = await self.guest.poll(self.version, WAIT)
            self.polls += 1
            if found != self.version:
                self.heard[found] = time.perf_counter()
                self.version = found


def clone(path: Path, secret: str, number: int) -> list[tuple[str, str]]:
    """(instance, server) of so many more instances, made of the first one's rows, each with this secret."""
    made = [(str(uuid.uuid4()), str(uuid.uuid4())) for _ in range(number)]
    digest = hashlib.sha256(secret.encode()).hexdigest()
    database = sqlite3.connect(path, timeout=60)
    database.row_factory = sqlite3.Row
    with database:
        row = dict(database.execute("SELECT * FROM resource WHERE type = 'OS::Nova::Server'").fetchone())
        instance = row["id"]
        insert(database, "resource", [row | {"id": one, "physical_id": server, "name": one} for one, server in made])
        row = dict(database.execute("SELECT * FROM guest WHERE resource_id = ?", (instance,)).fetchone())
        own = {"secret_hash": digest, "access_key": None, "user_id": None, "last_contact": None}
        insert(database, "guest", [row | own | {"resource_id": one} for one, _ in made])
    database.close()
    return made


def insert(database: sqlite3.Connection, table: str, rows: list[Row]) -> None:
    names = ", ".join(f'"{name}"' for name in rows[0])
    marks = ", ".join(f":{name}" for name in rows[0])
    database.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)


async def waiting_agents(number: int = AGENTS) -> AsyncIterator[Row]:
    """Agents of as many instances on their long polls, each with a connection of its own: what they cost the server's
    process, and how long it takes from sending a deployment until its agent has it."""
    allow_files(number + 2000)
    options = ("--processes", "2", "--driver", "record")
    async with dev(*options) as cloud, client(cloud.ready) as heat, client(cloud.ready, connections=0) as line:
        ident = await heat.create("waiters", server_template())
        await heat.finished("waiters", ident, "CREATE")
        secret = secrets.token_hex(32)
        made = clone(Path(cloud.ready["clouds_yaml"]).parent / "calor.sqlite", secret, number)
        before = memory_mb(cloud.pid)
        began = time.perf_counter()
        waiters = await together(
            [lambda one=one: enrolled(cloud.ready, line.session, one, secret) for one in made], 100
        )
        tasks = []
        for waiter in waiters:
            tasks.append(asyncio.create_task(waiter.work()))
            if len(tasks) % 20 == 0:
                await asyncio.sleep(20 * WAIT / number)  # as chance would have spread them
        ramp = time.perf_counter() - began
        await asyncio.sleep(5)
        cpu, polls, moment = cpu_seconds(cloud.pid), sum(one.polls for one in waiters), time.perf_counter()
        await asyncio.sleep(WATCHED)
        during, spent = memory_mb(cloud.pid), time.perf_counter() - moment
        yield {
            "bench": "waiting-agents",
            "agents": number,
            "all_there_s": round(ramp, 1),
            "pss_mb_before": before,
            "pss_mb_waiting": during,
            "kb_per_agent": round((during - before) * 1024 / number, 1),
            "cpu_share": round((cpu_seconds(cloud.pid) - cpu) / spent, 3),
            "polls_per_second": round((sum(one.polls for one in waiters) - polls) / spent),
        }
        took = []
        for _ in range(DELIVERIES):
            took.append(await delivered(heat, random.choice(waiters)))
            await asyncio.sleep(PAUSE)
        heard, answered = zip(*took, strict=True)
        row = {"bench": "waiting-agents-delivery", "agents": number, "deployments": len(took), **percentiles(heard)}
        yield row | {"answered_max_ms": round(max(answered) * 1000, 1)}
        failed = [task for task in tasks if task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if failed:
            raise RuntimeError(f"{len(failed)} agents lost their poll, first by {failed[0]}")


async def together(works: Sequence[Callable[[], Awaitable[Any]]], width: int) -> list[Any]:
    """All results in order, so many at a time."""
    gate = asyncio.Semaphore(width)

    async def one(work: Callable[[], Awaitable[Any]]) -> Any:
        async with gate:
            return await work()

    return list(await asyncio.gather(*(one(work) for work in works)))


async def enrolled(ready: Any, session: aiohttp.ClientSession, made: tuple[str, str], secret: str) -> Waiter:
    base = str(ready["orchestration"]).rstrip("/")
    async with session.post(f"{base}/guest/v1/instances/{made[0]}/token", json={"secret": secret}) as answer:
        answer.raise_for_status()
        token = (await answer.json())["token"]
    waiter = Waiter(Guest(session, base, made[0], token), made[1])
    await waiter.start()
    return waiter


async def delivered(heat: Client, waiter: Waiter) -> tuple[float, float]:
    """Seconds from sending a deployment until the agent has it, and until its sender has the answer."""
    body = {"name": "c", "group": "script", "config": "#!/bin/sh\n"}
    config = await heat.call("POST", "/software_configs", json=body)
    wanted = {"config_id": config["software_config"]["id"], "server_id": waiter.server_id, "action": "CREATE"}
    known = set(waiter.heard)
    sent = time.perf_counter()
    await heat.call("POST", "/software_deployments", json={**wanted, "status": "IN_PROGRESS"})
    answered = time.perf_counter() - sent
    while not (new := set(waiter.heard) - known):
        if time.perf_counter() - sent > 30:
            raise RuntimeError("a deployment did not reach its agent within 30 s")
        await asyncio.sleep(0.001)
    return waiter.heard[min(new)] - sent, answered


async def heat_pollers() -> AsyncIterator[Row]:
    """Agents of OpenStack with POLL_SERVER_HEAT, each with a password of its own: a token, then the metadata, at each
    poll, as os-collect-config does it."""
    async for row in pollers("agents-heat", "POLL_SERVER_HEAT", _poll_heat):
        yield row


async def cfn_pollers() -> AsyncIterator[Row]:
    """Agents of OpenStack with POLL_SERVER_CFN, each with a key pair of its own: DescribeStackResource, signed."""
    async for row in pollers("agents-cfn", "POLL_SERVER_CFN", _poll_cfn):
        yield row


Poll = Callable[[aiohttp.ClientSession, Row], Awaitable[None]]


async def pollers(bench: str, transport: str, poll: Poll, number: int = POLLERS) -> AsyncIterator[Row]:
    """Once as fast as 20 connections go, then each at its own moment of a period of 30 s."""
    allow_files(number + 2000)
    options = ("--processes", "2", "--driver", "record")
    async with dev(*options) as cloud, client(cloud.ready) as heat:
        agents = [one for first in range(0, number, STACK) for one in await _machines(heat, transport, first, number)]
        connector = aiohttp.TCPConnector(limit=0, force_close=True)  # each poll is a process of its own there
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=60)) as session:
            took: list[float] = []

            async def at_its_time(agent: Row, delay: float) -> None:
                await asyncio.sleep(delay)
                began = time.perf_counter()
                await poll(session, agent)
                took.append(time.perf_counter() - began)

            began = time.perf_counter()
            await together([lambda one=one: poll(session, one) for one in agents], 20)
            yield {"bench": bench, "polls_per_second": round(number / (time.perf_counter() - began))}
            cpu = cpu_seconds(cloud.pid)
            await asyncio.gather(*(at_its_time(one, index * PERIOD / number) for index, one in enumerate(agents)))
            share = (cpu_seconds(cloud.pid) - cpu) / PERIOD
            yield {"bench": bench, "agents": number, "cpu_share": round(share, 3), **percentiles(took)}


async def _machines(heat: Client, transport: str, first: int, number: int) -> list[Row]:
    """What the agents of one more stack of servers are told."""
    properties = {"software_config_transport": transport}
    names = [f"m{index}" for index in range(first, min(first + STACK, number))]
    template = {
        "heat_template_version": HOT,
        "resources": {name: {"type": "OS::Heat::DeployedServer", "properties": properties} for name in names},
        "outputs": {name: {"value": {"get_attr": [name, "os_collect_config"]}} for name in names},
    }
    stack = f"machines{first}"
    ident = await heat.create(stack, template)
    await heat.finished(stack, ident, "CREATE")
    shown = await heat.call("GET", f"/stacks/{stack}/{ident}")
    return [one["output_value"] for one in shown["stack"]["outputs"]]


async def _poll_heat(session: aiohttp.ClientSession, agent: Row) -> None:
    told = agent["heat"]
    user = {"id": told["user_id"], "password": told["password"]}
    scope = {"project": {"id": told["project_id"]}}
    body = {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope}}
    async with session.post(f"{told['auth_url']}/auth/tokens", json=body) as answer:
        answer.raise_for_status()
        token = answer.headers["X-Subject-Token"]
        catalog = (await answer.json())["token"]["catalog"]
    base = next(one["endpoints"][0]["url"] for one in catalog if one["type"] == "orchestration")
    path = f"/stacks/{quote(told['stack_id'], safe='/')}/resources/{told['resource_name']}/metadata"
    async with session.get(base + path, headers={"X-Auth-Token": token}) as answer:
        answer.raise_for_status()
        await answer.json()


async def _poll_cfn(session: aiohttp.ClientSession, agent: Row) -> None:
    told = agent["cfn"]
    params = {
        "AWSAccessKeyId": told["access_key_id"],
        "SignatureVersion": "2",
        "SignatureMethod": "HmacSHA256",
        "Version": "2010-05-15",
        "Timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "Action": "DescribeStackResource",
        "StackName": told["stack_name"],
        "LogicalResourceId": told["path"].split(".")[0],
    }
    url = told["metadata_url"]
    async with session.get(f"{url}?{ec2.signed_query('GET', url, params, told['secret_access_key'])}") as answer:
        answer.raise_for_status()
        await answer.read()
