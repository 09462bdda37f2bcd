"""The same life of a stack on PostgreSQL and MariaDB, each a server of our own in a folder of its own."""

import asyncio
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calor.server import store
from calor.server.engine.contract.views import StackRequest, Status
from calor.server.engine.orchestrator import Orchestrator
from calor.server.engine.settings import Settings
from calor.server.identity import Caller, Keys
from calor.server.resources.registry import installed

pytestmark = pytest.mark.slow
USER = Caller(user_id="u1", project_id="p1", roles=frozenset({"member"}), user_name="user1", token="t1")


class NoCloud:
    project_id = "p1"

    def open(self, credentials: Any) -> "NoCloud":
        return self

    async def delegate(self, caller: Any) -> Any:
        from calor.server.cloud.credentials import CredentialKind, Credentials

        return Credentials(kind=CredentialKind.TOKEN, project_id="p1", user_id="u1")

    async def revoke(self, credentials: Any) -> None:
        """There is nothing to revoke."""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def program(name: str) -> str:
    """A program of a database server; Debian keeps PostgreSQL's out of PATH."""
    found = shutil.which(name) or next(map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)
    assert found, f"{name} is not on this machine; scripts/test installs it (postgresql, mariadb-server-core)"
    return found


class Nobody:
    """Runs database servers, which refuse to be root: as `nobody`, or, where we are not root, as ourselves."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        other = pwd.getpwnam("nobody")
        self.who: dict[str, Any] = {"user": other.pw_uid, "group": other.pw_gid} if os.geteuid() == 0 else {}
        if self.who:
            shutil.chown(folder, **self.who)

    def run(self, name: str, *arguments: str) -> None:
        command = [program(name), *arguments]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/", **self.who)
        assert done.returncode == 0, done.stderr.decode()

    def start(self, name: str, *arguments: str) -> "subprocess.Popen[bytes]":
        command = [program(name), *arguments]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, cwd="/", **self.who)


@pytest.fixture
def nobody() -> Iterator[Nobody]:
    folder = Path(tempfile.mkdtemp(prefix="calor-db-", dir="/tmp"))  # pytest's own folders are closed to other users
    yield Nobody(folder)
    shutil.rmtree(folder)


@pytest.fixture
def postgresql(nobody: Nobody) -> Iterator[str]:
    port, folder = free_port(), nobody.folder
    nobody.run("initdb", "-D", f"{folder}/data", "-U", "calor", "-A", "trust")
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"
    nobody.run("pg_ctl", "-D", f"{folder}/data", "-o", options, "-l", f"{folder}/log", "-w", "start")
    yield f"postgresql://calor@127.0.0.1:{port}/postgres"
    nobody.run("pg_ctl", "-D", f"{folder}/data", "stop", "-m", "fast")


@pytest.fixture
def mariadb(nobody: Nobody) -> Iterator[str]:
    port, folder = free_port(), nobody.folder
    data = f"--datadir={folder}/data"
    nobody.run("mariadb-install-db", "--no-defaults", data, "--auth-root-authentication-method=normal")
    listen = (f"--port={port}", "--bind-address=127.0.0.1", f"--socket={folder}/s", f"--pid-file={folder}/pid")
    server = nobody.start("mariadbd", "--no-defaults", data, *listen)
    client = (program("mariadb"), "--no-defaults", f"--socket={folder}/s", "-uroot")
    made = (*client, "-e", "create database calor character set utf8mb4")
    until = time.monotonic() + 60
    while subprocess.run(made, capture_output=True).returncode != 0:
        assert server.poll() is None and time.monotonic() < until, (folder / "log").read_text()
        time.sleep(0.1)
    yield f"mysql+pymysql://root@127.0.0.1:{port}/calor"
    server.terminate()
    server.wait(30)


async def live(url: str) -> None:
    await store.upgrade(url)
    database = await store.open_database(url)
    orchestrator = Orchestrator(database, Keys.generate(), NoCloud(), installed(), Settings())  # type: ignore[arg-type]
    await orchestrator.start()
    try:
        await whole_life(orchestrator.stacks)
    finally:
        await orchestrator.stop()
        await database.close()


async def whole_life(stacks: Any) -> None:
    member = {"type": "OS::Heat::TestResource", "properties": {"value": "ü🎈"}}
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 3, "resource_def": member}}
    template = {
        "heat_template_version": "2021-04-16",
        "resources": {"g": group, **{f"r{n}": {"type": "OS::Heat::RandomString"} for n in range(50)}},
        "outputs": {"o": {"value": {"get_attr": ["g", "output"]}}},
    }
    stack = await stacks.create(USER, StackRequest(name="far", template=template))
    view = await ended(stacks, stack, "CREATE")
    assert view.outputs[0].value == ["ü🎈"] * 3
    group["properties"]["count"] = 1
    await stacks.update(USER, stack.name, stack.id, StackRequest(template=template))
    assert (await ended(stacks, stack, "UPDATE")).outputs[0].value == ["ü🎈"]
    await stacks.delete(USER, stack.name, stack.id)
    await ended(stacks, stack, "DELETE")


async def ended(stacks: Any, stack: Any, action: str) -> Any:
    async with asyncio.timeout(60):
        while (view := await stacks.show(USER, stack.name, stack.id)).status is Status.IN_PROGRESS:
            await asyncio.sleep(0.05)
    assert (view.action.value, view.status) == (action, Status.COMPLETE), view.status_reason
    return view


async def test_postgresql_carries_a_whole_life(postgresql: str) -> None:
    await live(postgresql)


async def test_mariadb_carries_a_whole_life(mariadb: str) -> None:
    await live(mariadb)
