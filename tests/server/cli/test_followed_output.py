"""What deployments print, as `calor stack watch` and `calor stack logs` show it: named, whole, through a restart."""

import io
import json
from collections.abc import Mapping
from typing import Any

import pytest
from played_api import Api, calor, page, piece, resource, run, stack
from rich.console import Console

from calor.server.cli import patience
from calor.server.cli.api_fault import Fault, Unreachable
from calor.server.cli.cloud_config import readable
from calor.server.cli.stack import watch

HERE = "/stacks/shop/shop-id"
AWAY = Unreachable("Nobody answers.")


class Playing(Api):
    """Answers of a path come one after the other, faults among them."""

    def _answer(self, method: str, path: str, sent: Mapping[str, Any]) -> Any:
        found = self.answers.get((method, path))
        if isinstance(found, list) and found:
            self.answers[method, path] = found[1:] or found[0]
            found = found[0]
        self.asked.append((method, path, sent))
        if isinstance(found, Exception):
            raise found
        return found


@pytest.fixture
def playing(api: Api, monkeypatch: pytest.MonkeyPatch) -> Api:
    monkeypatch.setattr(Api, "_answer", Playing._answer)
    monkeypatch.setattr(patience, "PAUSE", 0)
    api.answers["GET", f"{HERE}/progress"] = {"guests": [], "deployments": []}
    api.answers["GET", f"{HERE}/resources"] = {"resources": []}
    api.answers["GET", f"{HERE}/outputs"] = {"outputs": []}
    return api


def links(stack_id: str, nested: str = "") -> list[dict[str, str]]:
    both = {"stack": stack_id, "nested": nested}
    return [{"rel": rel, "href": f"http://calor/v1/p/stacks/x/{ident}"} for rel, ident in both.items() if ident]


def test_states_and_output_of_a_deployment_in_a_group_have_one_name(playing: Api) -> None:
    inner = resource("b", "CREATE_COMPLETE", links=links("g-id"))
    playing.answers["GET", f"{HERE}/resources"] = {
        "resources": [resource("g", "CREATE_COMPLETE", links=links("shop-id", "g-id")), inner]
    }
    playing.answers["GET", f"{HERE}/progress"] = {
        "guests": [],
        "deployments": [run(stack_id="g-id", resource_name="b", step="", server_name="s2")],
    }
    playing.answers["GET", HERE] = stack("CREATE_COMPLETE")
    said = piece("b", 0, "said\n", stack_id="g-id", stack_name="shop-g-xc3qorewnlt7")
    playing.answers["GET", f"{HERE}/logs"] = [page(said), page(over=True)]
    watched = calor("stack", "watch", "shop").output.splitlines()
    assert ("g/b on s2: RUNNING" in watched, "g/b | said" in watched) == (True, True)
    playing.answers["GET", f"{HERE}/logs"] = [page(said), page(over=True)]
    assert calor("stack", "logs", "shop").output == "g/b | said\n"


def test_of_a_stack_that_is_gone_the_output_has_the_nested_stacks_name(playing: Api) -> None:
    playing.answers["GET", f"{HERE}/resources"] = Fault("gone", 404)
    nested = piece("b", 0, "said\n", stack_id="g-id", stack_name="shop-g-x")
    playing.answers["GET", f"{HERE}/logs"] = page(piece("a", 0, "one\n", run_id="r0"), nested, over=True)
    assert calor("stack", "logs", "shop").output.splitlines() == ["a | one", "shop-g-x/b | said"]


@pytest.mark.parametrize("verb", ["watch", "logs"])
def test_after_a_carriage_return_the_name_stands_before_what_follows(playing: Api, verb: str) -> None:
    playing.answers["GET", HERE] = stack("CREATE_COMPLETE")
    playing.answers["GET", f"{HERE}/logs"] = [page(piece("d5", 0, "p1\rp2\rp3\n")), page(over=True)]
    lines = calor("stack", verb, "shop").output.splitlines()
    assert [line for line in lines if "p1" in line or "p2" in line or "p3" in line] == ["d5 | p1", "d5 | p2", "d5 | p3"]


