"""How the agent is started, waits for what it is to do, and shows what it did."""

import os
import signal
import stat
import subprocess
import sys

import pytest

from calor.server.engine.guests import agent_file

DATA = agent_file._tree("agent") / "data"


def test_an_agent_of_the_image_waits_for_its_configuration(server, guest, deployment, eventually):
    settings = guest.root / "etc/calor/agent.json"
    kept = settings.read_text()
    settings.unlink()
    server.deploy(deployment("a", "true"))
    guest.start()
    eventually(lambda: "waiting for a configuration" in guest.console())
    assert server.requests == []
    settings.write_text(kept)
    server.result("run-a")


def test_a_guest_with_nothing_to_do_is_idle(server, guest, eventually):
    guest.configure(server=server.url, instance_id="i-1", bootstrap_token="boot", wait=1)
    guest.start()
    eventually(lambda: [b["state"] for b in list(server.heartbeats)][-1:] == ["idle"])


def test_status_and_logs_show_what_was_run(server, guest, deployment):
    server.deploy(deployment("a", "echo from a"), deployment("b", "echo wrong >&2; exit 5"))
    assert guest.run("once").returncode == 0
    lines = guest.run("status").stdout.splitlines()
    assert lines[0] == "agent: not running"
    assert lines[1].split() == ["run-a", "ok", "reported", "attempts=1", "a"]
    assert lines[2].endswith("b script hook: exit code 5: wrong")
    assert guest.run("logs", "run-a").stdout == "from a\n"
    assert "wrong" in guest.run("logs", "run-b").stdout
    assert guest.run("logs", "nosuch").returncode == 1
    assert "starting hook script" in guest.run("logs").stdout
    assert guest.run("version").stdout.startswith("calor-agent 0.1.0 (protocol 1, Python 3.")


def test_once_without_a_server_fails_and_says_why(guest):
    guest.configure(server="http://127.0.0.1:9", instance_id="i-1", bootstrap_token="boot")
    done = guest.run("once")
    assert done.returncode == 1
    assert "http://127.0.0.1:9/guest/v1/instances/i-1/enrol" in done.stderr


def test_a_wrong_setting_is_named(guest):
    guest.configure(server="http://127.0.0.1:9", instance_id="i-1", wait="soon")
    done = guest.run("run")
    assert done.returncode == 2
    assert "wait must be seconds between 0 and 3600, not 'soon'" in done.stderr


def test_secrets_lie_in_private_files_only(server, guest, deployment):
    server.deploy(deployment("a", "echo $word", inputs={"word": "hush-hush"}))
    assert guest.run("once").returncode == 0
    for path in guest.root.rglob("*"):
        if path.is_file() and b"hush-hush" in path.read_bytes():
            parents = [path, *path.parents]
            assert any(stat.S_IMODE(p.stat().st_mode) & 0o077 == 0 for p in parents if guest.root in p.parents), path
    assert "hush-hush" not in guest.run("logs").stdout


def test_the_unit_leaves_hooks_alone_when_the_agent_is_stopped():
    unit = (DATA / "calor-agent.service").read_text()
    assert "KillMode=process" in unit
    assert "Restart=always" in unit


@pytest.mark.slow
def test_the_init_script_needs_no_init_system(server, guest, deployment, tmp_path, eventually):
    wrapper = tmp_path / "calor-agent"
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {agent_file.build().save(tmp_path)} "$@"\n')
    wrapper.chmod(0o755)
    pidfile, script = tmp_path / "pid", ["sh", str(DATA / "calor-agent.init")]
    environment = {**guest.environ(), "CALOR_PIDFILE": str(pidfile), "CALOR_AGENT": str(wrapper)}
    server.deploy(deployment("a", "true"))
    subprocess.run([*script, "start"], env=environment, check=True, timeout=5)
    server.result("run-a")
    try:
        status = (guest.state / "status.json").read_text()
        pid = int(status.split('"pid": ')[1].split(",")[0])
        os.kill(pid, signal.SIGKILL)
        server.deploy(deployment("b", "true"))
        server.result("run-b")
        assert subprocess.run([*script, "status"], env=environment, check=False).returncode == 0
    finally:
        subprocess.run([*script, "stop"], env=environment, check=True)
    eventually(lambda: not pidfile.exists())
    assert subprocess.run([*script, "status"], env=environment, check=False).returncode == 3
    eventually(lambda: guest.run("status").stdout.startswith("agent: not running"))
