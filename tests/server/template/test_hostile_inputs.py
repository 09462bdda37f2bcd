"""Inputs made to hurt, each by its name: refused or read within a second of CPU and 200 MB."""

import resource
import time
from collections.abc import Iterator
from typing import Any

import pytest

from calor.server.engine.revision.blueprint import draw
from calor.server.engine.revision.nested_checks import check_tree
from calor.server.errors import CalorError, InvalidInput, RequestLimitExceeded
from calor.server.resources.registry import installed
from calor.server.template import bind, parse_environment, parse_template
from calor.server.template.files import text_of

HEAD = "heat_template_version: 2021-04-16\n"
LONG = "x" * (50 << 20)


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """What the whole test may cost."""
    start, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert time.process_time() - start < 1.0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024


def refused(given: Any, kind: type[CalorError] = InvalidInput) -> str:
    with pytest.raises(kind) as raised:
        parse_template(given)
    with pytest.raises(CalorError):
        parse_environment(given)
    return str(raised.value)


def test_an_alias_bomb() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]" for n in range(9)]
    assert "nodes" in refused("\n".join(lines))


@pytest.mark.parametrize("opened", ["[", "{a: ", "- ", "? "])
def test_depth_10_000(opened: str) -> None:
    assert refused(HEAD + "a: " * (opened[0] not in "-?") + opened * 10_000)


def test_json_of_depth_10_000() -> None:
    assert "levels deep" in refused('{"a":' * 10_000 + "1" + "}" * 10_000)


def test_a_text_of_50_mb() -> None:
    assert "max_template_size" in refused(f"{HEAD}description: {LONG}", RequestLimitExceeded)


def test_not_a_number_and_the_infinite() -> None:
    text = HEAD + "parameters: {p: {type: number, default: .nan, constraints: [{range: {min: -.inf, max: .inf}}]}}\n"
    try:
        bind(parse_template(text), allow_missing=True)
    except InvalidInput as error:
        assert "p" in str(error)


@pytest.mark.parametrize("digits", [400, 5_000, 100_000])
def test_huge_integers(digits: int) -> None:
    number = "9" * digits
    text = HEAD + f"parameters: {{p: {{type: number, default: {number}}}}}\noutputs: {{o: {{value: {number}}}}}\n"
    try:
        bind(parse_template(text))
    except InvalidInput as error:
        assert len(str(error)) < 200_000


@pytest.mark.parametrize(
    "tag", ["!!python/object/apply:os.system [true]", "!!python/name:os.system", "!!python/none x"]
)
def test_python_tags_run_nothing(tag: str) -> None:
    assert "tag" in refused(HEAD + f"description: {tag}\n")


def test_bytes_that_are_no_utf_8() -> None:
    assert "is not text" in refused(text_of(HEAD.encode() + b"description: \xff\xfe\x80\n"))


def test_half_of_a_pair() -> None:
    assert "surrogate" in refused(HEAD + "description: \ud800\n")


def test_templates_that_nest_each_other() -> None:
    files = {
        name: HEAD + f"resources: {{r: {{type: {other}}}}}\n"
        for name, other in (("a.yaml", "b.yaml"), ("b.yaml", "a.yaml"))
    }
    registry = installed()
    model = bind(parse_template(files["a.yaml"]), files=files)
    with pytest.raises(RequestLimitExceeded, match="max_nested_stack_depth"):
        check_tree(draw(model, registry, files), registry, 5)


def test_a_catastrophic_allowed_pattern() -> None:
    rule = {"allowed_pattern": "(a|aa|a*)*b"}
    template = {
        "heat_template_version": "2021-04-16",
        "parameters": {"p": {"type": "string", "constraints": [rule]}},
    }
    with pytest.raises(InvalidInput):
        bind(parse_template(template), given={"p": "a" * 5000})


def test_a_hundred_thousand_equal_keys() -> None:
    template = parse_template(HEAD + "description: x\n" * 20_000)
    assert len(template.warnings) <= 20_000


def nested(wrap: Any, inner: Any, times: int = 12) -> Any:
    for _ in range(times):
        inner = wrap(inner)
    return inner


@pytest.mark.parametrize(
    "value",
    [
        nested(lambda one: {"str_replace": {"template": "$a" * 8, "params": {"$a": one}}}, "x"),
        nested(lambda one: {"list_join": [one, list("abcdefgh")]}, "x"),
        nested(lambda one: {"repeat": {"template": {"%x%": one}, "for_each": {"%x%": list("abcdefgh")}}}, "x"),
        nested(lambda one: {"map_replace": [{"a": 1, "b": 1, "c": 1}, {"values": {1: one}}]}, "x", 20),
        {"repeat": {"template": "%a%", "for_each": {f"%{n}%": list("abcdefgh") for n in "abcdefghijkl"}}},
        {"repeat": {"template": "a", "for_each": {n: [chr(ord(n) + 1) * 9] for n in "abcdefghijkl"}}},
    ],
    ids=["str_replace", "list_join", "repeat", "map_replace", "products", "chains"],
)
def test_functions_that_multiply(value: Any) -> None:
    resources = {"r": {"type": "OS::Heat::Value", "properties": {"value": value}}}
    template = {"heat_template_version": "2021-04-16", "resources": resources}
    with pytest.raises(InvalidInput, match=r"are possible|would be larger"):
        bind(parse_template(template))
