"""A real HTTP server whose answers a test chooses, and machines: scratch Debians with real package managers."""

import fcntl
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from calor.cfntools import fetching, metadata
from calor.server.engine.guests import agent_file

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "calor" / "cfntools-machine-1"
PACKAGES = "python3,python3-pip,rpm,dnf,zypper,createrepo-c,ruby,sysv-rc,bzip2,xz-utils,unzip,curl,procps"
ENTER = r"""
base=$1 top=$2; shift 2
mount -t overlay overlay -o "lowerdir=$base,upperdir=$top/upper,workdir=$top/work" "$top/root" || exit 99
mount -t proc proc "$top/root/proc"
mount -t tmpfs tmpfs "$top/root/dev"
for device in null zero random urandom; do
    touch "$top/root/dev/$device"; mount --bind /dev/$device "$top/root/dev/$device"
done
ln -s /proc/self/fd "$top/root/dev/fd"
ip link set lo up 2>/dev/null || true
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
        listener = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                listener.requests.append((self.command, self.path, body))
                listener.headers.append(dict(self.headers.items()))
                answer = listener.answers.pop(0) if len(listener.answers) > 1 else listener.answers[0]
                if answer == "close":
                    self.close_connection = True
                    return
                status, content = answer if isinstance(answer, tuple) else (answer, b"no comment")
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_PUT = do_POST = answer

            def log_message(self, *_: object) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


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


class Machine:
    """A Debian of its own over a shared one: mounts, processes and (no) network apart; what it changed is ``upper``."""

    def __init__(self, base: Path, top: Path) -> None:
        self._base, self._top = base, top
        self.upper = top / "upper"
        for name in ("upper", "work", "root"):
            (top / name).mkdir(parents=True)
        self.write("/opt/calor.pyz", agent_file.build().content)
        for tool in TOOLS:
            self.write(f"/usr/bin/{tool}", TOOL.format(tool), 0o755)

    def path(self, path: str) -> Path:
        """Where the machine's file is: its own, else the shared one."""
        own = self.upper / path.lstrip("/")
        return own if os.path.lexists(own) else self._base / path.lstrip("/")

    def write(self, path: str, content: str | bytes, mode: int = 0o644) -> None:
        target = self.upper / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        target.chmod(mode)

    def read(self, path: str) -> str:
        return self.path(path).read_text()

    def has(self, path: str) -> bool:
        return os.path.lexists(self.path(path))

    def run(self, *argv: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        command = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--net", "--ipc", "--uts"]
        command += ["--kill-child", "/bin/sh", "-c", ENTER, "sh", str(self._base), str(self._top), *argv]
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
    """The shared Debian: from the cache, or made (a minute, with network)."""
    if os.getuid() != 0 or shutil.which("mmdebstrap") is None:
        pytest.skip("needs root and mmdebstrap")
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    with CACHE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not CACHE.exists():
            half = CACHE.with_suffix(".partial")
            shutil.rmtree(half, ignore_errors=True)
            command = ["mmdebstrap", "--mode=root", "--variant=minbase", "--quiet", f"--include={PACKAGES}"]
            subprocess.run([*command, "bookworm", str(half)], check=True, capture_output=True, timeout=1200)
            half.rename(CACHE)
    return CACHE


@pytest.fixture
def new_machine(machine_base: Path, tmp_path: Path) -> Callable[[str], Machine]:
    return lambda name: Machine(machine_base, tmp_path / name)


@pytest.fixture
def machine(new_machine: Callable[[str], Machine]) -> Machine:
    return new_machine("machine")
