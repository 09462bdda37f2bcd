"""`calor validate` and `calor graph`: templates of this machine, checked and drawn without a server."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from calor.server.authoring.checking import Wanted, check
from calor.server.cli import main

NESTED = """heat_template_version: 2021-04-16
parameters:
  size: {type: number}
resources:
  text:
    type: OS::Heat::Value
    properties: {value: {get_file: words.txt}}
  random:
    type: OS::Heat::RandomString
    properties: {length: {get_param: size}}
outputs:
  text: {value: {get_attr: [random, value]}}
"""
ROOT = """heat_template_version: 2021-04-16
parameters:
  count: {type: number, default: 2}
resources:
  inner:
    type: lib/nested.yaml
    properties:
      size: 8
  mapped:
    type: My::Thing
    properties: {size: {get_param: count}}
  last:
    type: OS::Heat::Value
    depends_on: mapped
    properties:
      value: {get_attr: [inner, text]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lib").mkdir()
    (tmp_path / "env").mkdir()
    (tmp_path / "root.yaml").write_text(ROOT)
    (tmp_path / "lib/nested.yaml").write_text(NESTED)
    (tmp_path / "lib/words.txt").write_text("words")
    (tmp_path / "env/env.yaml").write_text("resource_registry:\n  My::Thing: ../lib/nested.yaml\n")
    return tmp_path


def run(*words: Any) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def test_a_template_with_nested_files_and_environments_is_valid(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)  # names are relative to the files that mention them
    answer = run("validate", folder / "root.yaml", "-e", folder / "env/env.yaml")
    assert (answer.exit_code, answer.output) == (0, f"{folder}/root.yaml: valid\n")


def test_what_an_environment_says_of_a_resource_that_is_not_there_is_a_warning_in_its_line(folder: Path) -> None:
    for name, resource in (("good", "inner"), ("bad", "iner"), ("last", "map*")):
        text = f"resource_registry:\n  resources:\n    {resource}: {{hooks: pre-create}}\n"
        (folder / f"{name}.yaml").write_text(text)
    words = [word for name in ("good", "bad", "last") for word in ("-e", folder / f"{name}.yaml")]
    answer = run("validate", folder / "root.yaml", "-e", folder / "env/env.yaml", *words)
    assert answer.exit_code == 0
    assert (
        "bad.yaml:3:5: warning: resource_registry.resources.iner: There is no resource 'iner' (did you mean 'inner'?): "
        "its hooks stop nothing. [unmatched-resource]\n"
        "    3 |     iner: {hooks: pre-create}\n"
    ) in answer.output
    assert "root.yaml: valid, 1 warning\n" in answer.output
    assert run("validate", "--strict", folder / "root.yaml", "-e", folder / "env/env.yaml", *words).exit_code == 1


def test_f107_a_fault_is_shown_in_its_line_with_a_caret(folder: Path) -> None:
    (folder / "root.yaml").write_text(ROOT.replace("      size: 8", "      sise: 8"))
    (folder / "lib/nested.yaml").write_text(NESTED.replace("{length:", "{lenght:"))
    answer = run("validate", folder / "root.yaml", "-e", folder / "env/env.yaml")
    assert answer.exit_code == 1
    assert (
        "root.yaml:8:7: error: resources.inner.properties.sise: There is no property 'sise' (did you mean 'size'?). "
        "[unknown-property]\n"
        "    8 |       sise: 8\n"
        "      |       ^\n"
    ) in answer.output
    assert "lib/nested.yaml:10:18: error: resources.random.properties.lenght" in answer.output
    assert "   10 |     properties: {lenght: {get_param: size}}" in answer.output
    assert answer.output.endswith("errors\n")


def test_the_answer_for_ci_is_json_with_codes(folder: Path) -> None:
    (folder / "root.yaml").write_text(ROOT.replace("depends_on: mapped", "depends_on: maped"))
    answer = run("validate", folder / "root.yaml", "-e", folder / "env/env.yaml", "--format", "json")
    found = json.loads(answer.output)
    assert (answer.exit_code, found["valid"]) == (1, False)
    (problem,) = found["problems"]
    assert (problem["severity"], problem["code"], problem["line"]) == ("error", "unknown-resource", 14)
    assert (problem["file"], problem["path"]) == (str(folder / "root.yaml"), "resources.last.depends_on")


def test_a_missing_file_is_named_where_it_is_asked_for(folder: Path) -> None:
    (folder / "lib/words.txt").unlink()
    answer = run("validate", folder / "root.yaml", "-e", folder / "env/env.yaml")
    assert answer.exit_code == 1
    assert "lib/nested.yaml:7:36: error: The file 'lib/words.txt' cannot be read" in answer.output
    assert answer.output.endswith(": 1 error\n")


def test_unknown_types_are_errors_or_let_through(folder: Path) -> None:
    alone = folder / "alone.yaml"
    alone.write_text("heat_template_version: 2021-04-16\nresources:\n  a: {type: OS::Nova::Servers}\n")
    refused = run("validate", alone)
    assert refused.exit_code == 1
    assert "OS::Nova::Server" in refused.output
    let = run("validate", alone, "--unknown-types", "allow")
    assert let.exit_code == 0
    assert "warning: resources.a.type" in let.output
    assert let.output.endswith("valid, 1 warning\n")


def test_parameters_are_checked_and_strict_minds_doubled_keys(folder: Path) -> None:
    path = folder / "p.yaml"
    path.write_text("heat_template_version: 2021-04-16\nparameters:\n  n: {type: number}\n  n: {type: number}\n")
    assert run("validate", path).exit_code == 0
    assert run("validate", path, "--strict").exit_code == 1
    assert run("validate", path, "-P", "n=5").exit_code == 0
    assert run("validate", path, "-P", "n=five").exit_code == 1
    assert run("validate", path, "-P", "m=5").exit_code == 1
    assert run("validate", path, "-P", "m").exit_code == 2
    assert run("validate", folder / "absent.yaml").exit_code == 2


@pytest.mark.parametrize("text", ["", "[", "a: [", "heat_template_version: 1999-01-01\n", "\0", "- 1\n"])
def test_what_is_no_template_ends_with_one_and_no_traceback(folder: Path, text: str) -> None:
    path = folder / "odd.yaml"
    path.write_text(text)
    answer = run("validate", path)
    assert answer.exit_code == 1
    assert isinstance(answer.exception, SystemExit)
    assert "error" in answer.output


def test_a_graph_as_dot_and_mermaid(folder: Path) -> None:
    words = ("graph", folder / "root.yaml", "-e", folder / "env/env.yaml")
    dot = run(*words).output
    assert '"last" -> "inner";' in dot
    assert '"last" -> "mapped";' in dot
    assert 'subgraph "cluster_inner"' in dot
    assert '"inner/random" [label="random\\nOS::Heat::RandomString"];' in dot
    assert "cluster" not in run(*words, "--nested-depth", 0).output
    mermaid = run(*words, "--format", "mermaid").output
    assert mermaid.splitlines()[3] == "flowchart BT"
    assert "n2 --> n0" in mermaid


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_a_graph_as_svg(folder: Path) -> None:
    answer = run("graph", folder / "root.yaml", "-e", folder / "env/env.yaml", "--format", "svg")
    picture = ElementTree.fromstring(answer.output)
    titles = {title.text for title in picture.iter("{http://www.w3.org/2000/svg}title")}
    assert {"last", "mapped", "inner/random", "last->mapped"} <= titles
    assert "OS::Heat::RandomString" in {text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")}


def test_a_graph_as_svg_without_graphviz_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    answer = run("graph", folder / "root.yaml", "-e", folder / "env/env.yaml", "--format", "svg")
    assert answer.exit_code == 1
    assert "apt install graphviz" in answer.output


def test_a_circle_is_told_instead_of_drawn(folder: Path) -> None:
    path = folder / "circle.yaml"
    one, two = (f"{{type: OS::Heat::Value, depends_on: {other}}}" for other in "ba")
    path.write_text(f"heat_template_version: 2021-04-16\nresources:\n  a: {one}\n  b: {two}\n")
    answer = run("graph", path)
    assert answer.exit_code == 1
    assert "in a circle: a → b → a" in answer.output


@pytest.mark.slow
def test_every_template_of_the_corpus_that_heat_accepts_is_read(shared: Path) -> None:
    """With the files that lie beside each, unknown types let through: no fault of the template's own is found."""
    root = shared / "corpus"
    records = json.loads((root / "expected.json").read_text())["templates"]
    stages = ("parse", "template", "parameters", "conditions", "resources", "dependencies", "outputs")
    wanted = [
        name
        for name, record in records.items()
        if record["kind"] == "hot" and all(record["stages"].get(stage) == "ok" for stage in stages)
    ]
    odd = {}
    for name in wanted[::4]:
        report = check(Wanted(template=root / name, allow_unknown_types=True))
        if report.template is None:
            odd[name] = [str(problem) for problem in report.problems]
    assert odd == {}


TOSCA = """tosca_definitions_version: tosca_simple_yaml_1_0
imports: [lib/types.yaml]
topology_template:
  inputs:
    size: {type: scalar-unit.size, default: 2 GB}
  node_templates:
    disk:
      type: My.Disk
      properties:
        size: {get_input: size}
"""
TYPES = """tosca_definitions_version: tosca_simple_yaml_1_0
node_types:
  My.Disk: {derived_from: tosca.nodes.BlockStorage}
"""


@pytest.mark.slow
def test_a_tosca_template_is_checked_and_shown_as_hot(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/types.yaml").write_text(TYPES)
    template = tmp_path / "disk.yaml"
    template.write_text(TOSCA)
    answer = run("validate", template, "--show-translation")
    assert answer.exit_code == 0
    assert "type: OS::Cinder::Volume" in answer.output
    assert answer.output.endswith("disk.yaml: valid\n")
    assert '"disk"' in run("graph", template).output
    template.write_text(TOSCA.replace("        size:", "        sice:"))
    answer = run("validate", template)
    assert answer.exit_code == 1
    assert "disk.yaml:10:9: error: topology_template.node_templates.disk.properties.sice" in answer.output
    assert "   10 |         sice: {get_input: size}\n      |         ^\n" in answer.output
    (tmp_path / "lib/types.yaml").unlink()
    assert "disk.yaml:2:11: error: imports[0]: The import 'lib/types.yaml' is not" in run("validate", template).output


@pytest.mark.slow
def test_a_csar_archive_is_checked_as_its_template(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "disk.csar", "w") as archive:
        archive.writestr("TOSCA-Metadata/TOSCA.meta", "Entry-Definitions: definitions/disk.yaml\n")
        archive.writestr("definitions/disk.yaml", TOSCA.replace("lib/", "../lib/"))
        archive.writestr("lib/types.yaml", TYPES)
    assert run("validate", tmp_path / "disk.csar").exit_code == 0


SEVERAL = """heat_template_version: 2021-04-16
parameters:
  size: {type: number, default: many}
resources:
  one:
    type: OS::Heat::RandomString
    depends_on: nobody
    properties: {length: {get_param: sise}, lenght: 3}
  two:
    type: OS::Heat::RandomStrin
    properties: {value: {list_join: [",", {get_param: sise}]}}
  three:
    type: OS::Heat::Value
    properties: {value: {get_attr: [one, valeu]}}
    properties: {value: {get_attr: [one, valeu]}}
  four:
    type: OS::Heat::RandomString
    propertis: {length: 3}
  five:
    type: OS::Heat::Value
    properties: {value: {get_file: 3, x: {get_param: size}}}
outputs:
  out: {value: {get_resource: fore}}
"""


def test_f107_faults_of_all_stages_are_told_together_each_once(folder: Path) -> None:
    (folder / "several.yaml").write_text(SEVERAL)
    strict = check(Wanted(template=folder / "several.yaml", strict=True))
    assert sorted((problem.code, problem.line) for problem in strict.problems) == [
        ("duplicate-key", 15),
        ("parameter-value", 3),
        ("unknown-attribute", 15),
        ("unknown-key", 18),
        ("unknown-parameter", 8),
        ("unknown-parameter", 11),
        ("unknown-property", 8),
        ("unknown-resource", 7),
        ("unknown-resource", 23),
        ("unknown-type", 10),
    ]
    lax = check(Wanted(template=folder / "several.yaml"))
    assert {one for one in strict.problems if one not in lax.warnings} == set(lax.problems)
    assert sorted((one.code, one.line) for one in lax.warnings) == [("duplicate-key", 15), ("unknown-resource", 23)]


def test_faults_stand_in_the_order_of_their_lines_those_of_the_root_first(folder: Path) -> None:
    (folder / "root.yaml").write_text(
        ROOT.replace("size: 8", "sise: 8").replace("random", "r").replace("[inner", "[in")
    )
    (folder / "lib/nested.yaml").write_text(NESTED.replace("{length:", "{lenght:").replace("[random", "[rondom"))
    report = check(Wanted(template=folder / "root.yaml", environments=[folder / "env/env.yaml"]))
    places = [(one.file, one.line) for one in report.problems]
    assert len(places) > 3
    assert places == sorted(places, key=lambda place: (place[0] != "root.yaml", *place))


def test_an_empty_template_is_told_to_be_empty(folder: Path) -> None:
    (folder / "root.yaml").write_text("# nothing yet\n")
    assert [one.message for one in check(Wanted(template=folder / "root.yaml")).problems] == ["The template is empty."]


def test_a_misspelt_key_of_an_output_is_one_fault(folder: Path) -> None:
    (folder / "root.yaml").write_text("heat_template_version: 2018-08-31\noutputs: {y: {val: 1}}\n")
    report = check(Wanted(template=folder / "root.yaml"))
    assert [one.message for one in report.problems] == ["An output has no key 'val' (did you mean 'value'?)."]


def test_templates_that_contain_each_other_are_told_as_a_circle(folder: Path) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        text = f"heat_template_version: 2018-08-31\nresources: {{r: {{type: {other}.yaml}}}}\n"
        (folder / f"{name}.yaml").write_text(text)
    (problem,) = check(Wanted(template=folder / "a.yaml")).problems
    assert "Templates contain each other in a circle: b.yaml → a.yaml → b.yaml (" in problem.message


def test_a_file_with_a_nul_character_is_not_called_another_encoding(folder: Path) -> None:
    (folder / "lib/words.txt").write_bytes(b"a\0b")
    report = check(Wanted(template=folder / "root.yaml", environments=[folder / "env/env.yaml"]))
    (message,) = {one.message for one in report.problems}
    assert message == "get_file: the file 'lib/words.txt' is not text: it holds a NUL character."
