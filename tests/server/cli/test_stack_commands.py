"""`calor stack` and `calor deployment`, against an API that answers what a test says."""

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner, Result
from rich.console import Console

from calor.server.cli import client as client_module
from calor.server.cli import main
from calor.server.cli.client import Fault
from calor.server.cli.shown import harmless
from calor.server.cli.stack import watch
from calor.server.cli.stack.logs import Lines
from calor.server.cli.template_files import Gathered

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


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    found = Api()
    monkeypatch.setattr(client_module, "Client", found)
    monkeypatch.setattr(watch, "PERIOD", 0)
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
    done = calor("stack", "logs", "-f", "shop")
    assert done.output.splitlines() == ["install | one", "install | two", "shop-in/pkg | inner", "install | last"]
    assert [sent["since"] for _, _, sent in api.asked] == [0, 1, 2]


def test_what_was_left_out_is_said_and_terminal_escapes_are_taken_out() -> None:
    put: list[tuple[str, str]] = []
    lines = Lines(lambda name, line: put.append((name, line)))
    lines.add(piece("a", 100, "x\n"))
    assert put == [("a", "[… 100 bytes left out …]"), ("a", "x")]
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
    assert calor("stack", "watch", "shop").exit_code == 0
    shown = screen.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    assert "└── web  CREATE_COMPLETE" in shown
    assert "install | [red]said" in shown


def test_failures_show_the_deepest_cause_only(api: Api) -> None:
    here = "/stacks/shop/shop-id"
    inner = resource("install", "CREATE_FAILED", "exit code 3", parent_resource="group")
    found = [resource("group", "CREATE_FAILED", "resources.install: exit code 3"), inner]
    api.answers["GET", f"{here}/resources"] = {"resources": found}
    api.answers["GET", here] = stack("CREATE_FAILED")
    many = "\n".join(f"line {n}" for n in range(50))
    api.answers["GET", f"{here}/progress"] = {"guests": [], "deployments": [run(output_values={"deploy_stdout": many})]}
    short, whole = calor("stack", "failures", "shop").output, calor("stack", "failures", "--long", "shop").output
    assert "group" not in short
    assert "exit code 3" in short
    assert ("line 10\n" in short, "line 49\n" in short) == (False, True)
    assert "line 10\n" in whole


# --- create and update --------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/inner.yaml").write_text("heat_template_version: 2018-08-31\nx: {get_file: run.sh}\n")
    (tmp_path / "lib/run.sh").write_text("inner\n")
    (tmp_path / "run.sh").write_text("outer\n")
    (tmp_path / "env.yaml").write_text("resource_registry:\n  My::Type: lib/inner.yaml\n  OS::A: OS::B\n")
    (tmp_path / "t.yaml").write_text(
        "heat_template_version: 2018-08-31\n"
        "resources:\n"
        "  a: {type: lib/inner.yaml}  # a comment\n"
        "  b: {type: OS::Heat::Value, properties: {value: {get_file: run.sh}, mac: 52:54:00:12:34:56}}\n"
    )
    return tmp_path


def test_files_travel_with_a_template_and_nothing_else_of_it_changes(files: Path) -> None:
    gathered = Gathered()
    text = gathered.template(files / "t.yaml")
    inner, run_sh = (files / "lib/inner.yaml").as_uri(), (files / "run.sh").as_uri()
    assert text == (files / "t.yaml").read_text().replace("lib/inner.yaml", f'"{inner}"').replace(
        "run.sh", f'"{run_sh}"'
    )
    assert gathered.files[run_sh] == "outer\n"
    assert gathered.files[(files / "lib/run.sh").as_uri()] == "inner\n"
    assert (files / "lib/run.sh").as_uri() in gathered.files[inner]


