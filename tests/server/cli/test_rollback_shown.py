"""What `calor stack` says of an operation that failed and was rolled back, over the API that answers so."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from calor.server.cli import client as client_module
from calor.server.cli import main
from calor.server.cli.stack import watch

HOT = "heat_template_version: 2021-04-16\n"


def event(stack: str, name: str, status: str, physical: str, reason: str = "state changed") -> dict[str, Any]:
    links = [{"rel": "stack", "href": f"http://calor/v1/p/stacks/name/{stack}"}]
    told = {"resource_status": status, "resource_status_reason": reason, "physical_resource_id": physical}
    return {"resource_name": name, **told, "links": links}


BROKEN = "Error: resources.install: exit code 3; last lines: E: no such package"
EVENTS = [
    event("root", "shop", "CREATE_IN_PROGRESS", "root"),
    event("root", "old", "CREATE_FAILED", "o1", "of an operation before"),
    event("root", "shop", "CREATE_FAILED", "root"),
    event("root", "shop", "UPDATE_IN_PROGRESS", "root"),
    event("root", "group", "CREATE_IN_PROGRESS", "inner"),
    event("inner", "shop-group", "CREATE_IN_PROGRESS", "inner"),
    event("inner", "install", "CREATE_FAILED", "d1", BROKEN),
    event("inner", "shop-group", "CREATE_FAILED", "inner", "Resource CREATE failed"),
    event("root", "group", "CREATE_FAILED", "inner", "resources.group.resources.install"),
    event("root", "shop", "UPDATE_FAILED", "root"),
    event("root", "shop", "ROLLBACK_IN_PROGRESS", "root"),
    event("root", "group", "DELETE_IN_PROGRESS", "inner"),
    event("root", "shop", "ROLLBACK_COMPLETE", "root"),
]


class Api:
    """A stack that is ``ROLLBACK_COMPLETE``."""

    def __call__(self, cloud: str | None = None, dev_dir: Path | None = None) -> "Api":
        return self

    def get(self, path: str, **query: Any) -> Any:
        times = {"creation_time": "2030-01-01T00:00:00Z", "updated_time": None}
        told = {"stack_status": "ROLLBACK_COMPLETE", "stack_status_reason": "done (why)"}
        return {
            "/stacks/shop/root": {"stack": {"stack_name": "shop", **told, **times}},
            "/stacks/shop/root/progress": {"guests": [], "deployments": []},
            "/stacks/shop/root/resources": {"resources": []},
            "/stacks/shop/root/logs": {"pieces": [], "next": 0, "over": True},
            "/stacks/shop/root/events": {"events": EVENTS},
        }[path]

    def send(self, *_: Any, **__: Any) -> Any:
        return {"stack": {"id": "root"}}

    def stack_path(self, name: str) -> str:
        return "/stacks/shop/root"


@pytest.fixture
def rolled_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "Client", Api())
    monkeypatch.setattr(watch, "PERIOD", 0)


def calor(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


@pytest.mark.usefixtures("rolled_back")
def test_failures_after_a_rollback_are_the_deepest_ones_of_the_operation_before_it() -> None:
    done = calor("stack", "failures", "shop")
    assert done.exit_code == 0
    assert "group/install  CREATE_FAILED" in done.output
    assert BROKEN in done.output
    assert "of an operation before" not in done.output
    assert done.output.count("CREATE_FAILED") == 1


@pytest.mark.usefixtures("rolled_back")
@pytest.mark.parametrize("verb", ["watch", "create", "update"])
def test_who_waits_for_what_is_rolled_back_gets_exit_code_1_and_the_cause(verb: str, tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(HOT)
    options = () if verb == "watch" else ("--wait", "-t", str(tmp_path / "t.yaml"))
    done = calor("stack", verb, *options, "shop")
    assert done.exit_code == 1
    assert "shop is ROLLBACK_COMPLETE: done (why)" in done.output
    assert BROKEN in done.output
