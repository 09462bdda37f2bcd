"""What agents do: polls, long polls, and the way from a deployment to its hook."""

import asyncio
import base64
import email
import hashlib
import json
import re
import secrets
import statistics
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp

from benchmarks.harness import Client, Dev, client, dev
from benchmarks.stacks import HOT

Row = dict[str, Any]
SCRIPT = "#!/bin/sh\ndate +%s.%N | tr -d '\\n' > $heat_outputs_path.began\n"


def server_template(deployments: int = 0) -> dict[str, Any]:
    resources: dict[str, Any] = {
        "server": {
            "type": "OS::Nova::Server",
            "properties": {
                "image": "host",
                "flavor": "m1.tiny",
                "networks": [{"network": "private"}],
                "user_data_format": "SOFTWARE_CONFIG",
            },
        }
    }
    for number in range(deployments):
        resources[f"config{number}"] = {
            "type": "OS::Heat::SoftwareConfig",
            "properties": {"group": "script", "config": SCRIPT},
        }
        resources[f"deployment{number}"] = {
            "type": "OS::Heat::SoftwareDeployment",
            "properties": {
                "config": {"get_resource": f"config{number}"},
                "server": {"get_resource": "server"},
                "signal_transport": "NO_SIGNAL",
            },
        }
    return {"heat_template_version": HOT, "resources": resources}


class Guest:
    """An instance that enrolled with what its user-data gave it."""

    def __init__(self, session: aiohttp.ClientSession, base: str, instance_id: str, token: str) -> None:
        self.session, self.token = session, token
        self.url = f"{base}/guest/v1/instances/{instance_id}/deployments"

    async def poll(self, since: int, wait: float) -> int:
        """The version now; ``since`` when nothing is newer."""
        headers = {"Authorization": f"Bearer {self.token}"}
        query = {"since": str(since), "wait": str(wait)}
        async with self.session.get(self.url, params=query, headers=headers) as answer:
            if answer.status == 204:
                return since
            answer.raise_for_status()
            return int((await answer.json())["version"])


async def _enrolled(cloud: Dev, heat: Client, server_id: str) -> Guest:
    identity = await _identity(cloud, server_id)
    base = cloud.ready["orchestration"].rstrip("/")
    secret = secrets.token_hex(32)
    root = f"{base}/guest/v1/instances/{identity['instance_id']}"
    body = {
        "bootstrap_token": identity["bootstrap_token"],
        "secret_hash": hashlib.sha256(secret.encode()).hexdigest(),
    }
    async with heat.session.post(f"{root}/enrol", json=body) as answer:
        answer.raise_for_status()
    async with heat.session.post(f"{root}/token", json={"secret": secret}) as answer:
        answer.raise_for_status()
        token = (await answer.json())["token"]
    return Guest(heat.session, base, identity["instance_id"], token)


async def _identity(cloud: Dev, server_id: str) -> Mapping[str, Any]:
    """agent.json, out of the user-data that an administrator sees in the compute API."""
    async with client(cloud.ready, cloud="calor-admin", service="compute") as nova:
        nova.headers["OpenStack-API-Version"] = "compute 2.3"
        shown = await nova.call("GET", f"/servers/{server_id}")
    message = email.message_from_bytes(base64.b64decode(shown["server"]["OS-EXT-SRV-ATTR:user_data"]))
    for part in message.walk():
        text = (part.get_payload(decode=True) or b"").decode() if not part.is_multipart() else ""
        found = re.search(r"<<'END-OF-CALOR-IDENTITY'\n(.*?)\nEND-OF-CALOR-IDENTITY", text, re.DOTALL)
        if found:
            return dict(json.loads(found[1]))
    raise RuntimeError("the user-data carries no identity")


async def _guest_of_new_stack(cloud: Dev, heat: Client, name: str, deployments: int) -> Guest:
    ident = await heat.create(name, server_template(deployments))
    await heat.finished(name, ident, "CREATE")
    shown = await heat.call("GET", f"/stacks/{name}/{ident}/resources/server")
    return await _enrolled(cloud, heat, shown["resource"]["physical_resource_id"])


