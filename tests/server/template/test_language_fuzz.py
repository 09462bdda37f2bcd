"""Whatever comes in: an answer or an error of ours, and some laws that hold for all inputs."""

import json
from typing import Any

import yaml
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from calor.server.errors import CalorError, InvalidInput
from calor.server.template import (
    Limits,
    NothingKnown,
    bind,
    has_unknown,
    mask,
    parse_environment,
    parse_template,
    plain,
    references,
    resolve,
    reveal,
)
from calor.server.template.functions.text import replace_all
from calor.server.template.functions.versions import HOT_TABLES
from calor.server.template.reader import read

LEAF = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, width=16) | st.text(max_size=8)
NAMES = st.sampled_from(["a", "b", "on", "p", "x.y", "ü", "0"])
TREE = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
FUNCTIONS = sorted({*HOT_TABLES["2021-04-16"].functions, *HOT_TABLES["2013-05-23"].functions} - {"yaql"})
CALLS = st.recursive(
    LEAF | st.sampled_from(["p", "a", "c"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(NAMES, inner, max_size=2)
        | st.tuples(st.sampled_from(FUNCTIONS), inner).map(lambda pair: {pair[0]: pair[1]})
        | st.tuples(inner, inner).map(lambda pair: {"str_replace": {"template": pair[0], "params": {"a": pair[1]}}})
        | st.tuples(inner, inner).map(lambda pair: {"repeat": {"template": pair[0], "for_each": {"a": pair[1]}}})
    ),
    max_leaves=10,
)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
@example("<<: {<<: *a}")
@example("a: &a\nb: *a")
@example("? \n: x")
@example("%YAML 9.9\n---\na: 1")
@example("\ud800")
@example("a: 0b2\nb: 0o9\nc: .\nd: -\ne: =\nf: <<\n")
@example("a: 12:99:99\nb: 2001-99-99\nc: !!float x")
def test_any_text_is_read_or_refused_with_an_error_of_ours(text: str) -> None:
    for parse in (parse_template, parse_environment):
        try:
            parse(text)
        except CalorError as refused:
            assert refused.status == 400


@settings(max_examples=200, deadline=None)
@given(TREE)
def test_what_yaml_writes_is_read_as_it_was(tree: Any) -> None:
    text = yaml.safe_dump({"k": tree}, allow_unicode=True)
    assume(yaml.safe_load(text) == {"k": tree})  # it writes U+0085 so that it cannot read it itself
    assert plain(read(text, file="f", limits=Limits()).root) == {"k": tree}


@settings(max_examples=100, deadline=None)
@given(TREE)
def test_what_json_writes_is_read_as_it_was(tree: Any) -> None:
    assert read(json.dumps({"k": tree}), file="f", limits=Limits()).root == {"k": tree}


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(["parameters", "resources", "outputs", "conditions", "parameter_groups"]), TREE))
def test_any_sections_are_a_template_or_problems(sections: dict[str, Any]) -> None:
    try:
        bind(parse_template({"heat_template_version": "2021-04-16", **sections}), allow_missing=True)
    except InvalidInput as refused:
        assert all(problem.message for problem in refused.problems)


@settings(max_examples=300, deadline=None)
@given(CALLS, st.sampled_from(sorted(HOT_TABLES)))
def test_any_call_gives_a_value_or_an_error_of_ours(tree: Any, version: str) -> None:
    template = {
        "heat_template_version": version,
        "parameters": {"p": {"type": "json", "default": {"a": ["x"]}, "hidden": True}},
        "resources": {"a": {"type": "T"}},
        "outputs": {"o": {"value": tree}},
    }
    try:
        model = bind(parse_template(template))
        value = resolve(model.outputs["o"].value, NothingKnown())
    except CalorError as refused:
        assert refused.status == 400
        return
    json.dumps(mask(value))
    uses = references(model.outputs["o"].value)
    assert {use.resource for use in uses} <= {"a"}
    if has_unknown(value):
        assert uses
    reveal(value)


@given(st.text("ab$", max_size=20), st.dictionaries(st.text("ab$", min_size=1, max_size=3), st.text("ab$", max_size=3)))
def test_f111_replacement_does_not_depend_on_the_order_of_its_placeholders(text: str, values: dict[str, str]) -> None:
    forth, _ = replace_all(text, values)
    back, found = replace_all(text, dict(reversed(values.items())))
    assert forth == back
    assert all(key in text for key in found)


@given(st.text(max_size=30))
def test_replacing_nothing_changes_nothing(text: str) -> None:
    assert replace_all(text, {}) == (text, frozenset())
