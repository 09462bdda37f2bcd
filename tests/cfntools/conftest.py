"""A real HTTP server whose answers a test chooses, and machines: scratch Debians with real package managers."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
import quiet_http
import scratch_debian

from calor.cfntools import fetching, metadata
from calor.server.engine.guests import agent_file

PACKAGES = "python3,python3-pip,rpm,dnf,zypper,createrepo-c,ruby,sysv-rc,bzip2,xz-utils,unzip,curl,procps"
ENTER = r"""
shift 2
exec chroot "$top/root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    LC_ALL=C.UTF-8 HOME=/root "$@"
"""
TOOL = '#!/bin/sh\nexec python3 -I -S /opt/calor.pyz {} "$@"\n'
TOOLS = ("cfn-init", "cfn-signal", "cfn-hup", "cfn-get-metadata", "cfn-create-aws-symlinks")


class Listener:
    """``answers`` are used up one a request, the last one stays: a status, (status, body), or "close"."""

    def __init__(self) -> None:
        self.answers: list[object] = [200]
        self.requests: list[tuple[str, str, bytes]] = []
        self.headers: list[dict[str, str]] = []
        self._http = quiet_http.Server(self._answer)
        self.url = self._http.url

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        self.requests.append((request.command, request.path, quiet_http.body_of(request)))
        self.headers.append(dict(request.headers.items()))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer == "close":
            request.close_connection = True
            return
        status, content = answer if isinstance(answer, tuple) else (answer, b"no comment")
        quiet_http.answer(request, status, content)

    def close(self) -> None:
        self._http.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    found = Listener()
    yield found
    found.close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not there is asked for once."""
    monkeypatch.setattr(metadata, "PATIENCE", 0.0)
    monkeypatch.setattr(fetching, "PATIENCE", 0.0)


class Machine(scratch_debian.Scratch):
    """A Debian of its own over a shared one, with our tools."""

    def __init__(self, base: Path, top: Path) -> None:
        super().__init__(base, top)
        self.write("/opt/calor.pyz", agent_file.build().content)
        for tool in TOOLS:
            self.write(f"/usr/bin/{tool}", TOOL.format(tool), 0o755)

    def path(self, path: str) -> Path:
        """Where the machine's file is: its own, else the shared one."""
        own = self.upper / path.lstrip("/")
        return own if os.path.lexists(own) else self._base / path.lstrip("/")

    def read(self, path: str) -> str:
        return self.path(path).read_text()

    def has(self, path: str) -> bool:
        return os.path.lexists(self.path(path))

    def run(self, *argv: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        command = self.apart(ENTER, *argv)
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)

    def sh(self, script: str) -> str:
        """A shell command that must succeed; what it printed."""
        done = self.run("sh", "-c", script)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def init(self, config: object, *options: str, whole: bool = False) -> subprocess.CompletedProcess[str]:
        """Our cfn-init on a config (or on a whole document)."""
        document = config if whole else {"AWS::CloudFormation::Init": {"config": config}}
        self.write("/root/metadata.json", json.dumps(document))
        return self.run("cfn-init", *options, "/root/metadata.json")


@pytest.fixture(scope="session")
def machine_base() -> Path:
    return scratch_debian.made("cfntools-machine-1", PACKAGES)


@pytest.fixture
def new_machine(machine_base: Path, tmp_path: Path) -> Callable[[str], Machine]:
    return lambda name: Machine(machine_base, tmp_path / name)


@pytest.fixture
def machine(new_machine: Callable[[str], Machine]) -> Machine:
    return new_machine("machine")
