"""Progress, output, cancelling and runs on demand on real servers, through the `calor` command as a user types it."""

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.root]

EXAMPLE = str(Path(__file__).resolve().parents[2] / "examples/11-watch.yaml")
LIMIT = 600


def calor(cloud: Any, *words: str, code: int = 0) -> str:
    """What a verb says; its exit code must be this one."""
    command = [sys.executable, "-m", "calor.server", *words, "--dev", str(cloud.state)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == code, f"{words}\n{done.stdout}\n{done.stderr}\n{cloud.tail()}"
    return done.stdout + done.stderr


def create(cloud: Any, name: str, *more: str, code: int = 0) -> str:
    return calor(cloud, "stack", "create", name, "-t", EXAMPLE, *more, "--wait", code=code)


def test_f190_f192_steps_output_and_actions_on_demand_are_seen(cloud: Any) -> None:
    watched = create(cloud, "watched")
    try:
        assert re.search(r"^service on server: RUNNING, [123]/3 (download|unpack|start)", watched, re.MULTILINE)
        assert "service | now: unpack" in watched
        assert watched.splitlines()[-2:] == ["watched: CREATE_COMPLETE", "Its outputs: calor stack show watched"]
        logs = calor(cloud, "stack", "logs", "-f", "watched").splitlines()
        wanted = ["download", "unpack", "start"]
        assert logs == [*(f"service | now: {step}" for step in wanted), "service | prepared"]
        on_service = ("--stack", "watched", "service")
        saved = calor(cloud, "deployment", "run", "--action", "BACKUP", "--wait", *on_service)
        assert "service | saved" in saved
        second, third = (calor(cloud, "deployment", "run", "--action", "BACKUP", *on_service).strip() for _ in range(2))
        for ident in (second, third):
            calor(cloud, "deployment", "logs", "-f", ident)
        shown = calor(cloud, "deployment", "show", third)
        assert "COMPLETE" in shown
        assert re.search(r"^copies +3", shown, re.MULTILINE)
        assert calor(cloud, "deployment", "runs", *on_service).count("BACKUP") == 3
        assert "ROTATE" in calor(cloud, "deployment", "run", "--action", "ROTATE", *on_service, code=1)
        assert "idle" in calor(cloud, "stack", "show", "watched")
    finally:
        calor(cloud, "stack", "delete", "-y", "--wait", "watched")


def test_a_cancelled_deployment_ends_with_all_its_processes_and_names_who_asked(cloud: Any) -> None:
    words = [sys.executable, "-m", "calor.server", "stack", "create", "ended", "-t", EXAMPLE, "--dev", str(cloud.state)]
    subprocess.run([*words, "--parameter", "pause=7531"], check=True, timeout=LIMIT)
    try:
        until = time.monotonic() + LIMIT
        while "now: download" not in calor(cloud, "stack", "logs", "ended"):
            assert time.monotonic() < until
        calor(cloud, "deployment", "cancel", "--stack", "ended", "service")
        calor(cloud, "stack", "watch", "ended", code=1)
        failures = calor(cloud, "stack", "failures", "ended")
        assert "cancelled by demo" in failures
        assert "now: download" in failures
        running = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
        assert not [command for command in running if command.startswith(b"sleep\x007531")]
    finally:
        calor(cloud, "stack", "delete", "-y", "--wait", "ended")


def test_f097_f193_a_server_waits_for_cloud_init_and_fails_with_its_errors(cloud: Any) -> None:
    broken = "#!/bin/sh\necho looking for the moon\nexit 3\n"
    try:
        said = create(cloud, "unlucky", "--parameter", f"user_data={broken}", code=1)
        assert "server: CREATE_FAILED" in said
        assert "cloud-init ended with error" in said
        assert "scripts-user" in said
        assert "looking for the moon" in cloud.openstack("stack", "failures", "list", "--long", "unlucky")
    finally:
        calor(cloud, "stack", "delete", "-y", "--wait", "unlucky")


def test_f032_one_error_keeps_no_other_stack_from_being_deleted(cloud: Any, tmp_path: Path) -> None:
    template = tmp_path / "small.yaml"
    template.write_text("heat_template_version: 2018-08-31\nresources:\n  word: {type: OS::Heat::RandomString}\n")
    for name in ("one", "three"):
        calor(cloud, "stack", "create", name, "-t", str(template), "--wait")
    said = calor(cloud, "stack", "delete", "-y", "--wait", "one", "two", "three", code=1)
    assert "not deleted: two" in said
    left = calor(cloud, "stack", "list")
    assert "one" not in left
    assert "three" not in left
