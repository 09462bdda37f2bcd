"""An API that answers what a test says, and what it may answer."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from calor.server.cli import main
from calor.server.cli.api_fault import Fault

Answer = Callable[[str, str, Mapping[str, Any]], Any]


class Api:
    """Answers by (method, path); what it was asked is in ``asked``."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], Any] = {}
        self.asked: list[tuple[str, str, Mapping[str, Any]]] = []

    def __call__(self, cloud: str | None = None, dev_dir: Path | None = None) -> "Api":
        return self

    def get(self, path: str, **query: Any) -> Any:
        return self._answer("GET", path, query)

    def send(self, method: str, path: str, body: Any = None, query: Any = None, **more: Any) -> Any:
        return self._answer(method, path, body or query or {})

    def stack_path(self, name: str) -> str:
        if name == "nosuch":
            raise Fault("The Stack (nosuch) could not be found.", 404)
        return f"/stacks/{name}/{name}-id"

    def _answer(self, method: str, path: str, sent: Mapping[str, Any]) -> Any:
        self.asked.append((method, path, sent))
        found = self.answers.get((method, path))
        found = found.pop(0) if isinstance(found, list) and found and isinstance(found[0], list | dict) else found
        if isinstance(found, Exception):
            raise found
        return found


def calor(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def piece(name: str, offset: int, text: str, **more: Any) -> dict[str, Any]:
    where = {"stack_id": "shop-id", "stack_name": "shop", "resource_name": name, "time": "2030-01-01T00:00:00Z"}
    run = {"run_id": "r1", "attempt": 1, "stream": "stdout", "offset": offset, "end": offset + len(text.encode())}
    return {**where, **run, "text": text, **more}


def page(*pieces: dict[str, Any], over: bool = False) -> dict[str, Any]:
    return {"pieces": list(pieces), "next": len(pieces), "over": over}


def run(**more: Any) -> dict[str, Any]:
    given = {"id": "d1", "on_demand_of": None, "stack_id": "shop-id", "resource_name": "install", "server_name": "web"}
    given |= {"state": "RUNNING", "step": "2/4 unpack", "percent": 25, "status": "IN_PROGRESS", "output_values": {}}
    return {**given, **more}


def resource(name: str, status: str, reason: str = "", **more: Any) -> dict[str, Any]:
    given = {"resource_name": name, "resource_status": status, "resource_status_reason": reason, "links": []}
    return {**given, "resource_type": "OS::Test", "physical_resource_id": "d1", **more}


def stack(status: str, reason: str = "") -> dict[str, Any]:
    times = {"creation_time": "2030-01-01T00:00:00Z", "updated_time": None}
    return {"stack": {"stack_name": "shop", "stack_status": status, "stack_status_reason": reason, **times}}
