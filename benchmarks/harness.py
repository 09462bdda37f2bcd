"""Starts a dev cloud of its own for the measurements and speaks Heat's API to it."""

import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import yaml

DONE = ("COMPLETE", "FAILED")


@dataclass
class Dev:
    """A running dev cloud: what its ready file says, and how long it took to say it."""

    ready: Mapping[str, Any]
    seconds_to_ready: float
    process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        return int(self.ready["pid"])


@asynccontextmanager
async def dev(*options: str) -> AsyncIterator[Dev]:
    """`calor dev` on a fresh state directory, ended at the exit."""
    with tempfile.TemporaryDirectory(prefix="calor-bench-") as state:
        ready = Path(state, "ready.json")
        command = [sys.executable, "-m", "calor.server", "dev", "--state-dir", state, "--port", "0"]
        command += ["--ready-file", str(ready), "--orchestration-port", "0", "--cfn-port", "0"]
        command += ["--remove-servers", *options]
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not ready.exists():
                if process.poll() is not None:
                    raise RuntimeError(f"calor dev ended with {process.returncode} before it was ready")
                await asyncio.sleep(0.005)
            yield Dev(json.loads(ready.read_text()), time.perf_counter() - began, process)
        finally:
            process.send_signal(signal.SIGTERM)
            await asyncio.to_thread(process.wait, 60)


class Client:
    """Heat's API with one token; bodies are what python-heatclient sends."""

    def __init__(self, session: aiohttp.ClientSession, base: str, token: str) -> None:
        self.session, self.base = session, base
        self.headers = {"X-Auth-Token": token}

    async def call(self, method: str, path: str, **kwargs: Any) -> Any:
        async with self.session.request(method, self.base + path, headers=self.headers, **kwargs) as answer:
            if answer.status >= 400:
                raise RuntimeError(f"{method} {path}: {answer.status} {(await answer.text())[:400]}")
            return await answer.json() if answer.content_type == "application/json" and answer.status != 204 else None

    async def create(self, name: str, template: Mapping[str, Any], **more: Any) -> str:
        body = {"stack_name": name, "template": template, "parameters": {}, "timeout_mins": 30, **more}
        return str((await self.call("POST", "/stacks", json=body))["stack"]["id"])

    async def update(self, name: str, ident: str, template: Mapping[str, Any]) -> None:
        await self.call("PUT", f"/stacks/{name}/{ident}", json={"template": template, "parameters": {}})

    async def delete(self, name: str, ident: str) -> None:
        await self.call("DELETE", f"/stacks/{name}/{ident}")

    async def finished(self, name: str, ident: str, action: str, pause: float = 0.01) -> int:
        """Wait for ACTION_COMPLETE; anything else that is final raises. Returns how often it asked."""
        for asked in itertools.count(1):
            answer = await self.call("GET", f"/stacks/{name}/{ident}", params={"resolve_outputs": "false"})
            state = answer["stack"]["stack_status"]
            if state == f"{action}_COMPLETE":
                return asked
            if state.endswith("_FAILED"):
                raise RuntimeError(f"{name}: {state}: {answer['stack']['stack_status_reason']}")
            await asyncio.sleep(pause)
        raise AssertionError("the loop has no end of its own")


@asynccontextmanager
async def client(
    ready: Mapping[str, Any], *, cloud: str = "calor", service: str = "orchestration", connections: int = 100
) -> AsyncIterator[Client]:
    """A client of one service with a token of the dev cloud's user. ``connections`` 0: as many as are asked for."""
    auth = yaml.safe_load(Path(ready["clouds_yaml"]).read_text())["clouds"][cloud]["auth"]
    user = {
        "name": auth["username"],
        "domain": {"name": auth.get("user_domain_name", "Default")},
        "password": auth["password"],
    }
    identity = {"methods": ["password"], "password": {"user": user}}
    scope = {"project": {"name": auth["project_name"], "domain": {"name": auth.get("project_domain_name", "Default")}}}
    connector = aiohttp.TCPConnector(limit=connections)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=120)) as session:
        url = auth["auth_url"].rstrip("/") + "/auth/tokens"
        async with session.post(url, json={"auth": {"identity": identity, "scope": scope}}) as answer:
            answer.raise_for_status()
            token, body = answer.headers["X-Subject-Token"], await answer.json()
        services = {one["type"]: one["endpoints"] for one in body["token"]["catalog"]}
        base = next(one["url"] for one in services[service] if one["interface"] == "public")
        yield Client(session, base.rstrip("/"), token)


def memory_mb(pid: int) -> float:
    """Proportional set size of a process and its children, in MB."""
    total = 0
    for line in subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout.split():
        total += _pss_kb(int(line))
    return round((total + _pss_kb(pid)) / 1024, 1)


def _pss_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