def test_create_sends_template_environments_parameters_and_files(api: Api, files: Path) -> None:
    api.answers["POST", "/stacks"] = {"stack": {"id": "new-id"}}
    (files / "p.json").write_text('{"a": 1}')
    options = ("-e", str(files / "env.yaml"), "--parameter", "x=1=2", "--parameter-file", f"y={files / 'p.json'}")
    done = calor("stack", "create", "shop", "-t", str(files / "t.yaml"), *options, "--tags", "a,b", "--timeout", "5")
    assert (done.exit_code, done.output) == (0, "new-id\n")
    ((_, _, body),) = api.asked
    assert (body["stack_name"], body["disable_rollback"], body["timeout_mins"], body["tags"]) == (
        "shop",
        True,
        5,
        "a,b",
    )
    assert body["parameters"] == {"x": "1=2", "y": {"a": 1}}
    (environment,) = body["environment_files"]
    registry = yaml.safe_load(body["files"][environment])["resource_registry"]
    assert registry == {"My::Type": (files / "lib/inner.yaml").as_uri(), "OS::A": "OS::B"}
    assert json.dumps(body)


def test_a_file_that_is_missing_is_named_with_the_line_that_names_it(api: Api, files: Path) -> None:
    (files / "run.sh").unlink()
    done = calor("stack", "create", "shop", "-t", str(files / "t.yaml"))
    assert done.exit_code == 1
    assert f"{files / 't.yaml'}:4: there is no file {files / 'run.sh'}." in done.output
    assert api.asked == []


def test_update_sends_all_or_with_existing_what_is_given(api: Api, files: Path) -> None:
    assert calor("stack", "update", "shop").exit_code == 2
    done = calor("stack", "update", "shop", "--existing", "--parameter", "x=1", "--clear-parameter", "y")
    assert done.exit_code == 0, (done.output, done.exception)
    assert api.asked.pop(0)[:2] == ("GET", "/stacks/shop/shop-id/template")
    calor("stack", "update", "shop", "-t", str(files / "t.yaml"), "--rollback")
    (patch, put) = api.asked
    assert patch[:2] == ("PATCH", "/stacks/shop/shop-id")
    assert patch[2] == {
        "files": {},
        "parameters": {"x": "1"},
        "clear_parameters": ["y"],
        "guard": "restricted",
        "allow_replace": [],
    }
    assert (put[0], put[2]["disable_rollback"]) == ("PUT", False)


def test_each_line_end_of_a_file_arrives_as_it_is(api: Api, tmp_path: Path) -> None:
    template = b"heat_template_version: 2018-08-31\r\n# \xc3\xa4\r\nx: {get_file: a.bat}\r\ny: 1\r\n"
    (tmp_path / "t.yaml").write_bytes(template)
    (tmp_path / "a.bat").write_bytes(b"echo a\r\necho b\n")
    (tmp_path / "key.pem").write_bytes(b"one\r\ntwo\r")
    api.answers["POST", "/stacks"] = {"stack": {"id": "new-id"}}
    key = f"key={tmp_path / 'key.pem'}"
    done = calor("stack", "create", "shop", "-t", str(tmp_path / "t.yaml"), "--parameter-file", key)
    assert done.exit_code == 0, done.output
    ((_, _, body),) = api.asked
    url = (tmp_path / "a.bat").as_uri()
    assert body["parameters"] == {"key": "one\r\ntwo\r"}
    assert body["files"] == {url: "echo a\r\necho b\n"}
    assert body["template"] == template.decode().replace("a.bat", f'"{url}"')


def test_a_file_that_is_no_yaml_is_told_with_line_and_column(api: Api, files: Path) -> None:
    (files / "tab.yaml").write_text("parameters:\n  a: 1\n\tb: 2\n")
    done = calor("stack", "create", "shop", "-t", str(files / "t.yaml"), "-e", str(files / "tab.yaml"))
    assert done.exit_code == 1
    assert f"{files / 'tab.yaml'}:3:1: This is no YAML: " in done.output
    assert "<unicode" not in done.output


