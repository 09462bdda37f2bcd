"""What `calor stack create`, `update` and `plan` send, and how they tell what is refused."""

import json
import zipfile
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from played_api import Api, calor

from calor.server.cli.api_fault import Fault
from calor.server.cli.template_files import Gathered


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
    assert done.output.startswith(f"{files / 't.yaml'}:4:")
    assert "error: The file 'run.sh' cannot be read: No such file or directory. [missing-file]\n    4 |" in done.output
    assert "unknown-section" in done.output, "what else is wrong is told, too"
    assert done.output.endswith(f"{files / 't.yaml'}: 2 errors\n")
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
    told = f"{files / 'tab.yaml'}:3:1: error: This is not valid YAML: a tab; YAML is indented with spaces. [not-yaml]\n"
    assert told in done.output
    assert api.asked == []


def test_files_that_are_missing_in_nested_templates_are_told_at_once_with_others(api: Api, tmp_path: Path) -> None:
    head = "heat_template_version: 2018-08-31\nresources:\n"
    (tmp_path / "t.yaml").write_text(f"{head}  b: {{type: lib/inner.yaml}}\n  a: {{type: gone.yaml}}\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/inner.yaml").write_text(f"{head}  a: {{type: away.yaml}}\n")
    done = calor("stack", "create", "shop", "-t", str(tmp_path / "t.yaml"))
    lines = done.output.splitlines()
    assert [line for line in lines if "error" in line] == [
        f"{tmp_path}/t.yaml:4:13: error: The file 'gone.yaml' cannot be read: No such file or directory. "
        "[missing-file]",
        f"{tmp_path}/lib/inner.yaml:3:13: error: The file 'lib/away.yaml' cannot be read: No such file or directory. "
        "[missing-file]",
        f"{tmp_path}/t.yaml: 2 errors",
    ]
    assert api.asked == []


ENVIRONMENT = """\
parameter: {x: 1}
parameters: {nope: 3}
resource_registry:
  "My::T": missing.yaml
  resources: {d: {hooks: pre-creat}}
"""


def test_validate_and_create_tell_the_same_faults_of_an_environment_all_at_once(api: Api, tmp_path: Path) -> None:
    template, environment = tmp_path / "fail.yaml", tmp_path / "env1.yaml"
    template.write_text("heat_template_version: 2018-08-31\nresources: {d: {type: OS::Heat::RandomString}}\n")
    environment.write_text(ENVIRONMENT)
    files = (str(template), "-e", str(environment))
    validated = calor("validate", *files)
    created = calor("stack", "create", "shop", "-t", *files)
    assert (validated.exit_code, created.exit_code, api.asked) == (1, 1, [])
    told = [[line for line in one.output.splitlines() if "error" in line] for one in (validated, created)]
    assert [line.rpartition("[")[2] for line in told[0][:-1]] == [
        "unknown-parameter]",
        "unknown-section]",
        "missing-file]",
        "resource-registry]",
    ]
    assert f"{environment}:4:12: error: " in told[0][2]
    assert [line.replace("resource_registry.My::T: ", "") for line in told[0]] == told[1]
    assert "warning" not in validated.output


def test_a_file_with_a_nul_character_is_not_sent(api: Api, files: Path) -> None:
    (files / "run.sh").write_bytes(b"a\0b")
    done = calor("stack", "create", "shop", "-t", str(files / "t.yaml"))
    assert (done.exit_code, api.asked) == (1, [])
    assert done.output == f"Error: {files / 'run.sh'} is not text: it holds a NUL character.\n"


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
    counts = {"create": 0, "update": 0, "replace": 0, "delete": 0, "none": 2}
    api.answers["PUT", "/stacks/shop/shop-id"] = {"counts": counts}
    done = calor("stack", "update", "shop", "-t", str(files / "t.yaml"), "--format", "json")
    assert json.loads(done.stdout) == {"stack_name": "shop", "id": "shop-id", "counts": counts}
    assert calor("stack", "update", "shop", "-t", str(files / "t.yaml")).stdout == "Nothing changes.\n"


def test_f124_what_may_be_replaced_and_what_must_not_be_lost_is_sent_along(api: Api, files: Path) -> None:
    words = ("-t", str(files / "t.yaml"), "--allow-replace", "web", "--allow-replace", "group/0", "--guard-data")
    calor("stack", "update", "shop", *words)
    calor("stack", "update", "shop", "-t", str(files / "t.yaml"))
    (guarded, plain) = (body for _, _, body in api.asked)
    assert (guarded["guard"], guarded["allow_replace"]) == ("data", ["web", "group/0"])
    assert (plain["guard"], plain["allow_replace"]) == ("restricted", [])


def test_a_plan_of_the_template_that_the_stack_has_leaves_out_only_what_that_hides(api: Api) -> None:
    counts = {"create": 0, "update": 1, "replace": 0, "delete": 0, "none": 0, "refused": 0}
    step = {"path": ["a"], "resource_type": "OS::Test", "action": "update", "reasons": [], "changes": []}
    step |= {"retained": False, "destroys_data": False, "refused": None}
    found = {"id": "f00", "stack_name": "shop", "stack_id": "s1", "counts": counts, "steps": [step]}
    api.answers["POST", "/plans"] = {"plan": found}
    api.answers["GET", "/stacks/s1/s1-id"] = {"stack": {"parameters": {"count": "1", "key": "******"}}}
    words = ("stack", "plan", "shop", "--existing", "--parameter", "count=2", "--parameter", "key=geheim")
    command = "calor stack update --plan f00 --existing --parameter {} --parameter 'key=******' shop"
    assert calor(*words).output.splitlines()[-1] == f"To do exactly this: {command.format('count=2')}"
    api.answers["GET", "/stacks/s1/s1-id"] = Fault("You may not see it.", 403)
    assert command.format("'count=******'") in calor(*words).output


def test_a_plan_that_would_be_refused_ends_as_its_update_would(api: Api, files: Path) -> None:
    counts = {"create": 0, "update": 0, "replace": 1, "delete": 0, "none": 0, "refused": 1}
    step = {"path": ["a"], "resource_type": "OS::Test", "action": "replace", "reasons": [], "changes": []}
    step |= {"retained": False, "destroys_data": False, "refused": "it is forbidden"}
    found = {"id": "f00", "stack_name": "shop", "stack_id": "s1", "counts": counts, "steps": [step]}
    api.answers["POST", "/plans"] = {"plan": found}
    words = ("stack", "plan", "shop", "-t", str(files / "t.yaml"))
    assert [calor(*words, *more).exit_code for more in ((), ("--detailed-exitcode",), ("--format", "json"))] == [1] * 3
