"""The same life of a stack on PostgreSQL and MariaDB, where this machine has them."""

import asyncio
import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calor.server import store
from calor.server.engine.orchestrator import Orchestrator
from calor.server.engine.settings import Settings
from calor.server.engine.views import StackRequest, Status
from calor.server.identity import Caller, Keys
from calor.server.resources.registry import installed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="database servers run as users of their own"),
]
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


def has_user(name: str) -> bool:
    return any(entry.pw_name == name for entry in pwd.getpwall())


def as_user(name: str, *command: str, **more: Any) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(command, user=name, check=True, capture_output=True, cwd="/", **more)


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = Path("/tmp") / f"calor-db-{os.getpid()}-{free_port()}"  # a path that other users may enter
    path.mkdir(mode=0o777)
    path.chmod(0o777)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def postgresql(folder: Path) -> Iterator[str]:
    if not (shutil.which("initdb") and shutil.which("postgres") and has_user("postgres")):
        pytest.skip("PostgreSQL is not installed")
    port = free_port()
    as_user("postgres", "initdb", "-D", f"{folder}/data", "-U", "calor", "-A", "trust")
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"
    as_user("postgres", "pg_ctl", "-D", f"{folder}/data", "-o", options, "-l", f"{folder}/log", "-w", "start")
    yield f"postgresql://calor@127.0.0.1:{port}/postgres"
    as_user("postgres", "pg_ctl", "-D", f"{folder}/data", "stop", "-m", "fast")


@pytest.fixture
def mariadb(folder: Path) -> Iterator[str]:
    if not (shutil.which("mariadbd") and shutil.which("mariadb-install-db") and has_user("mysql")):
        pytest.skip("MariaDB is not installed")
    port = free_port()
    setup = (
        "mariadb-install-db",
        "--no-defaults",
        f"--datadir={folder}/data",
        "--auth-root-authentication-method=normal",
    )
    as_user("mysql", *setup)
    listen = (f"--port={port}", "--bind-address=127.0.0.1", f"--socket={folder}/s", f"--pid-file={folder}/pid")
    server = subprocess.Popen(
        ("mariadbd", "--no-defaults", f"--datadir={folder}/data", *listen),
        user="mysql", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
    )  # fmt: skip
    made = "create database calor character set utf8mb4"
    for _ in range(100):
        if (
            subprocess.run(("mariadb", f"--socket={folder}/s", "-uroot", "-e", made), capture_output=True).returncode
            == 0
        ):
            break
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
