"""`calor stack` and `calor deployment`, against an API that answers what a test says."""

import io
from pathlib import Path
from typing import Any

import pytest
from played_api import Api, calor, page, piece, resource, run, stack
from rich.console import Console

from calor.server.cli.api_fault import Fault
from calor.server.cli.shown import harmless
from calor.server.cli.stack import watch
from calor.server.cli.stack.logs import Lines

DEPLOYMENT = {"resource_type": "OS::Heat::SoftwareDeployment", "physical_resource_id": "d1"}

# --- delete ------------------------------------------------------------------------------------------------


def test_f032_an_error_of_one_stack_keeps_no_other_and_is_named(api: Api) -> None:
    api.answers["DELETE", "/stacks/b/b-id"] = Fault("You are not authorized.", 403)
    done = calor("stack", "delete", "-y", "a", "nosuch", "b", "c")
    assert [path for method, path, _ in api.asked if method == "DELETE"] == [
        "/stacks/a/a-id",
        "/stacks/b/b-id",
        "/stacks/c/c-id",
    ]
    assert done.exit_code == 1
    assert "b: You are not authorized." in done.output
    assert "not deleted: nosuch, b" in done.output


def test_f031_retained_resources_are_asked_for_and_told(api: Api) -> None:
    kept = {"resource_name": "disk", "resource_type": "OS::Cinder::Volume", "physical_resource_id": "v-1"}
    api.answers["DELETE", "/stacks/shop/shop-id"] = {"retained": [kept]}
    done = calor("stack", "delete", "-y", "--retain", "disk", "shop")
    assert api.asked == [("DELETE", "/stacks/shop/shop-id", {"retain": ["disk"]})]
    assert "shop: disk (OS::Cinder::Volume) is kept: v-1" in done.output
    assert calor("stack", "delete", "-y", "--retain", "x", "a", "b").exit_code == 2


# --- logs --------------------------------------------------------------------------------------------------


def test_lines_have_their_resource_before_them_and_are_whole(api: Api) -> None:
    nested = piece("pkg", 0, "inner\n", stack_id="other", stack_name="shop-in", run_id="r2")
    api.answers["GET", "/stacks/shop/shop-id/logs"] = [
        page(piece("install", 0, "one\ntw")),
        page(piece("install", 6, "o\nlast"), nested),
        page(piece("install", 0, "one\ntw"), over=True),  # came again: it is no news
    ]
    api.answers["GET", "/stacks/shop/shop-id/resources"] = {"resources": []}
    done = calor("stack", "logs", "-f", "shop")
    assert done.output.splitlines() == ["install | one", "install | two", "shop-in/pkg | inner", "install | last"]
    assert [sent["since"] for _, path, sent in api.asked if path.endswith("logs")] == [0, 1, 2]


def test_what_was_left_out_is_said_and_terminal_escapes_are_taken_out() -> None:
    put: list[str] = []
    lines = Lines(lambda line: put.extend(line.shown()))
    lines.add(piece("a", 100, "x\n"))
    assert put == ["a | [… 100 bytes left out …]", "a | x"]
    assert harmless("\x1b[31mred\x1b[0m\x1b]0;title\x07 a\x00\tb") == "red a\N{REPLACEMENT CHARACTER}\tb"


# --- watch and failures -------------------------------------------------------------------------------------


def test_watch_says_each_change_once_and_its_exit_code_tells_the_end(api: Api) -> None:
    here = "/stacks/shop/shop-id"
    guest = {"stack_id": "shop-id", "resource_name": "web", "state": "running"}
    running = {"guests": [guest], "deployments": [run()]}
    failed = {"guests": [guest], "deployments": [run(state="FINISHED", output_values={"deploy_stderr": "no space"})]}
    moving = [resource("web", "CREATE_COMPLETE"), resource("install", "CREATE_IN_PROGRESS")]
    ended = [resource("web", "CREATE_COMPLETE"), resource("install", "CREATE_FAILED", "exit code 3")]
    api.answers["GET", here] = [stack("CREATE_IN_PROGRESS"), stack("CREATE_IN_PROGRESS"), stack("CREATE_FAILED", "bad")]
    api.answers["GET", f"{here}/progress"] = [running, running, failed]
    api.answers["GET", f"{here}/resources"] = [
        {"resources": moving},
        {"resources": moving},
        {"resources": ended},
        {"resources": ended[1:]},
    ]
    old = piece("install", 0, "before\n", time="2029-01-01T00:00:00Z", run_id="r0")
    api.answers["GET", f"{here}/logs"] = [page(old, piece("install", 0, "said\n")), page(), page(over=True)]
    done = calor("stack", "watch", "shop")
    assert done.exit_code == 1
    lines = done.output.splitlines()
    assert lines.count("install on web: RUNNING, 2/4 unpack (25 %)") == 1
    assert lines.count("web: CREATE_COMPLETE") == 1
    assert "install | said" in lines
    assert "install | before" not in lines
    assert "install: CREATE_FAILED: exit code 3" in lines
    assert "  no space" in lines


