"""Stacks of template files through the real `openstack` client, and what is to be seen inside their instances."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def stack(cloud: Any, template: Path, parameters: dict[str, str], *more: str, user: str = "calor") -> Iterator[str]:
    """A stack that reached CREATE_COMPLETE, deleted at the end. ``more``: words of the command."""
    name = "corpus-" + "".join(letter if letter.isalnum() else "-" for letter in template.stem)
    given = [word for key, value in parameters.items() for word in ("--parameter", f"{key}={value}")]
    try:
        made = cloud.run("stack", "create", "-t", str(template), "--wait", *given, *more, name, cloud=user)
        failures = (
            "" if made.returncode == 0 else cloud.run("stack", "failures", "list", "--long", name, cloud=user).stdout
        )
        assert made.returncode == 0, made.stdout[-3000:] + made.stderr[-3000:] + failures + cloud.tail()
        yield name
    finally:
        cloud.openstack("stack", "delete", "--yes", "--wait", name, cloud=user)


def inside(cloud: Any, server: str, command: str) -> str:
    """Run a shell command in an instance."""
    words = ("dev", "shell", "--state-dir", str(cloud.state), server, "--", "/bin/sh", "-c", command)
    answer = subprocess.run([cloud.calor, *words], capture_output=True, text=True, timeout=60)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


def eventually(cloud: Any, server: str, command: str, wanted: str, limit: float = 60) -> None:
    """A command in the instance prints what is wanted within the limit (for configs that signal nothing)."""
    until = time.monotonic() + limit
    while wanted not in (seen := inside(cloud, server, f"{command} 2>&1 || true")):
        assert time.monotonic() < until, f"{command!r} in {server} printed {seen!r}, wanted {wanted!r}"
        time.sleep(0.5)


def server_of(cloud: Any, name: str, resource: str = "server") -> str:
    return str(cloud.json("stack", "resource", "show", name, resource)["physical_resource_id"])