def test_a_parameter_that_will_have_no_effect_is_warned_of(api: Api, files: Path) -> None:
    known = {"heat_template_version": "2018-08-31", "parameters": {"size": {"type": "number"}}}
    api.answers["GET", "/stacks/shop/shop-id/template"] = known
    words = ("--parameter", "sise=1", "--parameter", "size=2", "--clear-parameter", "blah")
    done = calor("stack", "update", "shop", "--existing", *words)
    assert done.exit_code == 0
    assert done.stderr.splitlines() == [
        "Warning: --parameter sise: The template has no parameter 'sise' (did you mean 'size'?): it is left out.",
        "Warning: --clear-parameter blah: The template has no parameter 'blah': it is left out.",
    ]
    done = calor("stack", "update", "shop", "--existing", "-t", str(files / "t.yaml"), "--parameter", "z=1")
    assert "no parameter 'z'" in done.stderr


def test_a_plan_ends_with_the_whole_command_that_does_it(api: Api, files: Path) -> None:
    counts = {"create": 0, "update": 0, "replace": 0, "delete": 1, "none": 0, "refused": 0}
    step = {"path": ["a"], "resource_type": "OS::Test", "action": "delete", "reasons": [], "changes": []}
    step |= {"retained": False, "destroys_data": False, "refused": None}
    api.answers["POST", "/plans"] = {"plan": {"id": "f00", "stack_name": "shop", "stack_id": "s1", "counts": counts}}
    api.answers["POST", "/plans"]["plan"]["steps"] = [step]
    template, environment = files / "t.yaml", files / "env.yaml"
    words = ("-t", str(template), "-e", str(environment), "--parameter", "x=a b", "--os-cloud", "mine")
    done = calor("stack", "plan", "shop", *words)
    wanted = f"calor stack update --plan f00 -t {template} -e {environment} --parameter 'x=a b' --os-cloud mine shop"
    assert done.output.splitlines()[-1] == f"To do exactly this: {wanted}"
    guards = ("--allow-replace", "group/0", "--guard-data")
    done = calor("stack", "plan", "shop", "-t", str(template), *guards)
    wanted = f"calor stack update --plan f00 -t {template} --allow-replace group/0 --guard-data shop"
    assert done.output.splitlines()[-1] == f"To do exactly this: {wanted}"
    api.answers["POST", "/plans"]["plan"]["stack_id"] = None
    done = calor("stack", "plan", "shop", "-t", str(template))
    assert done.output.splitlines()[-1] == f"To do exactly this: calor stack create --plan f00 -t {template} shop"
    counts["refused"], step["refused"] = 1, "it is forbidden"
    done = calor("stack", "plan", "shop", "-t", str(template))
    assert done.output.splitlines()[-2:] == [
        "    refused: it is forbidden",
        "1 refused: the update would not be begun.",
    ]


# --- deployments --------------------------------------------------------------------------------------------


def test_f192_a_run_on_demand_is_asked_for_by_the_name_of_its_resource_and_waited_for(api: Api) -> None:
    api.answers["GET", "/stacks/shop/shop-id/resources/install"] = {"resource": {"physical_resource_id": "d1"}}
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
    api.answers["GET", "/stacks/shop/shop-id/resources/install"] = {"resource": {"physical_resource_id": "d1"}}
    api.answers["GET", "/software_deployments/d1/logs"] = page(piece("install", 0, "saved\n"), over=True)
    assert calor("deployment", "logs", "install", "--stack", "shop").output == "install | saved\n"


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


def test_a_tosca_template_is_sent_as_it_is_with_the_files_that_it_names(tmp_path: Path) -> None:
    text = "tosca_definitions_version: tosca_simple_yaml_1_0\nimports: [types.yaml]\n"
    (tmp_path / "web.yaml").write_text(text)
    (tmp_path / "types.yaml").write_text("imports: [lib/more.yaml]\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/more.yaml").write_text("node_types: {}\n")
    gathered = Gathered()
    assert gathered.template(tmp_path / "web.yaml") == text
    assert gathered.files == {"types.yaml": "imports: [lib/more.yaml]\n", "lib/more.yaml": "node_types: {}\n"}


