"""What becomes of a TOSCA template: HOT with every value as it was written, and faults with their places."""

import json
from typing import Any

import pytest
import yaml

from calor.server.engine.contract.views import StackRequest
from calor.server.engine.revision.gate import Gate
from calor.server.engine.revision.translating import translate_here
from calor.server.engine.settings import Settings
from calor.server.engine.workers.workers import Workers
from calor.server.errors import InvalidInput, NotSupported
from calor.server.template import Limits
from calor.server.tosca import gather, is_tosca, recognition

pytestmark = pytest.mark.slow
TEXT = """\
tosca_definitions_version: tosca_simple_yaml_1_3
description: "it's: a test"
topology_template:
  inputs:
    size: {type: scalar-unit.size, default: 10 GB}
    idle: {type: boolean, default: false}
    none: {type: integer, default: 0}
    key_name: {type: string, description: a key, constraints: [{min_length: 3}]}
    words: {type: list, entry_schema: {type: string}}
    more: {type: map, default: {a: 1}}
  node_templates:
    server:
      type: tosca.nodes.Compute
      properties: {}
      interfaces:
        Standard:
          create: {implementation: scripts/../run.sh, inputs: {text: "it's 1.10", key: {get_input: key_name}}}
"""


def translated(text: str = TEXT, files: Any = None, **given: Any) -> dict[str, Any]:
    made = translate_here(text, files or {}, given, "web.yaml", Limits())
    tree: dict[str, Any] = yaml.safe_load(made.template)
    return tree


@pytest.fixture(scope="module")
def hot() -> dict[str, Any]:
    return translated(files={"run.sh": "x"}, key_name="a secret", size="3 GB")


def test_texts_keep_their_apostrophes_and_their_types(hot: Any) -> None:
    assert hot["description"] == "it's: a test"
    deployment = next(one for one in hot["resources"].values() if one["type"] == "OS::Heat::SoftwareDeployment")
    assert deployment["properties"]["input_values"] == {"text": "it's 1.10", "key": {"get_param": "key_name"}}


def test_defaults_are_the_inputs_own_also_where_they_are_false_or_zero(hot: Any) -> None:
    parameters = hot["parameters"]
    assert (parameters["idle"]["default"], parameters["none"]["default"]) == (False, 0)
    assert parameters["words"] == {"type": "comma_delimited_list"}
    assert parameters["more"] == {"type": "json", "default": {"a": 1}}


def test_a_value_that_was_given_does_not_become_a_default(hot: Any) -> None:
    assert hot["parameters"]["key_name"] == {
        "type": "string",
        "description": "a key",
        "constraints": [{"length": {"min": 3}}],
    }
    assert "a secret" not in json.dumps(hot)


def test_files_are_named_as_the_request_names_them(hot: Any) -> None:
    config = next(one for one in hot["resources"].values() if one["type"] == "OS::Heat::SoftwareConfig")
    assert config["properties"]["config"] == {"get_file": "run.sh"}


def test_all_faults_come_at_once_each_with_its_place() -> None:
    text = TEXT.replace("properties: {}", "properties: {sice: 1}").replace("Standard:", "Standard: {}\n        Odd:")
    with pytest.raises(InvalidInput) as caught:
        translated(text)
    found = {(one.line, one.path): one.message for one in caught.value.problems}
    assert len(found) == 2
    assert "sice" in found[14, "topology_template.node_templates.server.properties.sice"]
    assert 17 in {line for line, _ in found}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tosca_definitions_version: tosca_simple_yaml_1_3\n", "There is no topology_template"),
        ("tosca_definitions_version: [\n", "web.yaml:"),
        (f"{TEXT}metadata: !Ref x\n", "could not determine a constructor"),
        (f"{TEXT}metadata: {{day: 2001-99-99}}\n", "month must be in 1..12"),
        (TEXT.replace("1_3", "1_99"), "tosca_simple_yaml_1_99"),
        (
            TEXT.replace("tosca.nodes.Compute", "tosca.nodes.LoadBalancer").partition("      properties")[0],
            "LoadBalancer",
        ),
        ("tosca_definitions_version: tosca_simple_yaml_1_3\ntopology_template: {node_templates: [1]}\n", "web.yaml"),
        ("tosca_definitions_version: tosca_simple_yaml_1_3\ntopology_template: {inputs: 7}\n", "web.yaml"),
        ("tosca_definitions_version: 7\ntopology_template: {node_templates: {a: }}\n", "web.yaml"),
    ],
)
def test_whatever_is_wrong_is_a_refusal_that_says_what(text: str, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        translated(text)
    assert words in caught.value.detail
    assert {one.file for one in caught.value.problems} == {"web.yaml"}


def test_an_alias_bomb_is_refused_before_the_libraries_see_it() -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
    with pytest.raises(InvalidInput, match="expands to more than"):
        translated(f"{TEXT}{bomb}")


@pytest.mark.parametrize(
    ("template", "answer"),
    [
        (TEXT, True),
        ('{"tosca_definitions_version": "tosca_simple_yaml_1_0", "topology_template": {}}', True),
        ({"tosca_definitions_version": "tosca_simple_yaml_1_0"}, True),
        ("heat_template_version: rocky\ndescription: |\n  tosca_definitions_version: x\n", False),
        ("heat_template_version: rocky\ntosca_definitions_version: x\n", False),
        ({"heat_template_version": "rocky", "tosca_definitions_version": "x"}, False),
        (None, False),
        ("", False),
    ],
)
def test_the_language_is_told_by_its_key(template: Any, answer: bool) -> None:
    assert is_tosca(template) is answer


async def test_a_mapping_is_translated_like_a_text_and_twice_alike() -> None:
    pool = Workers()
    gate = Gate(pool, Settings())
    wishes = [
        await gate.read(StackRequest(template=one, files={"run.sh": "x"})) for one in (TEXT, yaml.safe_load(TEXT))
    ]
    await gate.close()
    assert wishes[0].source == wishes[1].source
    assert wishes[0].template.language == "heat_template_version"


async def test_without_the_optional_part_there_is_one_clear_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognition, "_LIBRARIES", ("no_such_library",))
    gate = Gate(Workers(), Settings())
    with pytest.raises(NotSupported, match=r"pip install 'calor\[tosca\]'"):
        await gate.read(StackRequest(template=TEXT))


def test_what_a_template_names_is_gathered_in_every_notation() -> None:
    text = """\
tosca_definitions_version: tosca_simple_yaml_1_3
imports:
  - one.yaml
  - two: lib/two.yaml
  - three: {file: three.yaml}
  - file: four.yaml
  - http://example.org/five.yaml
  - /etc/hostname
topology_template:
  node_templates:
    server:
      type: tosca.nodes.Compute
      artifacts: {a: a.bin, b: {file: b.bin}}
      interfaces:
        Standard: {create: create.sh, start: {implementation: {primary: start.sh, dependencies: [more.sh]}}}
        Old: {configure: {implementation: configure.sh, inputs: {text: README.md}}}
"""
    asked: list[str] = []

    def read(name: str) -> str:
        asked.append(name)
        return "imports: [inner.yaml]" if name == "lib/two.yaml" else "x"

    found = gather(text, read)
    assert {"one.yaml", "lib/two.yaml", "three.yaml", "four.yaml", "inner.yaml"} <= found.keys()
    assert {"a.bin", "b.bin", "create.sh", "start.sh", "configure.sh"} <= found.keys()
    assert not {"http://example.org/five.yaml", "/etc/hostname"} & set(asked)
