"""Entering a running sandbox: what ``calor dev shell`` executes."""

import sys
from collections.abc import Sequence
from pathlib import Path

from calor.server.devcloud.driver import DriverError
from calor.server.devcloud.sandbox import records
from calor.server.devcloud.sandbox.processes import Process

_SOURCES = Path(__file__).resolve().parents[4]
_START = "import sys; sys.path.insert(0, sys.argv[1]); from calor.server.devcloud.sandbox.entering import main; main()"
LOGIN = ("/bin/bash", "-l")


def find(state_dir: Path, server_id: str) -> Process:
    """The first process of a running server. Raises `DriverError` where it does not run."""
    running = records.load(state_dir.resolve() / "servers" / server_id / "running.json")
    if running is None or not running.process.is_alive:
        raise DriverError(f"Server {server_id} does not run on this machine: start it first (openstack server start).")
    return running.process


def command(server: Process, argv: Sequence[str] = LOGIN) -> list[str]:
    """The command line (for ``os.execv`` or ``subprocess``) that runs ``argv`` inside as root, with the privileges that
    the server's own root has. On a terminal it gets one of the sandbox's own; its exit status is the program's."""
    return [sys.executable, "-I", "-S", "-c", _START, str(_SOURCES), str(server.pid), *argv]
