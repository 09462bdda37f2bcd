"""Callers without the right: wrong tokens, other projects, other users of the machine."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.root]

AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
READS_ALL = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")  # the checkout may be root's alone


def test_a_wrong_token_is_refused_with_401(wrong: Any) -> None:
    project = wrong.cloud.connection().current_project_id
    asked = ("--os-auth-type", "admin_token", "--os-endpoint", f"{wrong.cloud.ready['orchestration']}/v1/{project}")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
    client = str(Path(sys.executable).with_name("openstack"))
    answer = subprocess.run(
        [client, *asked, "--os-token", "not-a-token", "stack", "list"], env=environment, capture_output=True, text=True
    )
    assert answer.returncode != 0
    assert "The token is not valid or has expired; get a new one" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_token_of_another_project_sees_and_changes_nothing(wrong: Any) -> None:
    """404 for what is asked by name, 403 for the other project's own path (F157)."""
    wrong.begin("private", wrong.hot({"a": {"type": "OS::Heat::RandomString"}}))
    assert wrong.ended("private") == "CREATE_COMPLETE"
    run = wrong.cloud.run
    for asked in (
        ("stack", "show", "private"),
        ("stack", "delete", "--yes", "--wait", "private"),
        ("stack", "output", "show", "private", "--all"),
        ("stack", "update", "-t", str(wrong.folder / "private.yaml"), "private"),
    ):
        answer = run(*asked, cloud="calor-admin")
        assert answer.returncode != 0, asked
        assert "The Stack (private) could not be found" in answer.stdout + answer.stderr or "not found" in answer.stderr
    assert "private" not in wrong.cloud.openstack("stack", "list", cloud="calor-admin")
    project = wrong.cloud.connection().current_project_id
    other = wrong.cloud.connection("calor-admin").session
    for path in (f"/v1/{project}/stacks", f"/v1/{project}/stacks/private", f"/v1/{project}/software_configs"):
        answer = other.get(wrong.cloud.ready["orchestration"] + path, raise_exc=False)
        assert answer.status_code in (403, 404), path
    assert wrong.ended("private") == "CREATE_COMPLETE"
    wrong.delete("private")


def unprivileged(folder: Path, *arguments: str) -> list[str]:
    folder.chmod(0o755)
    home = folder / "home"
    home.mkdir(exist_ok=True)
    shutil.chown(home, 65534, 65534)
    environment = ("env", f"HOME={home}", f"XDG_STATE_HOME={home}", "PYTHONDONTWRITEBYTECODE=1")
    return [*AS_NOBODY, *READS_ALL, *environment, sys.executable, "-m", "calor.server", "dev", *arguments]


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A folder that another user can enter."""
    made = Path("/tmp") / f"calor-nobody-{os.getpid()}"
    made.mkdir(mode=0o755)
    yield made
    shutil.rmtree(made)


def test_sandboxes_without_root_are_refused_with_what_to_do(folder: Path) -> None:
    command = unprivileged(folder, "--driver", "sandbox", "--port", "0")
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd="/")
    assert answer.returncode == 1
    assert "Sandboxes need root" in answer.stderr
    assert "--driver record" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_without_root_the_dev_cloud_records_and_says_so(folder: Path) -> None:
    ready = folder / "home/ready"
    command = unprivileged(folder, "--port", "0", "--ready-file", str(ready))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/")
    try:
        until = time.monotonic() + 60
        while not ready.exists():
            assert process.poll() is None, process.stdout.read() if process.stdout else ""
            assert time.monotonic() < until
            time.sleep(0.05)
        assert json.loads(ready.read_text())["orchestration"].startswith("http://127.0.0.1:")
    finally:
        process.terminate()
        said, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "driver `record`" in said
    assert "Records of servers" in said
    assert "Root gets real sandboxes" in said
