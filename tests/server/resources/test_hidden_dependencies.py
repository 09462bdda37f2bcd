"""The edges that network types add by themselves are Heat's (dependency-cases.json, corpus/expected.json)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from calor.server.resources.registry import Types
from calor.server.template import parse_template

SHARED = Path(__file__).resolve().parents[4] / "shared"
if not SHARED.is_dir():
    pytest.skip("the reference facts are not beside the checkout", allow_module_level=True)
TYPES = Types()
CASES = [
    case
    for case in json.loads((SHARED / "reference" / "dependency-cases.json").read_text())["cases"]
    if case["tag"] == "hidden"
]


def hidden_edges(resources: Mapping[str, Any]) -> set[tuple[str, str]]:
    others = {name: (one["type"], one.get("properties") or {}) for name, one in resources.items()}
    edges = set()
    for name, (type_name, properties) in others.items():
        kind = TYPES.get(type_name)
        if kind is not None:
            found = kind.hidden_dependencies(kind.translate(properties), others) - {name}
            edges |= {(name, other) for other in found}
    return edges


def references(value: Any) -> set[str]:
    if isinstance(value, Mapping):
        if len(value) == 1 and "get_resource" in value:
            return {value["get_resource"]}
        return set().union(*map(references, value.values()))
    return set().union(*map(references, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_case_has_the_edges_that_heat_adds(case: Mapping[str, Any]) -> None:
    resources = case["template"]["resources"]
    ours = hidden_edges(resources)
    plain = {(name, other) for name, one in resources.items() for other in references(one)}
    known = {name for name, one in resources.items() if TYPES.get(one["type"]) is not None}
    theirs = {(one, other) for one, other in case["expected"]["edges"] if one in known}
    assert {edge for edge in ours | plain if edge[0] in known} == theirs


EXPECTED = {
    name: expected
    for name, expected in json.loads((SHARED / "corpus" / "expected.json").read_text())["templates"].items()
    if expected.get("edges_added_by_resource_plugins") and expected["template_class"].startswith("HOT")
}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_templates_of_the_corpus_get_the_edges_that_heat_adds(name: str) -> None:
    """By the language's own nodes, as the engine hands them in. Edges of types that are not built yet are left out,
    and so are those that an explicit reference gives anyway."""
    template = parse_template((SHARED / "corpus" / name).read_text(), file=name)
    resources = {one: {"type": item.type, "properties": item.properties} for one, item in template.resources.items()}
    ours = hidden_edges(resources)
    added = EXPECTED[name]["edges_added_by_resource_plugins"]
    assert {(one, other) for one, other in added if TYPES.get(resources[one]["type"]) is not None} - ours == set()
    needed = {(one, other) for one, found in EXPECTED[name]["resources"].items() for other in found["requires"]}
    assert ours - needed - {(one, other) for one, other in added} == set()
