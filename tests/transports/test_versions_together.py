"""Agents and servers of different versions: the first agent that was ever handed out is served by this server, and this
agent works with a server that knows nothing newer than the first protocol."""

import json
import tarfile
import threading
import time
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
FIRST = Path(__file__).with_name("data") / "first-agent.tar.xz"
"""The two trees of the first agent that was handed out (commit 17cfa94): a clone's history may not reach back to it."""


@pytest.fixture(scope="session")
def first_agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first")
    safely: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Debian's 3.11 has none yet
    with tarfile.open(FIRST) as archive:
        archive.extractall(folder, **safely)
    return folder


def deploying(server_properties: dict[str, Any], script: str) -> dict[str, Any]:
    config = {"group": "script", "config": script, "outputs": [{"name": "said"}]}
    used = {"config": {"get_resource": "config"}, "server": {"get_resource": "server"}}
    return {
        "server": {"type": "OS::Nova::Server", "properties": server_properties},
        "config": {"type": "OS::Heat::SoftwareConfig", "properties": config},
        "deployment": {"type": "OS::Heat::SoftwareDeployment", "properties": used},
    }


def test_the_first_agent_is_served(
    desk: Any, server_properties: dict[str, Any], tmp_path: Path, first_agent: Path, stopped: list[Any]
) -> None:
    resources = deploying(server_properties, "#!/bin/sh\nprintf old > $heat_outputs_path.said\n")
    desk.create("old", {"server": resources["server"]}, wait=True)
    stopped.append(desk.agent(tmp_path, "old", checkout=first_agent))
    outputs = {"said": {"value": {"get_attr": ["deployment", "said"]}}}
    desk.update("old", resources, outputs=outputs)
    assert desk.reached("old", "UPDATE_COMPLETE") == {"said": "old"}

    resources["config"]["properties"]["config"] = "#!/bin/sh\necho no >&2\nexit 3\n"
    desk.update("old", resources, outputs=outputs)
    desk.reached("old", "UPDATE_FAILED")
    assert "non-zero status code: 3" in desk.show("old")["stack_status_reason"]


def test_this_agent_works_with_a_server_of_the_first_protocol(
    first_server: "FirstServer", tmp_path: Path, stopped: list[Any], agent_type: Any
) -> None:
    """It answers 404 to all it does not know, takes no field it does not know, and says no more than it must."""
    address = f"http://127.0.0.1:{first_server.server_port}"
    identity = {"instance_id": "i-1", "bootstrap_token": "boot", "server": address}
    stopped.append(agent_type(tmp_path, identity, ROOT, "C"))
    limit = time.monotonic() + 60
    while not first_server.results and time.monotonic() < limit:
        time.sleep(0.05)
    (result,) = first_server.results
    assert set(result) == {"run_id", "deployment_id", "config_id", "outcome", "outputs", "reason"}
    assert result["outputs"]["deploy_stdout"] == "first\n"
    assert set(first_server.beats[0]) >= {"state", "boot_id", "agent", "protocol", "running"}


DOCUMENT = {
    "id": "c1",
    "name": "one",
    "group": "script",
    "config": "#!/bin/sh\necho first\n",
    "inputs": [],
    "outputs": [],
    "options": {},
    "creation_time": "2026-01-01T00:00:00Z",
    "calor": {"deployment_id": "d1", "run_id": "r1", "retries": 0, "timeout": None},
}


class FirstServer(ThreadingHTTPServer):
    """The guest protocol as it was at first, by its table in docs/architecture.md."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Requests)
        self.results: list[dict[str, Any]] = []
        self.beats: list[dict[str, Any]] = []
        self.hash = ""
        self.closing = threading.Event()
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def posted(self, what: str, body: dict[str, Any]) -> tuple[int, Any]:
        if what == "enrol":
            self.hash = body["secret_hash"]
        elif what == "token":
            assert sha256(body["secret"].encode()).hexdigest() == self.hash
            return 200, {"token": "t", "expires_in": 600}
        elif what == "heartbeat":
            self.beats.append(body)
        elif what == "results":
            self.results.append(body)
            return 200, {"known": False}
        else:
            return 404, {"error": {"message": "not found"}}
        return 200, {}


class Requests(BaseHTTPRequestHandler):
    server: FirstServer

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        what, _, query = self.path.rpartition("/")[2].partition("?")
        if what != "deployments":
            self.answer(404, {"error": {"message": "not found"}})
        elif "since=0" in query:
            self.answer(200, {"protocol": 1, "version": 1, "deployments": [DOCUMENT], "cancelled": []})
        else:
            self.server.closing.wait(2)
            self.answer(204, None)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(*self.server.posted(self.path.rpartition("/")[2], body))

    def answer(self, status: int, found: Any) -> None:
        data = b"" if found is None else json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def first_server() -> Iterator[FirstServer]:
    made = FirstServer()
    yield made
    made.closing.set()
    made.shutdown()
    made.server_close()
