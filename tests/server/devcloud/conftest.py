"""A dev cloud on a free port in a thread of its own, so that the synchronous SDK and clients can call it."""

import asyncio
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import openstack
import pytest

from calor.server.devcloud import runtime, state
from calor.server.devcloud.record import RecordDriver


class DevCloud:
    """Started and stopped like a process; its loop runs in a thread."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.driver = RecordDriver()
        self.state = state.new_state(state.Ports(cloud=0, orchestration=8004, cfn=8000), "record")
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        ready: Future[None] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)))
        self._thread.start()
        ready.result(timeout=20)

    async def _serve(self, ready: "Future[None]") -> None:
        try:
            sock = runtime.listen(self.state.ports.cloud, "cloud")
            self.state = state.with_ports(self.state, cloud=sock.getsockname()[1])
            self.loop = asyncio.get_running_loop()
            self._end = asyncio.Event()
            async with runtime.running(
                self.directory, self.state, self.driver, sock=sock, image_paths={}
            ) as self.running:
                ready.set_result(None)
                await self._end.wait()
        except BaseException as exc:
            if not ready.done():
                ready.set_exception(exc)
            raise

    def stop(self) -> None:
        if self._thread is not None:
            self.loop.call_soon_threadsafe(self._end.set)
            self._thread.join(timeout=20)
            self._thread = None

    def settle(self) -> None:
        """Wait until the workers have nothing to do."""
        asyncio.run_coroutine_threadsafe(self.running.workers.idle(), self.loop).result(timeout=20)

    def call(self, function: Callable[[], Any]) -> Any:
        """Run a function in the cloud's loop, where its documents may be touched."""

        async def run() -> Any:
            return function()

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(timeout=20)

    def converge(self) -> None:
        """Wait until the driver's networks are as the documents say."""
        asyncio.run_coroutine_threadsafe(self.running.fabric.converge(), self.loop).result(timeout=20)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.state.ports.cloud}"

    def connect(self, user: str = "demo", **auth: Any) -> openstack.connection.Connection:
        given = auth or {
            "username": user,
            "password": self.state.passwords[user],
            "project_name": "service" if user == "calor" else user,
            "user_domain_name": "Default",
            "project_domain_name": "Default",
        }
        kind = "v3applicationcredential" if "application_credential_id" in given else "password"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the SDK's own: it looks for statsd and influxdb
            return openstack.connect(
                load_yaml_config=False,
                load_envvars=False,
                auth={"auth_url": self.state.identity, **given},
                auth_type=kind,
                region_name="RegionOne",
                compute_default_microversion="2.79",
            )


@pytest.fixture
def dev_cloud(tmp_path: Path) -> Iterator[DevCloud]:
    cloud = DevCloud(tmp_path)
    cloud.start()
    yield cloud
    cloud.stop()


@pytest.fixture
def demo(dev_cloud: DevCloud) -> Iterator[openstack.connection.Connection]:
    connection = dev_cloud.connect()
    yield connection
    connection.close()


@pytest.fixture
def admin(dev_cloud: DevCloud) -> Iterator[openstack.connection.Connection]:
    connection = dev_cloud.connect("admin")
    yield connection
    connection.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """openstacksdk announces what its next releases will change; the tests use what stock clients use."""
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here:
            item.add_marker(pytest.mark.filterwarnings("ignore::DeprecationWarning:openstack"))
            item.add_marker(pytest.mark.filterwarnings("ignore:.*:openstack.warnings.RemovedInSDK50Warning"))
            item.add_marker(pytest.mark.filterwarnings("ignore:.*:openstack.warnings.RemovedInSDK60Warning"))
