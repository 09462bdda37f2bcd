"""A full disk and a wrong clock: the agent lives on, says so in its heartbeats, and goes on once it can (F050)."""

import contextlib
import subprocess

import pytest

from calor.cfntools import durable


@pytest.fixture
def small_disk(guest):
    """The agent's state on a file system of 4 MB."""
    guest.state.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(guest.state)], check=True)
    yield guest.state
    guest.kill()
    subprocess.run(["umount", "--lazy", str(guest.state)], check=True)


@pytest.mark.root
def test_f050_a_full_disk_is_told_and_what_waits_is_run_once_there_is_room(
    server, guest, small_disk, deployment, eventually
):
    guest.start()
    eventually(lambda: server.heartbeats)
    with contextlib.suppress(OSError), (small_disk / "ballast").open("wb", buffering=0) as ballast:
        while True:
            ballast.write(b"x" * 4096)
    server.deploy(deployment("late", "echo done"))
    eventually(lambda: any(beat.get("stuck") for beat in server.heartbeats))
    told = next(beat for beat in server.heartbeats if beat.get("stuck"))
    assert "No space left on device" in told["detail"]
    assert guest.process.poll() is None, "the agent lives"
    (small_disk / "ballast").unlink()
    assert server.result("run-late")["outputs"]["deploy_stdout"] == "done\n"
    eventually(lambda: not server.heartbeats[-1]["stuck"] and not server.heartbeats[-1]["detail"])
    assert len([one for one in server.results if one["run_id"] == "run-late"]) == 1


@pytest.mark.root
def test_an_agent_that_cannot_keep_its_identity_says_so_in_one_line(guest, small_disk):
    ballast = small_disk / "ballast"
    with contextlib.suppress(OSError):
        ballast.write_bytes(b"x" * 8_000_000)
    answer = guest.run("once")
    assert answer.returncode == 1
    assert "cannot keep its state" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_f050_a_clock_ten_years_off_is_told_and_hinders_nothing(server, guest, deployment, eventually):
    """The server's time is in its answer to a heartbeat."""
    real = server._guest

    def answer(path, full, headers, body):
        status, document = real(path, full, headers, body)
        if path.endswith("/heartbeat") and status == 200:
            document = {"time": "2016-01-02T03:04:05.678+00:00"}
        return status, document

    server._guest = answer
    server.deploy(deployment("timely", "echo on time"))
    guest.start()
    assert server.result("run-timely")["outputs"]["deploy_stdout"] == "on time\n"
    eventually(lambda: any("ahead" in beat["detail"] for beat in server.heartbeats))
    assert not any(beat["stuck"] for beat in server.heartbeats), "it hinders nothing"


@pytest.mark.root
def test_f050_a_result_waits_for_room_when_the_disk_fills_up_under_its_hook(
    server, guest, small_disk, deployment, eventually
):
    go = guest.root / "go"
    server.deploy(deployment("r", f"#!/bin/sh\necho one\nwhile [ ! -e {go} ]; do sleep 0.05; done\nexit 4\n"))
    guest.start()
    eventually(lambda: list(guest.state.glob("runs/run-r/attempt-1/hook")))
    with contextlib.suppress(OSError), (small_disk / "ballast").open("wb", buffering=0) as ballast:
        while True:
            ballast.write(b"x" * 4096)
    go.touch()
    eventually(lambda: any("No space left on device" in beat["detail"] for beat in server.heartbeats))
    assert server.results == []
    (small_disk / "ballast").unlink()
    done = server.result("run-r")
    assert (done["outcome"], done["outputs"]["deploy_status_code"]) == ("finished", 4)
    assert done["outputs"]["deploy_stdout"] == "one\n"


@pytest.mark.root
def test_what_there_is_no_room_for_is_not_there_at_all(small_disk):
    with contextlib.suppress(OSError), (small_disk / "ballast").open("wb", buffering=0) as ballast:
        while True:
            ballast.write(b"x" * 4096)
    with pytest.raises(OSError, match="No space left on device"):
        durable.create_once(str(small_disk / "started"), b"x" * 5000)
    assert [path.name for path in small_disk.iterdir()] == ["ballast"]
    (small_disk / "ballast").unlink()
    assert durable.create_once(str(small_disk / "started"), b"first")
    assert not durable.create_once(str(small_disk / "started"), b"second")
    assert (small_disk / "started").read_bytes() == b"first"


def test_what_keeps_it_from_its_work_is_on_the_console_once(server, guest, deployment, eventually):
    console = guest.root / "dev/console"
    console.parent.mkdir()
    console.touch()
    server.faults["deployments"] = 403
    server.deploy(deployment("late", "echo done"))
    guest.start()
    eventually(lambda: len([one for one in server.requests if "/deployments?" in one[1]]) > 3)
    (said,) = console.read_text().splitlines()
    assert said.startswith("calor: native: ")
    assert said.endswith("; trying again")
    del server.faults["deployments"]
    server.result("run-late")
    assert console.read_text().splitlines()[1:] == ["calor: native: reached again"]
    assert "starting hook" in guest.console()
