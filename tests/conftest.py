"""Dev clouds for the tests that run the real thing: real processes, real HTTP, the real `openstack` client."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import openstack
import pytest

sys.path.insert(0, str(Path(__file__).parent / "clients"))  # tests are no packages: this is how they share code

from openstack_client import OpenStackClient

CLIENT = OpenStackClient()
COMPLETE = bool(os.environ.get("CALOR_TEST_COMPLETE"))
SANDBOXES = "tests/server/devcloud/sandbox/"
LONGEST = (
    "tests/agent/test_hooks_side_by_side.py",
    "tests/agents_of_openstack/",
    "tests/cloudinit/test_real_cloud_init.py",
    "tests/playbooks/",
    "tests/kills/",
    "tests/examples/",
    "tests/faults/",
    "tests/cfntools/test_machine_packages.py",
)
"""What takes minutes begins first, so that no worker is left alone with it at the end."""
LIMITS = ("no IPv6 here", "this machine's control groups are read-only", "cannot run containers here")
"""Reasons of skips that no set-up can mend."""
CALOR = Path(sys.executable).with_name("calor")
SHARED = Path(__file__).resolve().parents[2] / "shared"


class DevCloud:
    """A `calor dev` on a state directory of its own. `start` returns when its ready file is there."""

    calor = str(CALOR)
    program = (sys.executable, "-m", "calor.server")

    def __init__(self, state: Path, *options: str) -> None:
        self.state, self.options = state, options
        self.ready: dict[str, Any] = {}
        self.processes: list[subprocess.Popen[bytes]] = []
        self.killed = False

    def start(self) -> "DevCloud":
        ports = ("--port", "0", "--orchestration-port", "0", "--cfn-port", "0")
        return self._launch("dev", "--state-dir", str(self.state), "--remove-servers", *ports, *self.options)

    def start_server(self) -> "DevCloud":
        """Only the server, beside a cloud that lives."""
        return self._launch("server", "--dev", str(self.state))

    def _launch(self, *arguments: str) -> "DevCloud":
        ready = self.state.with_suffix(".ready")
        ready.unlink(missing_ok=True)
        log = self.state.with_suffix(".log")
        command = [*self.program, *arguments, "--ready-file", str(ready)]
        with log.open("ab") as sink:
            process = subprocess.Popen(command, stdout=sink, stderr=sink, start_new_session=True)
        self.processes.append(process)
        until = time.monotonic() + 180
        while not ready.exists():
            assert process.poll() is None, f"{command} ended with {process.returncode}:\n{log.read_text()[-3000:]}"
            assert time.monotonic() < until, f"{command} was not ready in time:\n{log.read_text()[-3000:]}"
            time.sleep(0.02)
        self.ready.update(json.loads(ready.read_text()))
        return self

    def kill(self, *names: str) -> None:
        """kill -9 the processes named ``pid`` (server) or ``cloud_pid``, and wait until they are gone."""
        self.killed = True
        for pid in {int(self.ready[name]) for name in names}:
            os.kill(pid, signal.SIGKILL)
            while _alive(pid):
                for process in self.processes:
                    process.poll()
                time.sleep(0.005)

    def stop(self) -> None:
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for pid in {int(self.ready[name]) for name in ("pid", "cloud_pid") if name in self.ready}:
            if _alive(pid):
                os.kill(pid, signal.SIGTERM)
        for process in self.processes:
            process.wait(90)
        if self.killed:  # what a killed process could not take away
            self.calor_dev("remove")

    def calor_dev(self, verb: str, *arguments: str, limit: float = 120) -> str:
        """A verb of `calor dev`, which must succeed; answers its output."""
        command = [sys.executable, "-m", "calor.server", "dev", "--state-dir", str(self.state), verb, *arguments]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        assert answer.returncode == 0, f"{command}\n{answer.stdout}\n{answer.stderr}\n{self.tail()}"
        return answer.stdout

    def run(
        self, *arguments: str, cloud: str = "calor", limit: float = 300, plain: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """The unmodified `openstack` client; if ``plain``, as a program of its own."""
        environment = dict(os.environ, OS_CLIENT_CONFIG_FILE=str(self.ready["clouds_yaml"]), OS_CLOUD=cloud)
        return CLIENT.run(arguments, environment, limit, plain=plain)

    def openstack(self, *arguments: str, **more: Any) -> str:
        """Like `run`, but it must succeed; answers stdout."""
        answer = self.run(*arguments, **more)
        assert answer.returncode == 0, (
            f"openstack {' '.join(arguments)}\n{answer.stdout}\n{answer.stderr}\n{self.tail()}"
        )
        return answer.stdout

    def json(self, *arguments: str, **more: Any) -> Any:
        return json.loads(self.openstack(*arguments, "-f", "json", **more))

    def connection(self, cloud: str = "calor") -> Any:
        """openstacksdk, with this cloud's own clouds.yaml only."""
        files = {"config_files": [str(self.ready["clouds_yaml"])], "vendor_files": [], "secure_files": []}
        with warnings.catch_warnings():  # it warns of what it will drop, though nobody asked for that
            warnings.simplefilter("ignore")
            known = openstack.config.OpenStackConfig(load_envvars=False, **files)
            return openstack.connection.Connection(config=known.get_one(cloud))

    def outputs(self, stack: str) -> dict[str, Any]:
        found = self.json("stack", "show", stack)["outputs"]
        return {output["output_key"]: output.get("output_value") for output in found}

    def eventually_said(self, server: str, text: str, seconds: float = 60) -> None:
        """The server's console shows the text in time."""
        until = time.monotonic() + seconds
        while text not in (said := self.openstack("console", "log", "show", server)):
            assert time.monotonic() < until, said
            time.sleep(0.5)

    def tail(self, size: int = 6000) -> str:
        return self.state.with_suffix(".log").read_text()[-size:]


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter where it ends between opening and reading
        return False


