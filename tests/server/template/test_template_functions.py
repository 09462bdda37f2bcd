"""Functions with what the reference cases do not have: secrets, the unknown, scalars as written."""

from collections.abc import Sequence
from typing import Any

import pytest

from calor.server.errors import InvalidInput
from calor.server.template import (
    UNKNOWN,
    NothingKnown,
    Secret,
    bind,
    has_secret,
    mask,
    parse_template,
    plain,
    resolve,
    reveal,
)
from calor.server.template.functions.text import replace_all
from calor.server.template.functions.versions import HOT_TABLES


class Known:
    """A scope with one resource ``r``."""

    def __init__(self, **attributes: Any) -> None:
        self.attributes = attributes

    def reference(self, name: str) -> Any:
        return f"id-of-{name}"

    def attribute(self, name: str, path: Sequence[Any]) -> Any:
        return self.attributes[path[0]]


def value_of(tree: Any, scope: Any = None, *, hidden: dict[str, Any] | None = None, version: str = "2021-04-16") -> Any:
    template = parse_template(
        {
            "heat_template_version": version,
            "parameters": {
                name: {"type": "json" if isinstance(value, dict | list) else "string", "hidden": True, "default": value}
                for name, value in (hidden or {}).items()
            },
            "resources": {"r": {"type": "T"}},
            "outputs": {"o": {"value": tree}},
        }
    )
    return resolve(bind(template).outputs["o"].value, scope or NothingKnown())


@pytest.mark.parametrize("params", [{"$foo": 1, "$foobar": 2}, {"$foobar": 2, "$foo": 1}])
def test_f111_the_longer_placeholder_wins_in_any_order(params: dict[str, int]) -> None:
    assert value_of({"str_replace": {"template": "$foobar $foo", "params": params}}) == "2 1"


def test_f111_replaced_text_is_not_scanned_again() -> None:
    assert replace_all("a b", {"a": "b", "b": "a"}) == ("b a", frozenset({"a", "b"}))
    assert replace_all("$x", {"$x": "$x$x"}) == ("$x$x", frozenset({"$x"}))


@pytest.mark.parametrize(
    "tree",
    [
        {"str_replace": {"template": "pw=$p", "params": {"$p": {"get_param": "pw"}}}},
        {"list_join": [":", ["user", {"get_param": "pw"}]]},
        {"digest": ["sha256", {"get_param": "pw"}]},
        {"map_merge": [{"a": 1}, {"b": {"get_param": "pw"}}]},
        {"list_concat": [["x"], [{"get_param": "pw"}]]},
        {"str_split": [",", {"get_param": "pw"}]},
        {"if": [True, {"get_param": "pw"}, "x"]},
        {"make_url": {"scheme": "http", "host": "h", "password": {"get_param": "pw"}}},
        {"yaql": {"expression": "$.data.p", "data": {"p": {"get_param": "pw"}}}},
        {"repeat": {"template": "%x%", "for_each": {"%x%": [{"get_param": "pw"}]}}},
        {"get_param": ["json", "deep"]},
        [{"deep": {"get_param": "pw"}}],
    ],
)
def test_a_secret_stays_a_secret_through_every_function(tree: Any) -> None:
    value = value_of(tree, hidden={"pw": "s3cret,x", "json": {"deep": "s3cret"}})
    assert has_secret(value)
    assert "s3cret" not in repr(value) + str(value) + f"{value}" + str(mask(value))
    assert reveal(value) == reveal(value_of(tree, hidden={"pw": "s3cret,x", "json": {"deep": "s3cret"}}))
    assert not has_secret(reveal(value))


def test_a_secret_attribute_stays_secret_along_its_path() -> None:
    value = value_of({"list_join": ["", [{"get_attr": ["r", "pw"]}, "!"]]}, Known(pw=Secret("s3cret")))
    assert str(value) == "***"
    assert reveal(value) == "s3cret!"


