"""`calor schema`: what people wrote passes it, and slips of the pen do not."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from calor.server.authoring.checking import Wanted, check
from calor.server.authoring.files import LIMITS
from calor.server.cli import main
from calor.server.template import Plain
from calor.server.template.reader import read


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = json.loads(CliRunner().invoke(main, ["schema"]).output)
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def as_editors_read(tree: Any) -> Any:
    """Dates are texts in YAML 1.2; maps have texts as keys."""
    if isinstance(tree, Plain):
        return tree.value if isinstance(tree.value, int | float | bool | None) else tree.text
    if isinstance(tree, dict):
        return {str(as_editors_read(key)): as_editors_read(value) for key, value in tree.items()}
    return [as_editors_read(item) for item in tree] if isinstance(tree, list) else tree


def first_fault(validator: Any, template: Any) -> str:
    error = jsonschema.exceptions.best_match(validator.iter_errors(template))
    return "" if error is None else f"{error.json_path}: {error.message[:200]}"


@pytest.mark.slow
def test_every_hot_template_of_the_corpus_that_is_valid_passes(validator: Any, shared: Path) -> None:
    root = shared / "corpus"
    records = json.loads((root / "expected.json").read_text())["templates"]
    refused, tried = {}, 0
    for name in sorted(name for name, record in records.items() if record["kind"] == "hot"):
        report = check(Wanted(template=root / name, allow_unknown_types=True))
        if report.template is None or any(one.code != "missing-file" for one in report.problems):
            continue
        tried += 1
        fault = first_fault(validator, as_editors_read(read((root / name).read_text(), file=name, limits=LIMITS).root))
        if fault:
            refused[name] = fault
    assert tried > 300
    assert refused == {}


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"resourcs": {}}, "resourcs"),
        ({"heat_template_version": "2013-05-24"}, "heat_template_version"),
        ({"parameters": {"p": {"type": "text"}}}, "parameters.p.type"),
        ({"parameters": {"p": {"default": 1}}}, "parameters.p"),
        ({"resources": {"r": {"properties": {}}}}, "resources.r"),
        ({"resources": {"r": {"type": "OS::Heat::None", "depend_on": "x"}}}, "resources.r"),
        ({"resources": {"r": {"type": "OS::Nova::Server", "properties": {"flavour": "m1"}}}}, "properties"),
        ({"resources": {"r": {"type": "OS::Cinder::Volume", "properties": {"size": [1]}}}}, "size"),
        ({"resources": {"r": {"type": "OS::Nova::Server", "properties": {"flavor": {"get_parm": "x"}}}}}, "flavor"),
        ({"resources": {"r": {"type": "OS::Heat::RandomString", "properties": {"length": 0}}}}, "length"),
        ({"outputs": {"o": {}}}, "outputs.o"),
    ],
)
def test_a_slip_is_found_where_it_is(validator: Any, change: dict[str, Any], where: str) -> None:
    template = {"heat_template_version": "2021-04-16", **change}
    found = [f"{error.json_path} {error.message}" for error in validator.iter_errors(template)]
    assert any(where in one for one in found), found


def test_functions_stand_wherever_values_do(validator: Any) -> None:
    call = {"get_param": "x"}
    properties = {"length": call, "character_classes": call, "sequence": {"if": ["c", "digits", "letters"]}}
    template = {
        "heat_template_version": "wallaby",
        "conditions": {"c": {"equals": [call, 1]}},
        "resources": {"r": {"type": "OS::Heat::RandomString", "properties": properties, "condition": "c"}},
        "outputs": {"o": {"value": {"get_attr": ["r", "value"]}}},
    }
    assert first_fault(validator, template) == ""
