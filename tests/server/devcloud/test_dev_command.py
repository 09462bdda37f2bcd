"""``calor dev`` as a process: ready file, restarts, kill -9, taken ports, two processes."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
import requests

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
pytestmark = pytest.mark.slow


def command(*arguments):
    return [sys.executable, "-m", "calor.server", *map(str, arguments)]


def wait_for(file, process, seconds=60):
    deadline = time.monotonic() + seconds
    while not file.exists():
        assert process.poll() is None, "it ended before it was ready"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return json.loads(file.read_text())


@contextmanager
def started(directory, *arguments, verb="dev"):
    ready = directory.parent / f"{verb}.ready"
    ready.unlink(missing_ok=True)
    if verb == "dev":
        begin = command("dev", "--state-dir", directory, "--driver", "record", "--ready-file", ready, *arguments)
    else:
        begin = command(verb, "--dev", directory, "--ready-file", ready, *arguments)
    process = subprocess.Popen(begin, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield process, wait_for(ready, process)
    finally:
        process.terminate()
        process.communicate(timeout=30)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def log_in(directory):
    state = json.loads((directory / "dev.json").read_text())
    base = f"http://127.0.0.1:{state['ports']['cloud']}"
    user = {"name": "demo", "domain": {"id": "default"}, "password": state["passwords"]["demo"]}
    body = {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}}}
    answer = requests.post(f"{base}/identity/v3/auth/tokens", json=body, timeout=10)
    return base, answer.headers["X-Subject-Token"]


def networks(base, token):
    answer = requests.get(f"{base}/network/v2.0/networks", headers={"X-Auth-Token": token}, timeout=10)
    return {net["name"] for net in answer.json()["networks"]}


def test_ports_passwords_tokens_and_networks_survive_kill_9(tmp_path):
    directory = tmp_path / "state"
    with started(directory, "--port", 0, "--cloud-only") as (process, record):
        assert record["cloud_pid"] == process.pid
        base, token = log_in(directory)
        for number in range(20):
            body = {"network": {"name": f"n{number}"}}
            requests.post(f"{base}/network/v2.0/networks", json=body, headers={"X-Auth-Token": token}, timeout=10)
        process.send_signal(signal.SIGKILL)
        process.wait()
    with started(directory, "--cloud-only") as (_, again):
        assert again["identity"] == record["identity"]
        assert networks(base, token) == {"public", "private", *(f"n{number}" for number in range(20))}
        assert log_in(directory)[0] == base
    for name in ("clouds.yaml", "dev.json", "calor.conf", "demo.pem", "cloud.sqlite"):
        assert stat.S_IMODE((directory / name).stat().st_mode) == 0o600, name


def test_a_taken_port_is_said_clearly(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        begin = command("dev", "--state-dir", tmp_path / "s", "--driver", "record", "--port", port, "--cloud-only")
        ended = subprocess.run(begin, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert f"Port {port} (cloud) is taken by another program. Choose another with --port N" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_port_0_takes_the_ports_of_before_or_free_ones_where_they_are_taken(tmp_path):
    directory = tmp_path / "state"
    with started(directory, "--port", 0) as (_, first):
        pass
    with started(directory, "--port", 0) as (_, second):
        assert (second["identity"], second["cfn"]) == (first["identity"], first["cfn"])
    ports = json.loads((directory / "dev.json").read_text())["ports"]
    with (
        socket.create_server(("127.0.0.1", ports["cloud"])),
        socket.create_server(("127.0.0.1", ports["cfn"])),
        started(directory, "--port", 0) as (_, third),
    ):
        assert third["identity"] != first["identity"]
        assert third["cfn"] != first["cfn"]
        assert third["orchestration"] == first["orchestration"]
        assert log_in(directory)[1]


def test_a_second_start_says_that_the_cloud_runs_already(tmp_path):
    directory = tmp_path / "state"
    with started(directory, "--port", 0, "--cloud-only") as (process, _):
        known = (directory / "dev.json").read_bytes()
        for port in ((), ("--port", free_port())):
            begin = command("dev", "--state-dir", directory, "--driver", "record", "--cloud-only", *port)
            ended = subprocess.run(begin, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)
            assert ended.returncode == 1
            assert f"runs already (pid {process.pid})" in ended.stderr
            assert "calor dev stop" in ended.stderr
        assert (directory / "dev.json").read_bytes() == known


def test_a_state_directory_that_cannot_be_used_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "cloud.sqlite").write_text("this is no database, and longer than its header\n" * 20)
    for directory, word in ((tmp_path / "file" / "s", "Not a directory"), (broken, "file is not a database")):
        begin = command("dev", "--state-dir", directory, "--driver", "record", "--port", 0)
        ended = subprocess.run(begin, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)
        assert ended.returncode == 1
        assert f"Error: The state directory {directory} cannot be used: {word}" in ended.stderr
        assert "Traceback" not in ended.stderr


def test_env_status_and_stop(tmp_path):
    directory = tmp_path / "state"

    def ask(*arguments):
        asked = command("dev", *arguments, "--state-dir", directory)
        return subprocess.run(asked, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)

    assert "There is no dev cloud" in ask("env").stderr
    with started(directory, "--port", 0, "--cloud-only") as (process, record):
        settings = ask("env").stdout
        assert f"export OS_CLIENT_CONFIG_FILE={record['clouds_yaml']}" in settings
        assert "export OS_CLOUD=calor" in settings
        assert "cloud   running" in ask("status").stdout
        assert ask("stop").returncode == 0
        assert process.wait(timeout=10) == 0
    assert "not running" in ask("status").stdout


def test_the_cloud_lives_on_when_the_server_is_killed_and_the_server_starts_again(tmp_path):
    directory = tmp_path / "state"
    with started(directory, "--port", 0, "--processes", 2) as (cloud, record):
        assert record["cloud_pid"] == cloud.pid != record["pid"]
        os.kill(record["pid"], signal.SIGKILL)
        base, token = log_in(directory)
        assert "private" in networks(base, token)
        time.sleep(0.5)
        with pytest.raises(requests.ConnectionError):
            requests.get(record["orchestration"], timeout=5)
        with started(directory, verb="server") as (_, again):
            assert again["orchestration"] == record["orchestration"]
            assert requests.get(again["orchestration"], timeout=10).status_code == 300
        assert cloud.poll() is None


def test_one_process_serves_cloud_and_server_and_ends_gracefully(tmp_path):
    directory = tmp_path / "state"
    with started(directory, "--port", 0) as (process, record):
        assert record["pid"] == record["cloud_pid"] == process.pid
        base, token = log_in(directory)
        project = requests.get(f"{base}/identity/v3/auth/projects", headers={"X-Auth-Token": token}, timeout=10)
        ident = project.json()["projects"][0]["id"]
        stacks = requests.get(
            f"{record['orchestration']}/v1/{ident}/stacks", headers={"X-Auth-Token": token}, timeout=20
        )
        assert stacks.json() == {"stacks": []}
        process.terminate()
        assert process.wait(timeout=20) == 0