async def guest_polls() -> AsyncIterator[Row]:
    """Unchanged polls of an agent with 5 deployments: 20 connections, 5 seconds."""
    async with dev("--driver", "record") as cloud, client(cloud.ready) as heat:
        guest = await _guest_of_new_stack(cloud, heat, "polls", 5)
        version = await guest.poll(0, 0)
        count, until = 0, time.perf_counter() + 5

        async def polling() -> None:
            nonlocal count
            while time.perf_counter() < until:
                await guest.poll(version, 0)
                count += 1

        await asyncio.gather(*(polling() for _ in range(20)))
        yield {"bench": "guest-polls", "per_second": round(count / 5)}


async def deployment_to_hook(rounds: int = 20) -> AsyncIterator[Row]:
    """From sending a deployment to the first line of its script in a sandbox (one clock for both)."""
    took = []
    async with dev() as cloud, client(cloud.ready) as heat:
        ident = await heat.create("hooks", server_template(1))
        await heat.finished("hooks", ident, "CREATE")
        shown = await heat.call("GET", f"/stacks/hooks/{ident}/resources/server")
        server = shown["resource"]["physical_resource_id"]
        body = {"name": "c", "group": "script", "config": SCRIPT, "outputs": [{"name": "began"}]}
        await asyncio.sleep(15)  # cloud-init has ended, the agent polls
        for _ in range(rounds):
            config = await heat.call("POST", "/software_configs", json=body)
            wanted = {"config_id": config["software_config"]["id"], "server_id": server, "action": "CREATE"}
            began = time.time()
            made = await heat.call("POST", "/software_deployments", json={**wanted, "status": "IN_PROGRESS"})
            took.append(await _began(heat, made["software_deployment"]["id"]) - began)
    yield {
        "bench": "deployment-to-hook",
        "p50_ms": round(statistics.median(took) * 1000),
        "max_ms": round(max(took) * 1000),
    }


async def _began(heat: Client, deployment: str) -> float:
    for _ in range(600):
        shown = (await heat.call("GET", f"/software_deployments/{deployment}"))["software_deployment"]
        if shown["status"] == "COMPLETE":
            return float(shown["output_values"]["began"])
        await asyncio.sleep(0.05)
    raise RuntimeError(f"the deployment did not end: {shown}")


async def server_boot() -> AsyncIterator[Row]:
    """A sandbox: from the request to ACTIVE, and until its user-data runs."""
    async with dev() as cloud, client(cloud.ready, service="compute") as nova:
        image = (await nova.call("GET", "/flavors"))["flavors"]
        flavor = next(one["id"] for one in image if one["name"] == "m1.tiny")
        async with client(cloud.ready, service="image") as glance:
            image_id = (await glance.call("GET", "/v2/images", params={"name": "host"}))["images"][0]["id"]
        async with client(cloud.ready, service="network") as neutron:
            network = (await neutron.call("GET", "/v2.0/networks", params={"name": "private"}))["networks"][0]["id"]
        for repeat in range(5):
            script = base64.b64encode(b"#!/bin/sh\necho user-data runs at $(date +%s.%N) now\n").decode()
            body = {
                "name": f"boot-{repeat}",
                "flavorRef": flavor,
                "imageRef": image_id,
                "networks": [{"uuid": network}],
            }
            began = time.time()
            made = await nova.call("POST", "/servers", json={"server": {**body, "user_data": script}})
            ident = made["server"]["id"]
            while (await nova.call("GET", f"/servers/{ident}"))["server"]["status"] != "ACTIVE":
                await asyncio.sleep(0.02)
            active = time.time() - began
            yield {"bench": "server-boot", "active_s": round(active, 3), "user_data_s": await _ran(nova, ident, began)}
            await nova.call("DELETE", f"/servers/{ident}")


async def _ran(nova: Client, ident: str, began: float) -> float:
    for _ in range(600):
        answer = await nova.call("POST", f"/servers/{ident}/action", json={"os-getConsoleOutput": {}})
        found = re.search(r"user-data runs at ([\d.]+) now", answer["output"])
        if found:
            return round(float(found[1]) - began, 3)
        await asyncio.sleep(0.1)
    raise RuntimeError("the user-data did not run within a minute")
