"""Docker's real daemon, shut in: networks, mounts and containers of its own; of the machine only its kernel."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("dockerd", "runc", "busybox")
IMAGE = "tiny:1"
GROUPS = "calor-docker-tests"
SHUT = ("--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false", "--userland-proxy=false")
CANNOT = "docker cannot run containers here"
ENTER = 'ip link set lo up; exec dockerd "$@"'


class Daemon:
    """A daemon with one image, of busybox alone."""

    def __init__(self, folder: Path) -> None:
        self.host = f"unix://{folder}/socket"

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = ["/usr/bin/docker", "-H", self.host, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def docker(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 0, f"docker {' '.join(words)}: {done.stderr}"
        return done.stdout

    def containers(self) -> dict[str, dict[str, Any]]:
        """All, running or not, by name, as ``docker inspect`` shows them."""
        ids = self.docker("ps", "-a", "-q").split()
        found = json.loads(self.docker("inspect", *ids)) if ids else []
        return {one["Name"].lstrip("/"): one for one in found}

    def add_image(self, folder: Path) -> None:
        programs = folder / "image/bin"
        programs.mkdir(parents=True)
        shutil.copy(str(shutil.which("busybox")), programs / "busybox")
        for name in ("sh", "sleep", "echo"):
            (programs / name).symlink_to("busybox")
        subprocess.run(["tar", "cf", folder / "image.tar", "-C", programs.parent, "."], check=True)
        self.docker("import", str(folder / "image.tar"), IMAGE)


@contextlib.contextmanager
def running() -> Iterator[Daemon]:
    """Skips where the machine has no daemon to run."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if os.getuid() != 0 or missing:
        pytest.skip(f"needs root and {', '.join(PROGRAMS)}")
    folder = Path(tempfile.mkdtemp(prefix="docker", dir="/tmp"))  # a short path, as sockets want it
    (folder / "settings.json").write_text("{}")
    places = [f"--data-root={folder}/data", f"--exec-root={folder}/run", f"--pidfile={folder}/pid"]
    places += [
        f"--config-file={folder}/settings.json",
        f"--host=unix://{folder}/socket",
        "--group=root",
        f"--cgroup-parent=/{GROUPS}",
    ]
    enter = ["unshare", "--net", "--mount", "--propagation", "private", "/bin/sh", "-c", ENTER, "sh"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*enter, "--bridge=none", "--storage-driver=vfs", *SHUT, *places], stdout=log, stderr=log
        )
    try:
        until = time.monotonic() + 60
        while "API listen on" not in (folder / "log").read_text():
            if process.poll() is not None:
                pytest.skip(f"{CANNOT}: {(folder / 'log').read_text()[-300:]}")
            assert time.monotonic() < until, (folder / "log").read_text()[-3000:]
            time.sleep(0.1)
        found = Daemon(folder)
        found.add_image(folder)
        tried = found.run("run", "--rm", "--net=none", IMAGE, "echo", "works")
        if tried.stdout != "works\n":
            pytest.skip(f"{CANNOT}: {tried.stderr[-300:]}")
        yield found
        left = found.docker("ps", "-a", "-q").split()
        if left:
            found.docker("rm", "-f", *left)
    finally:
        process.terminate()
        process.wait(60)
        shutil.rmtree(folder)
        for group in (*Path("/sys/fs/cgroup").glob(f"*/{GROUPS}"), Path("/sys/fs/cgroup", GROUPS)):
            with contextlib.suppress(OSError):  # another test's containers are in it, or there is none
                group.rmdir()
