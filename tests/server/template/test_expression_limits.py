"""F168: what an expression or a pattern of a user may cost."""

import resource
import time

import pytest

from calor.server.errors import InvalidInput
from calor.server.template import NothingKnown, bind, parse_template, resolve


def yaql(expression: str, data: object = None) -> object:
    tree = {"yaql": {"expression": expression, "data": data}}
    template = parse_template({"heat_template_version": "2021-04-16", "outputs": {"o": {"value": tree}}})
    return resolve(bind(template).outputs["o"].value, NothingKnown())


yaql("1 + 1")  # the library's own start takes longer than an expression

LOOP = "range(150).select(range(150).select(range(150).select($ * 2)))"


@pytest.mark.parametrize(
    "expression",
    [
        "$.__class__",
        "$.data.__class__.__mro__",
        "'{0.__class__}'.format(1)",
        "range(0, 1000000000).sum()",
        "'x' * 1000000000",
        "[1] * 1000000000",
        LOOP,
        LOOP.replace("$ * 2", "[$, $]"),
        "1000000000 * [1]",
        "pow(10, 100000000)",
        "shiftBitsLeft(1, 100000000000)",
        "pow(10, pow(10, pow(10, 10)))",
        "regex('^(a|a)*$').matches($.data)",
        "$.data =~ '^(a|a)*$'",
        "$.data.matches('^(a|a)*$')",
        "regex('^(a|a)*$').replace($.data, 'x')",
        "regex('^(a|a)*$').split($.data)",
        "regex('^(a|a)*$').searchAll($.data)",
        "regex('(').matches('x')",
    ],
)
def test_f168_a_hostile_expression_is_refused_within_a_second_and_50_mb(expression: str) -> None:
    start = time.process_time()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InvalidInput, match="yaql: "):
        yaql(expression, "a" * 60 + "!")
    assert time.process_time() - start < 2.0  # 1 s on a machine that does nothing else
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB


def test_f168_a_catastrophic_allowed_pattern_is_refused_within_a_second() -> None:
    text = """
heat_template_version: 2018-08-31
parameters: {p: {type: string, constraints: [{allowed_pattern: "^(a|a)*$"}]}}
"""
    start = time.process_time()
    with pytest.raises(InvalidInput, match=r"within 0\.25 s"):
        bind(parse_template(text), given={"p": "a" * 60 + "!"})
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize(
    ("expression", "data", "wanted"),
    [
        ("regex('a(b+)').search($.data)", "xabbc", "abb"),
        ("regex('a(b+)').search($.data, $2.value)", "xabbc", "bb"),
        ("regex('b').searchAll($.data)", "abcb", ["b", "b"]),
        ("regex('[,;]').split($.data)", "a,b;c", ["a", "b", "c"]),
        ("$.data.split(regex(','))", "a,b", ["a", "b"]),
        ("regex('b', ignoreCase => true).replace($.data, 'x')", "aBc", "axc"),
        ("$.data.replace(regex('b'), 'x')", "abc", "axc"),
        ("$.data.replaceBy(regex('b'), 'y')", "abc", "ayc"),
        ("$.data =~ 'b'", "abc", True),
        ("$.data !~ regex('b')", "abc", False),
        ("$.data.matches('^a.c$')", "abc", True),
        ("isRegex(regex('a'))", None, True),
        ("escapeRegex('a.b')", None, "a\\.b"),
        ("$.data.select($ * 2)", [1, 2], [2, 4]),
        ("$.data * 2 + 2 * $.data", ["a"], ["a"] * 4),
        ("pow(2, 10) + shiftBitsLeft(1, 3)", None, 1032),
    ],
)
def test_patterns_in_expressions_do_what_yaqls_own_do(expression: str, data: object, wanted: object) -> None:
    assert yaql(expression, data) == wanted