def test_a_stack_that_is_gone_is_a_good_end_of_a_deletion(api: Api) -> None:
    here = "/stacks/shop/shop-id"
    api.answers["GET", here] = Fault("gone", 404)
    api.answers["GET", f"{here}/logs"] = page(over=True)
    done = calor("stack", "watch", "shop")
    assert (done.exit_code, done.output) == (0, "shop: DELETE_COMPLETE\n")


def test_who_watches_a_stack_that_is_not_there_hears_where_to_look(api: Api) -> None:
    done = calor("stack", "watch", "nosuch")
    assert done.exit_code == 1
    assert "(nosuch) could not be found. It may have been deleted: `calor stack list --deleted` tells." in done.output


def members_of_a_group() -> list[dict[str, Any]]:
    def inside(stack_id: str, nested: str = "") -> list[dict[str, str]]:
        both = {"stack": stack_id, "nested": nested}
        return [{"rel": rel, "href": f"http://calor/v1/p/stacks/x/{ident}"} for rel, ident in both.items() if ident]

    return [
        resource("g", "CREATE_COMPLETE", links=inside("shop-id", "g-id")),
        resource("0", "CREATE_COMPLETE", links=inside("g-id", "0-id"), parent_resource="g"),
        resource("1", "CREATE_COMPLETE", links=inside("g-id", "1-id"), parent_resource="g"),
        resource("r", "CREATE_COMPLETE", links=inside("0-id"), parent_resource="0"),
        resource("r", "CREATE_COMPLETE", links=inside("1-id"), parent_resource="1"),
    ]


def test_members_of_a_group_have_the_path_of_their_parents_and_the_end_leads_to_the_outputs(api: Api) -> None:
    here = "/stacks/shop/shop-id"
    api.answers["GET", here] = stack("CREATE_COMPLETE")
    api.answers["GET", f"{here}/progress"] = {"guests": [], "deployments": [run(stack_id="1-id")]}
    api.answers["GET", f"{here}/resources"] = {"resources": members_of_a_group()}
    api.answers["GET", f"{here}/logs"] = page(over=True)
    api.answers["GET", f"{here}/outputs"] = {"outputs": [{"output_key": "o"}]}
    done = calor("stack", "watch", "shop")
    assert done.exit_code == 0, done.exception
    assert done.output.splitlines() == [
        *(f"{place}: CREATE_COMPLETE" for place in ("g", "g/0", "g/1", "g/0/r", "g/1/r")),
        "g/1/install on web: RUNNING, 2/4 unpack (25 %)",
        "shop: CREATE_COMPLETE",
        "Its outputs: calor stack show shop",
    ]
    screen = Console(file=io.StringIO(), width=80)
    screen.print(watch.tree_of(watch.Picture("shop", "CREATE_COMPLETE", resources=members_of_a_group())))
    assert [line.split()[-2] for line in screen.file.getvalue().splitlines()] == [  # type: ignore[attr-defined]
        *("shop", "g", "0", "r", "1", "r")
    ]


def test_events_of_nested_resources_have_the_path_of_their_parents(api: Api) -> None:
    events = [{**one, "links": one["links"][:1], "event_time": ""} for one in members_of_a_group()]
    for one, ident in zip(events, ("g-id", "0-id", "1-id", "r-1", "r-2"), strict=True):
        one["physical_resource_id"] = ident
    events.append({**events[1], "resource_name": "shop-g", "physical_resource_id": "g-id"})
    api.answers["GET", "/stacks/shop/shop-id/events"] = {"events": events}
    lines = calor("stack", "events", "--nested-depth", "3", "shop").output.splitlines()[1:]
    assert [line.split()[0] for line in lines] == ["g", "g/0", "g/1", "g/0/r", "g/1/r", "shop-g"]


def test_the_reason_of_what_failed_is_not_in_the_stacks_line_again(api: Api) -> None:
    here = "/stacks/shop/shop-id"
    api.answers["GET", here] = stack("CREATE_FAILED", "Create timed out: resources.w: CREATE aborted")
    api.answers["GET", f"{here}/progress"] = {"guests": [], "deployments": []}
    api.answers["GET", f"{here}/resources"] = {
        "resources": [resource("w", "CREATE_FAILED", "resources.w: CREATE aborted")]
    }
    api.answers["GET", f"{here}/logs"] = page(over=True)
    done = calor("stack", "watch", "shop")
    assert "\nshop is CREATE_FAILED: Create timed out\n" in done.output
    assert done.output.count("CREATE aborted") == 2  # as it happened, and where what failed is told


