"""Starts the real `openstack` client: plainly, or by a process that has its modules loaded already."""

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

PROGRAM = Path(sys.executable).with_name("openstack")
WARM = Path(__file__).with_name("warm_openstack.py")


class OpenStackClient:
    """`openstack ARGUMENTS` in a given environment; the answer is what `subprocess.run` gives.

    CALOR_TEST_CLIENT=plain has every command run as a program of its own.
    """

    def __init__(self) -> None:
        self._warm: subprocess.Popen[str] | None = None
        self._turn = threading.Lock()
        self._always_plain = os.environ.get("CALOR_TEST_CLIENT") == "plain"

    def run(
        self, arguments: tuple[str, ...], environment: dict[str, str], limit: float, *, plain: bool = False
    ) -> "subprocess.CompletedProcess[str]":
        if plain or self._always_plain:
            command = [str(PROGRAM), *arguments]
            return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=limit)
        with self._turn, tempfile.TemporaryDirectory() as folder:
            files = {name: str(Path(folder, name)) for name in ("stdout", "stderr")}
            order = {"arguments": arguments, "environment": environment, "limit": math.ceil(limit), **files}
            status = self._ask(order)
            said = {name: Path(path).read_text() for name, path in files.items()}
        return subprocess.CompletedProcess([str(PROGRAM), *arguments], status, **said)

    def close(self) -> None:
        if self._warm is not None:
            self._warm.communicate(timeout=30)
            self._warm = None

    def _ask(self, order: dict[str, Any]) -> int:
        if self._warm is None:
            command = [sys.executable, str(WARM), str(PROGRAM)]
            self._warm = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._warm.stdin and self._warm.stdout
        print(json.dumps(order), file=self._warm.stdin, flush=True)
        status = int(self._warm.stdout.readline())
        if status == -signal.SIGALRM:
            raise subprocess.TimeoutExpired(order["arguments"], order["limit"])
        return status