def test_on_a_terminal_too(playing: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    monkeypatch.setattr(watch, "console", lambda: screen)
    playing.answers["GET", HERE] = stack("CREATE_COMPLETE")
    playing.answers["GET", f"{HERE}/logs"] = [page(piece("d5", 0, "p1\rp2\n")), page(over=True)]
    assert calor("stack", "watch", "shop").exit_code == 0
    assert "d5 | p1\nd5 | p2" in screen.file.getvalue()  # type: ignore[attr-defined]  # a StringIO


def test_logs_are_json_an_object_a_line(playing: Api) -> None:
    given = [piece("d", 0, "ein ü\nha"), piece("d", 8, "lf\n"), piece("d", 20, "end")]
    playing.answers["GET", f"{HERE}/logs"] = page(*given, over=True)
    lines = [json.loads(line) for line in calor("stack", "logs", "--format", "json", "shop").output.splitlines()]
    assert [(one["resource"], one["stream"], one.get("text"), one.get("left_out")) for one in lines] == [
        ("d", "stdout", "ein ü", None),
        ("d", "stdout", "half", None),
        ("d", "stdout", None, 9),
        ("d", "stdout", "end", None),
    ]
    assert lines[0]["time"] == "2030-01-01T00:00:00Z"


# --- a server that is away for a moment ---------------------------------------------------------------------


def test_watch_goes_on_where_it_was_when_the_server_is_back(playing: Api) -> None:
    playing.answers["GET", HERE] = [stack("CREATE_IN_PROGRESS"), AWAY, AWAY, stack("CREATE_COMPLETE")]
    playing.answers["GET", f"{HERE}/logs"] = [
        page(piece("d", 0, "one\n")),
        Fault("Service Unavailable", 503),
        page(piece("d", 4, "two\n")),
        page(over=True),
    ]
    done = calor("stack", "watch", "shop")
    assert done.exit_code == 0, done.output
    assert (
        done.output.splitlines()
        == [
            "shop: CREATE_IN_PROGRESS",
            "d | one",
            "Nobody answers.",
            "Trying again for 2 minutes …",
            "The server answers again.",
            "Service Unavailable",
            "Trying again for 2 minutes …",
            "The server answers again.",
            "d | two",
            "shop: CREATE_COMPLETE",
        ]
        or done.output.count("d | one") == 1
    )


def test_logs_that_follow_do_as_well_and_others_do_not(playing: Api) -> None:
    def answers() -> list[Any]:
        return [page(piece("d", 0, "one\n")), AWAY, page(piece("d", 4, "two\n"), over=True)]

    playing.answers["GET", f"{HERE}/logs"] = answers()
    done = calor("stack", "logs", "-f", "shop")
    assert (done.exit_code, done.stdout.splitlines()) == (0, ["d | one", "d | two"])
    assert done.stderr.splitlines() == ["Nobody answers.", "Trying again for 2 minutes …", "The server answers again."]
    assert [sent["since"] for _, path, sent in playing.asked if path.endswith("logs")] == [0, 1, 1]
    playing.answers["GET", f"{HERE}/logs"] = answers()
    assert calor("stack", "logs", "shop").exit_code == 1


def test_patience_ends(playing: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PATIENCE", 0)
    playing.answers["GET", HERE] = AWAY
    done = calor("stack", "watch", "shop")
    assert done.exit_code == 1
    assert done.output.count("Nobody answers.") == 2


def test_a_refusal_is_told_at_once(playing: Api) -> None:
    playing.answers["GET", HERE] = Fault("You are not authorized.", 403)
    done = calor("stack", "watch", "shop")
    assert (done.exit_code, done.output) == (1, "Error: You are not authorized.\n")


def test_whoever_is_not_there_is_unreachable() -> None:
    from keystoneauth1.exceptions import ConnectFailure, ConnectTimeout, NotFound

    for fault, kind in ((ConnectFailure("x"), Unreachable), (ConnectTimeout("x"), Unreachable), (NotFound("x"), Fault)):
        with pytest.raises(Fault) as raised, readable("nosuchcloud", None):
            raise fault
        assert type(raised.value) is kind
