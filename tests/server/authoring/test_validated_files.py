"""`calor validate`: several templates, files named as the user names them, and the limits of a server."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from calor.server.cli import main

HOT = "heat_template_version: 2021-04-16\n"


def run(*words: Any) -> Result:
    return CliRunner().invoke(main, ["validate", *(str(word) for word in words)])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("here", "x/lib"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "x/bad.yaml").write_text(
        f"{HOT}resources:\n  a: {{type: OS::Heat::Valu}}\n  b: {{type: lib/in.yaml}}\n"
    )
    (tmp_path / "x/lib/in.yaml").write_text(f"{HOT}resources:\n  a: {{type: OS::Heat::Nonesuch}}\n")
    (tmp_path / "x/good.yaml").write_text(f"{HOT}resources: {{}}\n")
    (tmp_path / "here/env.yaml").write_text("resource_registry: 5\n")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_files_have_the_names_that_the_user_gave() -> None:
    done = run("../x/bad.yaml")
    assert done.output.startswith("../x/bad.yaml:3:")
    assert "\n../x/lib/in.yaml:3:" in done.output
    assert "    3 |   a: {type: OS::Heat::Nonesuch}\n" in done.output
    done = run("../x/good.yaml", "-e", "env.yaml", "--format", "json")
    assert {one["file"] for one in json.loads(done.output)["problems"]} == {"env.yaml"}


@pytest.mark.usefixtures("folder")
def test_of_several_templates_one_that_is_wrong_gives_exit_code_1() -> None:
    assert run("../x/good.yaml", "../x/good.yaml").exit_code == 0
    done = run("../x/bad.yaml", "../x/good.yaml")
    assert done.exit_code == 1
    assert done.output.endswith("../x/bad.yaml: 2 errors\n../x/good.yaml: valid\n")
    assert json.loads(run("../x/bad.yaml", "../x/good.yaml", "--format", "json").output)["valid"] is False
    assert run().exit_code == 2


def test_what_a_server_refuses_by_default_for_its_size_is_warned_of(folder: Path) -> None:
    many = "".join(f"  r{n}: {{type: OS::Heat::Value, properties: {{value: x}}}}\n" for n in range(1001))
    (folder / "x/many.yaml").write_text(f"{HOT}resources:\n{many}")
    done = run("../x/many.yaml")
    assert done.exit_code == 0
    assert "max_resources_per_stack is raised: 1001 resources of a tree of stacks, the default is 1000." in done.output
    (folder / "x/long.yaml").write_text(f"{HOT}description: {'x' * 524288}\n")
    assert "its max_template_size is raised: " in run("../x/long.yaml").output
    (folder / "x/file").write_text("x" * 1048576)
    content = "{type: OS::Heat::Value, properties: {value: {get_file: file}}}"
    (folder / "x/heavy.yaml").write_text(f"{HOT}resources:\n  a: {content}\n")
    done = run("../x/heavy.yaml")
    assert "../x/heavy.yaml: warning: A server refuses this unless its max_json_body_size is raised: " in done.output
    assert done.output.count("warning:") == 1
