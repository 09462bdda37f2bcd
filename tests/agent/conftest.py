"""A real HTTP server that speaks the guest protocol, and real agents to talk to it."""

import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import from_pypi
import pytest
import quiet_http

ROOTS = [str(Path(__file__).resolve().parents[2] / part) for part in ("agent", "cfntools")]
BOOT = (
    "import sys; sys.path[:0] = sys.argv[1].split(':'); del sys.argv[1]; "
    "from calor.agent.__main__ import main; sys.exit(main())"
)


class GuestServer:
    """Deployments to hand out, and everything that arrived. ``faults`` maps a path's last part to what is done
    instead of answering: a status, "close" or "hang"."""

    def __init__(self) -> None:
        self.version = 0
        self.deployments: list[dict[str, Any]] = []
        self.cancelled: list[str] = []
        self.results: list[dict[str, Any]] = []
        self.heartbeats: list[dict[str, Any]] = []
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.faults: dict[str, Any] = {}
        self.routes: dict[str, Callable[[str, dict[str, str], bytes], tuple[int, dict[str, str], bytes]]] = {}
        self.pieces: list[dict[str, Any]] = []
        self.verdicts: list[dict[str, Any]] = []
        self.enrolled: str | None = None
        self.tokens: set[str] = set()
        self.changed = threading.Condition()
        self.closing = threading.Event()
        self._http = quiet_http.Server(self.handle)
        self.url = self._http.url

    def close(self) -> None:
        self.closing.set()
        with self.changed:
            self.changed.notify_all()
        self._http.close()

    def deploy(self, *deployments: dict[str, Any]) -> None:
        with self.changed:
            self.deployments = [*self.deployments, *deployments]
            self.version += 1
            self.changed.notify_all()

    def replace(self, *deployments: dict[str, Any], cancelled: list[str] | None = None) -> None:
        with self.changed:
            self.deployments, self.cancelled = list(deployments), cancelled or []
            self.version += 1
            self.changed.notify_all()

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        body = quiet_http.body_of(request)
        path = request.path.split("?")[0]
        headers = {key.lower(): value for key, value in request.headers.items()}
        with self.changed:
            self.requests.append((request.command, request.path, headers, body))
        fault = self.faults.get(path.rstrip("/").rsplit("/", 1)[-1])
        if callable(fault):
            fault = fault()
        if fault == "hang":
            self.closing.wait(60)
        if fault in ("hang", "close"):
            request.close_connection = True
            return
        if isinstance(fault, int):
            self._answer(request, fault, {}, b'{"error": {"message": "broken on purpose"}}')
        elif path in self.routes:
            self._answer(request, *self.routes[path](request.path, headers, body))
        else:
            status, document = self._guest(path, request.path, headers, body)
            self._answer(request, status, {}, b"" if document is None else json.dumps(document).encode())

    @staticmethod
    def _answer(request: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def _guest(self, path: str, full: str, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
        what = path.rsplit("/", 1)[-1]
        given = json.loads(body) if body else {}
        if what == "enrol":
            return self._enrol(given)
        if what == "token":
            if sha256(given["secret"].encode()).hexdigest() != self.enrolled:
                return 401, {"error": {"message": "not enrolled"}}
            token = os.urandom(8).hex()
            self.tokens.add(token)
            return 200, {"token": token, "expires_in": 600}
        if headers.get("authorization", "").removeprefix("Bearer ") not in self.tokens:
            return 401, {"error": {"message": "unknown token"}}
        if what == "deployments":
            return self._poll(full)
        with self.changed:
            if what == "heartbeat":
                self.heartbeats.append(given)
                return 200, {"time": "now", "cancelled": self.cancelled}
            if what == "output":
                return 200, {"next": self._take(given)}
            if what == "cloud-init":
                self.verdicts.append(given)
                return 200, {}
            known = given["run_id"] in [one["run_id"] for one in self.results]
            self.results.append(given)
            self.changed.notify_all()
            return 200, {"known": known}

    def _take(self, given: dict[str, Any]) -> dict[str, int]:
        for piece in given["pieces"]:
            self.pieces.append({**piece, "run_id": given["run_id"], "attempt": given["attempt"]})
        return {stream: self.end(given["run_id"], given["attempt"], stream) for stream in ("stdout", "stderr")}

    def end(self, run_id: str, attempt: int, stream: str) -> int:
        end = 0
        for one in self.pieces:
            if (one["run_id"], one["attempt"], one["stream"]) == (run_id, attempt, stream):
                end = max(end, one["offset"] + len(base64.b64decode(one["data"])))
        return end

    def printed(self, run_id: str, stream: str = "stdout", attempt: int = 1) -> bytes:
        """What arrived of a stream; what was left out shows as zero bytes."""
        found = bytearray(self.end(run_id, attempt, stream))
        for one in self.pieces:
            if (one["run_id"], one["attempt"], one["stream"]) == (run_id, attempt, stream):
                data = base64.b64decode(one["data"])
                found[one["offset"] : one["offset"] + len(data)] = data
        return bytes(found)

    def _enrol(self, given: dict[str, Any]) -> tuple[int, Any]:
        if given["bootstrap_token"] != "boot":
            return 403, {"error": {"message": "bad token"}}
        if self.enrolled not in (None, given["secret_hash"]):
            return 409, {"error": {"message": "another secret"}}
        self.enrolled = given["secret_hash"]
        return 200, {}

    def _poll(self, full: str) -> tuple[int, Any]:
        query = dict(part.split("=") for part in full.partition("?")[2].split("&"))
        with self.changed:
            self.changed.wait_for(
                lambda: self.version > int(query["since"]) or self.closing.is_set(), float(query["wait"])
            )
            if self.version <= int(query["since"]):
                return 204, None
            found = {"protocol": 1, "version": self.version, "deployments": self.deployments}
            return 200, {**found, "cancelled": self.cancelled}

    def result(self, run_id: str, timeout: float = 20.0) -> dict[str, Any]:
        """The first result for a run."""
        with self.changed:
            done = self.changed.wait_for(lambda: run_id in [one["run_id"] for one in self.results], timeout)
            assert done, f"no result for {run_id} within {timeout} s; have {self.results}"
            return next(one for one in self.results if one["run_id"] == run_id)


class Guest:
    """An instance: a root directory, a boot id, and the agent in it (by this or another Python)."""

    def __init__(self, root: Path, server: GuestServer) -> None:
        self.root = root
        self.server = server
        self.state = root / "var/lib/calor"
        self.boot_id = root / "boot_id"
        self.boot_id.write_text("boot-1")
        self.configure(server=server.url, instance_id="i-1", bootstrap_token="boot")
        self.environment: dict[str, str] = {}
        self.process: subprocess.Popen[bytes] | None = None

    def configure(self, **settings: Any) -> None:
        path = self.root / "etc/calor/agent.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        quick = {"wait": 5, "retry_max": 0.3, "poll_max": 0.3, "heartbeat": 0.5}
        path.write_text(json.dumps({**quick, **settings}))

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-I", "-S", "-c", BOOT, ":".join(ROOTS), *arguments]

    def environ(self) -> dict[str, str]:
        kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
        return {**kept, "CALOR_ROOT": str(self.root), "CALOR_BOOT_ID_FILE": str(self.boot_id), **self.environment}

    def start(self, command: list[str] | None = None) -> "Guest":
        with (self.root / "console").open("ab") as console:
            self.process = subprocess.Popen(
                command or self.command("run"), env=self.environ(), stdout=console, stderr=console
            )
        return self

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command(*arguments), env=self.environ(), capture_output=True, text=True, timeout=60, check=False
        )

    def kill(self, number: int = signal.SIGKILL) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(10)
            self.process = None

    def supervisors(self) -> list[int]:
        """Pids of the supervisors and hooks of runs that have begun here."""
        found = []
        for path in [*self.state.glob("runs/*/attempt-*/started"), *self.state.glob("runs/*/attempt-*/hook")]:
            words = path.read_text().split()
            if words:
                found.append(int(words[0]))
        return found

    def reboot(self) -> None:
        """What a power cut does: all processes are gone at once, /run is empty, the boot id is another."""
        self.kill()
        for pid in self.supervisors():
            if self._is_ours(pid):
                with contextlib.suppress(ProcessLookupError):  # it may end by itself in between
                    os.kill(pid, signal.SIGKILL)
        self.boot_id.write_text(f"boot-{time.time()}")

    def _is_ours(self, pid: int) -> bool:
        try:
            return (
                str(self.root).encode()
                in Path(f"/proc/{pid}/environ").read_bytes() + Path(f"/proc/{pid}/cmdline").read_bytes()
            )
        except OSError:
            return False

    def console(self) -> str:
        return (self.root / "console").read_text(errors="replace")


@pytest.fixture
def server() -> Iterator[GuestServer]:
    found = GuestServer()
    yield found
    found.close()


@pytest.fixture
def guest(tmp_path: Path, server: GuestServer) -> Iterator[Guest]:
    found = Guest(tmp_path, server)
    yield found
    found.reboot()


def make(name: str, config: Any, group: str = "script", **more: Any) -> dict[str, Any]:
    """A deployment document as the server gives it."""
    inputs = [{"name": key, "value": value, "type": "String"} for key, value in more.pop("inputs", {}).items()]
    ours = {
        "deployment_id": f"d-{name}",
        "run_id": f"run-{name}",
        "retries": 0,
        "timeout": None,
        **more.pop("calor", {}),
    }
    outputs = [{"name": key, "type": "String"} for key in more.pop("outputs", ())]
    base = {"id": f"config-{name}", "name": name, "group": group, "config": config, "options": {}, "inputs": inputs}
    return {**base, "outputs": outputs, "calor": ours, **more}


@pytest.fixture
def deployment() -> Callable[..., dict[str, Any]]:
    return make


@pytest.fixture
def eventually() -> Callable[..., None]:
    def wait(condition: Callable[[], object], timeout: float = 15.0) -> None:
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, "did not happen in time"
            time.sleep(0.02)

    return wait


@pytest.fixture(scope="session")
def reference_agents(pytestconfig: pytest.Config) -> Path:
    """OpenStack's own agents from PyPI: a virtual environment, and heat-agents' hooks from its sdist in ``src``."""
    assert pytestconfig.cache is not None
    elements = from_pypi.heat_agents(pytestconfig.cache.mkdir("agents-of-openstack") / "sdist")
    found = from_pypi.environment(pytestconfig.cache.mkdir("openstack-agents"), "os-apply-config", "pyyaml")
    if not (found / "src").exists():
        (found / "src").symlink_to(elements.parent)
    return found


@pytest.fixture(scope="session")
def salt(pytestconfig: pytest.Config) -> Path:
    """The folder of PyPI's salt-call."""
    assert pytestconfig.cache is not None
    return from_pypi.environment(pytestconfig.cache.mkdir("salt"), "salt") / "bin"
