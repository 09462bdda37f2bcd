"""A dev cloud with everything in it, deleted and ended, or killed and removed: this machine is as it was before."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
pytestmark = [pytest.mark.slow, pytest.mark.root, pytest.mark.alone]


def made_stacks(cloud: Any) -> None:
    """A network with router, floating IP and security group; a volume; servers with deployments."""
    for example, name in (("05-web-page.yaml", "web"), ("06-volume.yaml", "disk")):
        cloud.openstack("stack", "create", "--wait", "-t", str(EXAMPLES / example), name)


def test_deleted_stacks_and_an_ended_cloud_leave_nothing(dev_cloud: Any, host_state: Any, traces: Any) -> None:
    before = host_state()
    cloud = dev_cloud()
    left = traces(cloud.state)
    idle = left.processes()
    assert host_state() == before, "a dev cloud that runs changes nothing of the machine's own network"
    made_stacks(cloud)
    assert len(left.sandboxes()) == 2
    assert len(left.processes()) > len(idle) + 2
    assert len(left.loops()) == 1
    assert host_state() == before
    cloud.openstack("stack", "delete", "--yes", "--wait", "web", "disk")
    assert left.processes() == idle
    assert len(left.namespaces()) == 3, "networks public and private, and their router"
    assert len(left.mounts()) == 3
    assert not left.sandboxes()
    assert not left.loops()
    assert not left.groups()
    cloud.openstack("stack", "create", "--wait", "-t", str(EXAMPLES / "01-hello-server.yaml"), "runs-at-the-end")
    cloud.stop()
    assert left.anything() == []
    assert host_state() == before


def test_one_command_removes_what_a_killed_cloud_left(dev_cloud: Any, host_state: Any, traces: Any) -> None:
    before = host_state()
    cloud = dev_cloud("--processes", "2")
    left = traces(cloud.state)
    made_stacks(cloud)
    cloud.kill("cloud_pid")
    assert left.processes()
    assert left.loops()
    next(cloud.state.glob("servers/*/running.json")).unlink()  # as if it had died before it wrote that down
    said = cloud.calor_dev("remove")
    assert said == "Removed 2 servers.\n"
    assert left.anything() == []
    assert host_state() == before
    assert (cloud.state / "clouds.yaml").exists(), "the state stays"
    cloud.start()
    assert cloud.json("server", "list", "--long"), "and so do the servers, which can be started again"
    assert str(cloud.state) in cloud.calor_dev("remove", "--purge")
    assert left.anything() == []
    assert not cloud.state.exists()
    cloud.killed = False


def test_remove_leaves_alone_a_process_that_has_got_the_number_since(tmp_path: Path) -> None:
    stranger = subprocess.Popen(["sleep", "60"])
    try:
        state = tmp_path / "state"
        state.mkdir()
        begin = [sys.executable, "-m", "calor.server", "dev", "--state-dir", str(state)]
        options = ["--driver", "record", "--port", "0", "--ready-file", str(tmp_path / "ready")]
        cloud = subprocess.Popen([*begin, *options], stdout=subprocess.DEVNULL)
        while not (tmp_path / "ready").exists():
            assert cloud.poll() is None
        os.kill(cloud.pid, signal.SIGKILL)
        cloud.wait()
        record = state / "dev.json"
        record.write_text(record.read_text().replace(str(cloud.pid), str(stranger.pid)))
        assert subprocess.run([*begin, "remove", "--purge"], check=True, capture_output=True)
        assert not state.exists()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.parametrize("verb", ["status", "env", "stop", "remove"])
def test_the_state_directory_may_be_named_before_the_verb_or_after_it(verb: str, tmp_path: Path) -> None:
    for words in (("--state-dir", str(tmp_path), verb), (verb, "--state-dir", str(tmp_path))):
        command = [sys.executable, "-m", "calor.server", "dev", *words]
        answer = subprocess.run(command, capture_output=True, text=True)
        assert answer.returncode == 1
        assert f"There is no dev cloud in {tmp_path}" in answer.stderr