def test_an_error_about_a_secret_does_not_tell_it() -> None:
    text = """
heat_template_version: 2018-08-31
parameters: {pw: {type: string, hidden: true, constraints: [{length: {min: 30}}]}}
"""
    with pytest.raises(InvalidInput) as refused:
        bind(parse_template(text), given={"pw": "s3cret"})
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("tree", "wanted"),
    [
        ({"get_resource": "r"}, UNKNOWN),
        ({"get_attr": ["r", "a", 0]}, UNKNOWN),
        ({"list_join": [",", ["x", {"get_resource": "r"}]]}, UNKNOWN),
        ({"str_replace": {"template": "a", "params": {"a": {"get_attr": ["r", "x"]}}}}, UNKNOWN),
        ({"map_merge": [{"a": 1}, {"b": {"get_resource": "r"}}]}, {"a": 1, "b": UNKNOWN}),
        ({"map_merge": [{"a": 1}, {"get_attr": ["r", "m"]}]}, UNKNOWN),
        ({"list_concat": [[1], [{"get_resource": "r"}]]}, [1, UNKNOWN]),
        ({"repeat": {"template": "x%i%", "for_each": {"%i%": {"get_attr": ["r", "l"]}}}}, UNKNOWN),
        ({"contains": ["a", {"get_attr": ["r", "l"]}]}, UNKNOWN),
        ([1, {"k": {"get_resource": "r"}}], [1, {"k": UNKNOWN}]),
    ],
)
def test_what_is_known_after_create_makes_unknown_what_is_built_on_it(tree: Any, wanted: Any) -> None:
    assert value_of(tree) == wanted


def test_an_unquoted_number_is_put_into_text_as_written() -> None:
    text = """
heat_template_version: 2018-08-31
outputs:
  o:
    value:
      str_replace: {template: "$m $b $n", params: {$m: 0755, $b: true, $n: 1.10}}
"""
    assert bind(parse_template(text)).outputs["o"].value == "0755 True 1.10"


def test_an_unquoted_word_equals_its_text() -> None:
    text = """
heat_template_version: 2018-08-31
parameters: {answer: {type: string, default: "yes"}}
conditions: {c: {equals: [{get_param: answer}, yes]}, d: {equals: [yes, true]}}
"""
    assert bind(parse_template(text)).conditions == {"c": True, "d": True}


def test_a_parameter_may_choose_by_what_a_resource_answers() -> None:
    text = """
heat_template_version: 2018-08-31
parameters: {sizes: {type: json, default: {small: 1, big: 2}}}
resources: {r: {type: T}}
outputs: {o: {value: {get_param: [sizes, {get_attr: [r, size]}]}}}
"""
    value = bind(parse_template(text)).outputs["o"].value
    assert resolve(value, NothingKnown()) is UNKNOWN
    assert resolve(value, Known(size="big")) == 2


def test_a_yaql_expression_that_runs_away_is_stopped() -> None:
    with pytest.raises(InvalidInput, match="cannot be evaluated"):
        value_of({"yaql": {"expression": "range(100000000).sum()"}})
    with pytest.raises(InvalidInput, match="cannot be evaluated"):
        value_of({"yaql": {"expression": "'x' * 100000000"}})


def test_an_error_of_a_function_names_its_place() -> None:
    text = (
        "heat_template_version: 2018-08-31\nresources:\n  a:\n    type: T\n    properties:\n      x: {list_join: 5}\n"
    )
    with pytest.raises(InvalidInput) as refused:
        parse_template(text, file="f.yaml")
    (problem,) = refused.value.problems
    assert str(problem).startswith("f.yaml:6:11: resources.a.properties.x.list_join: list_join: takes")


def test_a_third_partys_function_is_one_class_more() -> None:
    from calor.server.template.functions.base import Evaluation, Function

    class Shout(Function):
        """Text in capitals."""

        __slots__ = ()

        def evaluate(self, args: Any, at: Evaluation) -> Any:
            return args.upper()

    table = HOT_TABLES["2018-08-31"].extended({"shout": Shout})
    assert table.functions["shout"] is Shout
    assert "shout" not in HOT_TABLES["2018-08-31"].functions


def test_secrets_compare_by_value_and_unwrap_once() -> None:
    assert Secret(Secret("a")) == Secret("a")
    assert plain({"a": Secret(1)}) == {"a": Secret(1)}