def pytest_unconfigure() -> None:
    CLIENT.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("root") and os.geteuid() != 0:
            item.add_marker(pytest.mark.skip(reason="this test needs root"))
    items.sort(key=lambda item: [not item.nodeid.startswith(place) for place in LONGEST])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """``--dist loadfile``, but that the sandboxes' tests stay together: their servers have the same names, and so the
    same control groups."""
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):  # type: ignore[misc]  # xdist ships no types
        def _split_scope(self, nodeid: str) -> str:
            scope = str(super()._split_scope(nodeid))
            return SANDBOXES if scope.startswith(SANDBOXES) else scope

    return Together(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    return complete((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    return complete((yield))


def complete(report: Any) -> Any:
    """The report of a test; where nothing may be skipped, as in CI, a skip for want of something is a failure."""
    if COMPLETE and report.skipped and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not any(limit in reason for limit in LIMITS):
            report.outcome, report.longrepr = "failed", f"{reason}\nCALOR_TEST_COMPLETE is set: nothing may be skipped."
    return report


@pytest.fixture
def shared() -> Path:
    """Facts, corpus and workloads beside the checkout; a test that needs them is skipped where they are not."""
    if not SHARED.is_dir():
        pytest.skip("the reference facts are not beside the checkout")
    return SHARED


@pytest.fixture(scope="session")
def dev_cloud_type() -> type[DevCloud]:
    """For dev clouds that begin with a state of their own or live longer than a test."""
    return DevCloud


@pytest.fixture
def dev_cloud(tmp_path: Path) -> Iterator[Callable[..., DevCloud]]:
    """Makes dev clouds that end with the test."""
    made: list[DevCloud] = []

    def make(*options: str) -> DevCloud:
        made.append(DevCloud(tmp_path / f"state-{len(made)}", *options))
        return made[-1].start()

    yield make
    for cloud in made:
        cloud.stop()


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevCloud]:
    """One dev cloud with real sandboxes, shared by the tests of a run."""
    shared_cloud = DevCloud(tmp_path_factory.mktemp("dev") / "state").start()
    yield shared_cloud
    shared_cloud.stop()


@pytest.fixture(scope="session")
def record_cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevCloud]:
    """One dev cloud whose servers are records only, in two processes, shared by the tests of a run."""
    shared_cloud = DevCloud(tmp_path_factory.mktemp("records") / "state", "--processes", "2", "--driver", "record")
    yield shared_cloud.start()
    shared_cloud.stop()