def test_an_archive_is_unpacked_before_it_is_sent(tmp_path: Path) -> None:
    text = "tosca_definitions_version: tosca_simple_yaml_1_0\n"
    with zipfile.ZipFile(tmp_path / "web.csar", "w") as archive:
        archive.writestr("web.yaml", text)
        archive.writestr("scripts/run.sh", "x")
    gathered = Gathered()
    assert gathered.template(tmp_path / "web.csar") == text
    assert gathered.files == {"scripts/run.sh": "x"}
    (tmp_path / "web.csar").write_bytes(b"no archive")
    with pytest.raises(click.ClickException, match=r"web\.csar: This is no archive"):
        gathered.template(tmp_path / "web.csar")


def problem(file: str, line: int, path: str, message: str, **more: Any) -> dict[str, Any]:
    return {"file": file, "line": line, "column": 5, "path": path, "message": message, "code": "unknown-key", **more}


def test_f107_a_servers_refusal_is_shown_as_validate_shows_it(api: Api, files: Path) -> None:
    inner, lines = files / "lib/inner.yaml", (files / "t.yaml").read_text().splitlines()
    told = [
        problem("template", 3, "resources.a", "One thing is wrong.", did_you_mean=["b"], newer="no matter"),
        problem(inner.as_uri(), 1, "outputs", "Another is."),
        problem("translation", 2, "resources", "That is not the user's file."),
        problem("", 0, "parameters.x", "A value is wrong."),
    ]
    api.answers["POST", "/stacks"] = Fault("Heat's text", 400, told)
    api.answers["PUT", "/stacks/shop/shop-id"] = Fault("Heat's text", 400, told[:1])
    template = files / "t.yaml"
    done = calor("stack", "create", "shop", "-t", str(template), "-e", str(files / "env.yaml"))
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        f"{template}:3:5: error: resources.a: One thing is wrong. [unknown-key]",
        f"    3 | {lines[2]}",
        "      |     ^",
        f"{inner}:1:5: error: outputs: Another is. [unknown-key]",
        f"    1 | {inner.read_text().splitlines()[0]}",
        "      |     ^",
        "translation:2:5: error: resources: That is not the user's file. [unknown-key]",
        f"{template}: error: parameters.x: A value is wrong. [unknown-key]",
        f"{template}: 4 errors",
    ]
    done = calor("stack", "update", "shop", "-t", str(template), "--format", "json")
    assert json.loads(done.stdout) == {
        "valid": False,
        "problems": [
            {
                "severity": "error",
                **problem(str(template), 3, "resources.a", "One thing is wrong."),
                "did_you_mean": [],
            }
        ],
    }


def test_what_has_begun_is_told_as_json_too(api: Api, files: Path) -> None:
    api.answers["POST", "/stacks"] = {"stack": {"id": "new-id"}}
    done = calor("stack", "create", "shop", "-t", str(files / "t.yaml"), "--format", "json")
    assert json.loads(done.stdout) == {"stack_name": "shop", "id": "new-id"}
    done = calor("stack", "update", "shop", "-t", str(files / "t.yaml"), "--format", "json")
    assert json.loads(done.stdout) == {"stack_name": "shop", "id": "shop-id"}


def test_f124_what_may_be_replaced_and_what_must_not_be_lost_is_sent_along(api: Api, files: Path) -> None:
    words = ("-t", str(files / "t.yaml"), "--allow-replace", "web", "--allow-replace", "group/0", "--guard-data")
    calor("stack", "update", "shop", *words)
    calor("stack", "update", "shop", "-t", str(files / "t.yaml"))
    (guarded, plain) = (body for _, _, body in api.asked)
    assert (guarded["guard"], guarded["allow_replace"]) == ("data", ["web", "group/0"])
    assert (plain["guard"], plain["allow_replace"]) == ("restricted", [])