def test_the_tree_has_nested_resources_below_theirs_with_instances_and_steps() -> None:
    links = [{"rel": "stack", "href": "http://calor/v1/p/stacks/shop/shop-id"}]
    inner = resource("install", "CREATE_IN_PROGRESS", parent_resource="group", links=links)
    resources = [resource("web", "CREATE_COMPLETE", links=links), resource("group", "CREATE_IN_PROGRESS"), inner]
    guest = {"stack_id": "shop-id", "resource_name": "web", "state": "running"}
    ended = run(id="x1", on_demand_of="d1", state="FINISHED", step="")
    progress = {"guests": [guest], "deployments": [run(), ended]}
    picture = watch.Picture("shop", "CREATE_IN_PROGRESS", "", "", resources, progress)
    screen = Console(file=io.StringIO(), width=80)
    screen.print(watch.tree_of(picture))
    assert screen.file.getvalue().splitlines() == [  # type: ignore[attr-defined]  # a StringIO
        "shop  CREATE_IN_PROGRESS",
        "├── web  CREATE_COMPLETE  running",
        "└── group  CREATE_IN_PROGRESS",
        "    └── install  CREATE_IN_PROGRESS",
        "        └── RUNNING 2/4 unpack (25 %)",
    ]


def test_on_a_terminal_the_tree_and_the_newest_lines_are_shown(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    monkeypatch.setattr(watch, "console", lambda: screen)
    here = "/stacks/shop/shop-id"
    api.answers["GET", here] = stack("CREATE_COMPLETE")
    api.answers["GET", f"{here}/progress"] = {"guests": [], "deployments": []}
    api.answers["GET", f"{here}/resources"] = {"resources": [resource("web", "CREATE_COMPLETE")]}
    api.answers["GET", f"{here}/logs"] = [page(piece("install", 0, "[red]said\n")), page(over=True)]
    api.answers["GET", f"{here}/outputs"] = {"outputs": []}
    assert calor("stack", "watch", "shop").exit_code == 0
    shown = screen.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    assert "└── web  CREATE_COMPLETE" in shown
    assert "install | [red]said" in shown


def test_failures_show_the_deepest_cause_only(api: Api) -> None:
    here = "/stacks/shop/shop-id"
    root, nested = {"rel": "stack", "href": "/stacks/shop/shop-id"}, {"rel": "nested", "href": "/stacks/in/in-id"}
    inner = resource("install", "CREATE_FAILED", "exit code 3", links=[{"rel": "stack", "href": "/stacks/in/in-id"}])
    found = [resource("group", "CREATE_FAILED", "resources.install: exit code 3", links=[root, nested]), inner]
    api.answers["GET", f"{here}/resources"] = {"resources": found}
    api.answers["GET", here] = stack("CREATE_FAILED")
    many = "\n".join(f"line {n}" for n in range(50))
    api.answers["GET", f"{here}/progress"] = {"guests": [], "deployments": [run(output_values={"deploy_stdout": many})]}
    short, whole = calor("stack", "failures", "shop").output, calor("stack", "failures", "--long", "shop").output
    assert short.splitlines()[0] == "group/install  CREATE_FAILED"
    assert (short.count("CREATE_FAILED"), short.count("exit code 3")) == (1, 1)
    assert ("line 9\n" in short, "line 10\n" in short, "line 49\n" in short) == (False, True, True)
    assert "line 9\n" in whole


# --- deployments --------------------------------------------------------------------------------------------


def test_f192_a_run_on_demand_is_asked_for_by_the_name_of_its_resource_and_waited_for(api: Api) -> None:
    api.answers["GET", "/stacks/shop/shop-id/resources/install"] = {"resource": DEPLOYMENT}
    api.answers["POST", "/software_deployments/d1/runs"] = {"run": run(id="x1")}
    api.answers["GET", "/software_deployments/x1/logs"] = page(piece("install", 0, "saved\n"), over=True)
    api.answers["GET", "/software_deployments/d1/runs/x1"] = {"run": run(status="FAILED", status_reason="exit code 3")}
    words = ("--action", "BACKUP", "--input", "to=tape", "--policy", "refuse", "--wait")
    done = calor("deployment", "run", "install", "--stack", "shop", *words)
    assert (
        "POST",
        "/software_deployments/d1/runs",
        {"input_values": {"to": "tape"}, "policy": "refuse", "action": "BACKUP"},
    ) in api.asked
    assert done.exit_code == 1
    assert "install | saved" in done.output
    assert "FAILED: exit code 3" in done.output


def test_the_output_of_a_deployment_is_asked_for_by_the_name_of_its_resource(api: Api) -> None:
    api.answers["GET", "/stacks/shop/shop-id/resources/install"] = {"resource": DEPLOYMENT}
    api.answers["GET", "/software_deployments/d1/logs"] = page(piece("install", 0, "saved\n"), over=True)
    assert calor("deployment", "logs", "install", "--stack", "shop").output == "install | saved\n"


def test_what_is_no_deployment_is_told_with_what_to_name_instead(api: Api) -> None:
    config = {"resource_type": "OS::Heat::SoftwareConfig", "physical_resource_id": "c1"}
    api.answers["GET", "/stacks/shop/shop-id/resources/sc"] = {"resource": config}
    found = [run(), run(id="d2", stack_id="inner-id", resource_path="g/install"), run(id="x1", on_demand_of="d1")]
    api.answers["GET", "/stacks/shop/shop-id/progress"] = {"guests": [], "deployments": found}
    done = calor("deployment", "run", "--stack", "shop", "sc")
    assert done.exit_code == 1
    assert (
        "sc is no deployment but OS::Heat::SoftwareConfig; the deployments of shop are: install, g/install."
        in done.output
    )
    api.answers["GET", "/stacks/shop/shop-id/progress"] = {"guests": [], "deployments": []}
    assert "OS::Heat::SoftwareConfig; shop has none." in calor("deployment", "run", "--stack", "shop", "sc").output


def test_a_deployment_of_a_type_with_another_name_is_found(api: Api) -> None:
    mine = {"resource_type": "My::Install", "physical_resource_id": "d1"}
    api.answers["GET", "/stacks/shop/shop-id/resources/install"] = {"resource": mine}
    api.answers["GET", "/stacks/shop/shop-id/progress"] = {"guests": [], "deployments": [run()]}
    api.answers["POST", "/software_deployments/d1/cancel"] = {"run": run(state="CANCELLING")}
    assert calor("deployment", "cancel", "install", "--stack", "shop").output == "d1: CANCELLING\n"


def in_members() -> dict[str, Any]:
    """The deployments `install` of the members of a group, on servers of the same name."""
    members = [run(id=f"d{n}", stack_id=f"{n}-id", resource_path=f"g/{n}/install") for n in range(2)]
    servers = [{"resource_name": "web", "resource_path": f"g/{n}/web"} for n in range(2)]
    guests = [{**one, "state": "idle", "last_contact": None, "cloud_init": None} for one in servers]
    return {"guests": guests, "deployments": members}


def test_a_deployment_of_a_nested_stack_is_named_by_its_path(api: Api) -> None:
    here = "/stacks/shop/shop-id"
    api.answers["GET", f"{here}/progress"] = in_members()
    api.answers["GET", f"{here}/resources/install"] = Fault("The Resource (install) could not be found.", 404)
    api.answers["POST", "/software_deployments/d1/cancel"] = {"run": run(id="d1", state="CANCELLING")}
    api.answers["GET", "/software_deployments/d0/logs"] = page(piece("install", 0, "saved\n"), over=True)
    assert calor("deployment", "cancel", "--stack", "shop", "g/1/install").output == "d1: CANCELLING\n"
    assert calor("deployment", "logs", "--stack", "shop", "g/0/install").output == "install | saved\n"
    for name in ("install", "g/2/install"):
        done = calor("deployment", "cancel", "--stack", "shop", name)
        assert done.exit_code == 1
        assert f"{name}; the deployments of shop are: g/0/install, g/1/install." in done.output


def test_a_stack_shows_where_its_instances_and_deployments_are(api: Api) -> None:
    here = "/stacks/shop/shop-id"
    api.answers["GET", here] = stack("CREATE_COMPLETE")
    found = in_members()
    found["deployments"] = [{**one, "action": "CREATE"} for one in found["deployments"]]
    api.answers["GET", f"{here}/progress"] = found
    first = [line.split()[0] for line in calor("stack", "show", "shop").output.splitlines() if line.startswith("g/")]
    assert first == ["g/0/web", "g/1/web", "g/0/install", "g/1/install"]


def test_a_deployment_is_cancelled(api: Api) -> None:
    api.answers["POST", "/software_deployments/d1/cancel"] = {"run": run(state="CANCELLING")}
    assert calor("deployment", "cancel", "d1").output == "d1: CANCELLING\n"


def test_without_a_cloud_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OS_CLOUD", "OS_AUTH_URL", "OS_CLIENT_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    done = calor("stack", "list", "--os-cloud", "nowhere")
    assert done.exit_code == 1
    assert "--os-cloud" in done.output
