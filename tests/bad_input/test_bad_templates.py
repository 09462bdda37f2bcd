"""Templates that cannot be: refused at the door with where, what and what to do, and nothing left half-done."""

from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.root]

BROKEN = "heat_template_version: 2018-08-31\nresources:\n  a:\n    type: OS::Heat::Value\n   properties: {value: 1}\n"


def test_broken_yaml_is_placed_by_line_and_column(wrong: Any) -> None:
    said = wrong.refused(BROKEN)
    assert "template.yaml" in said
    assert "line 5, column 4" in said


def test_broken_yaml_that_a_client_sends_as_it_is_is_placed_by_file_line_and_column(wrong: Any) -> None:
    """heatclient reads templates itself; others send the text."""
    outer = wrong.hot({"group": {"type": "member.yaml"}})
    before = wrong.census()
    for body, place in (
        ({"template": BROKEN}, "template:5:4: "),
        ({"template": outer, "files": {"member.yaml": BROKEN}}, "member.yaml:5:4: "),
    ):
        for path in ("/stacks", "/validate"):
            answer = wrong.heat.post(path, raise_exc=False, json={"stack_name": "refused", **body})
            assert answer.status_code == 400, answer.text
            assert place in answer.json()["error"]["message"], answer.text
    assert wrong.census() == before


def test_an_unknown_resource_type_gets_the_nearest_one(wrong: Any) -> None:
    said = wrong.refused(wrong.hot({"web": {"type": "OS::Nova::Sever"}}))
    assert "resources.web.type" in said
    assert "OS::Nova::Sever" in said
    assert "OS::Nova::Server" in said


def test_an_unknown_property_gets_the_nearest_one(wrong: Any) -> None:
    said = wrong.refused(wrong.hot({"web": wrong.server(flavour="m1.tiny")}))
    assert "resources.web.properties" in said
    assert "flavour" in said
    assert "did you mean 'flavor'?" in said


def test_a_missing_parameter_is_named(wrong: Any) -> None:
    template = wrong.hot(
        {"a": {"type": "OS::Heat::Value", "properties": {"value": {"get_param": "word"}}}},
        parameters={"word": {"type": "string"}},
    )
    said = wrong.refused(template)
    assert "word" in said
    assert "was not given a value" in said


def test_f108_a_circular_dependency_is_shown_in_order(wrong: Any) -> None:
    def value(of: Any) -> dict[str, Any]:
        return {"type": "OS::Heat::Value", "properties": {"value": of}}

    template = wrong.hot(
        {
            "a": value({"get_attr": ["b", "value"]}),
            "b": value({"str_replace": {"template": "x", "params": {"x": {"get_resource": "c"}}}}),
            "c": {**value("end"), "depends_on": "a"},
        }
    )
    said = wrong.refused(template)
    assert any(cycle in said for cycle in ("a → b → c → a", "b → c → a → b", "c → a → b → c")), said
    checked = wrong.cloud.run("orchestration", "template", "validate", "-t", wrong.file("again.yaml", template))
    assert checked.returncode != 0
    assert "a → b → c → a" in checked.stderr


def test_f107_errors_in_three_files_are_told_at_once_each_with_its_place(wrong: Any) -> None:
    nested = "heat_template_version: 2018-08-31\nresources:\n  x:\n    type: OS::Heat::Valeu\n"
    deeper = (
        "heat_template_version: 2018-08-31\nresources:\n  y:\n    type: OS::Heat::Value\n    properties: {valeu: 1}\n"
    )
    outer = "heat_template_version: 2018-08-31\nresources:\n  one: {type: one.yaml}\n  two: {type: two.yaml}\n"
    outer += "  z: {type: Nope}\n"
    body = {"stack_name": "refused", "template": outer, "files": {"one.yaml": nested, "two.yaml": deeper}}
    answer = wrong.heat.post("/stacks", raise_exc=False, json=body)
    assert answer.status_code == 400
    said = answer.json()["error"]["message"]
    for place in ("template:5:", "one.yaml:4:", "two.yaml:5:"):
        assert place in said, said
