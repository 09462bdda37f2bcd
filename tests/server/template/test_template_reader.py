"""What the reader keeps of a text, and what it refuses."""

import time
import tracemalloc

import pytest

from calor.server.errors import InvalidInput, Problem, RequestLimitExceeded
from calor.server.template import Limits, bind, convert, parse_environment, parse_template, plain
from calor.server.template.properties import Kind, PropertySchema
from calor.server.template.reader import read
from calor.server.template.values import Plain

HEAD = "heat_template_version: 2018-08-31\n"


def problems_of(text: str, **options: object) -> tuple[Problem, ...]:
    with pytest.raises(InvalidInput) as refused:
        parse_template(text, file="web.yaml", **options)  # type: ignore[arg-type]
    return refused.value.problems


def root_of(text: str) -> object:
    return read(text, file="f", limits=Limits()).root


AS_WRITTEN = ["52:54:00:12:34:56", "0755", "1:30", "1.10", "2.20", "1_000", "yes", "on", "0x1f", "2001-01-01", "true"]


@pytest.mark.parametrize("text", AS_WRITTEN)
def test_f102_an_unquoted_scalar_reaches_a_string_property_as_written(text: str) -> None:
    template = parse_template(f"{HEAD}resources: {{r: {{type: T, properties: {{p: {text}}}}}}}")
    schemas = {"p": PropertySchema(kind=Kind.STRING)}
    assert convert(schemas, bind(template).resources["r"].properties).values == {"p": text}


@pytest.mark.parametrize("text", AS_WRITTEN)
def test_f102_an_unquoted_scalar_reaches_a_string_parameter_as_written(text: str) -> None:
    template = parse_template(f"{HEAD}parameters: {{p: {{type: string, default: {text}}}, q: {{type: string}}}}")
    environment = parse_environment(f"parameters: {{q: {text}}}")
    values = {name: parameter.value for name, parameter in bind(template, environment).parameters.items()}
    assert (values["p"], values["q"]) == (text, text)


def test_f102_numbers_and_booleans_are_typed_where_they_are_wanted() -> None:
    template = parse_template(f"{HEAD}resources: {{r: {{type: T, properties: {{i: 0755, n: 2.20, b: yes}}}}}}")
    schemas = {
        "i": PropertySchema(kind=Kind.INTEGER),
        "n": PropertySchema(kind=Kind.NUMBER),
        "b": PropertySchema(kind=Kind.BOOLEAN),
    }
    values = convert(schemas, bind(template).resources["r"].properties).values
    assert values == {"i": 493, "n": 2.2, "b": True}


def test_f102_outputs_and_metadata_read_as_heat_reads_them() -> None:
    template = parse_template(f"{HEAD}outputs: {{o: {{value: {{a: 0755, b: yes, c: 2001-01-01}}}}}}")
    assert plain(bind(template).outputs["o"].value) == {"a": 493, "b": True, "c": "2001-01-01"}


def test_f103_a_duplicate_key_is_a_warning_with_both_lines_and_the_last_one_holds() -> None:
    text = f"{HEAD}resources:\n  web: {{type: A}}\n  db: {{type: B}}\n  web: {{type: C}}\n"
    template = parse_template(text, file="web.yaml")
    assert template.resources["web"].type == "C"
    (warning,) = template.warnings
    assert (warning.file, warning.line, warning.path) == ("web.yaml", 5, "resources.web")
    assert "lines 3 and 5" in warning.message


def test_f103_a_duplicate_key_inside_a_resource_is_reported_too() -> None:
    text = f"{HEAD}resources:\n  web:\n    type: A\n    properties: {{a: 1}}\n    properties: {{b: 2}}\n"
    assert [warning.line for warning in parse_template(text).warnings] == [6]


def test_f103_strict_makes_a_duplicate_key_an_error() -> None:
    (problem,) = problems_of(f"{HEAD}description: a\ndescription: b\n", strict=True)
    assert "lines 2 and 3" in problem.message


def test_a_duplicate_key_of_json_text_is_reported() -> None:
    template = parse_template('{"heat_template_version": "2018-08-31", "description": "a", "description": "b"}')
    assert template.description == "b"
    assert [warning.code for warning in template.warnings] == ["duplicate-key"]


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [" + ",".join(["lol"] * 9) + "]"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [" + ",".join([f"*a{level - 1}"] * 9) + "]")
    return "\n".join(lines)


def test_f104_an_alias_bomb_is_refused_at_once_and_cheaply() -> None:
    text = HEAD + bomb(9)
    tracemalloc.start()
    start = time.perf_counter()
    (problem,) = problems_of(text)
    taken, (_, peak) = time.perf_counter() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "expands to more than 200000 nodes" in problem.message
    assert problem.line > 1
    assert taken < 0.1
    assert peak < 50_000_000


def test_f104_an_anchor_used_twice_still_works() -> None:
    assert root_of("a: &x {k: 1}\nb: *x\nc: [*x]\n") == {"a": {"k": 1}, "b": {"k": 1}, "c": [{"k": 1}]}


def test_merge_keys_give_way_to_the_maps_own() -> None:
    assert root_of("a: &a {x: 1, y: 2}\nb: &b {x: 3, z: 4}\nc: {y: 9, <<: [*a, *b]}") == {
        "a": {"x": 1, "y": 2},
        "b": {"x": 3, "z": 4},
        "c": {"y": 9, "x": 1, "z": 4},
    }


@pytest.mark.parametrize(
    ("text", "words", "place"),
    [
        ("a: [", "not valid YAML", (1, 5)),
        ("a:\n  b: {c: 1,\n    d: {e: 2}\n\n", "which begins in line 2", (3, 14)),
        ("a: 1\n\tb: 2", "not valid YAML: a tab; YAML is indented with spaces", (2, 1)),
        ('{"a": 1,\n "b": [1,,2]}\n\n', "not valid JSON: expecting value", (2, 10)),
        ('{"a": 1,\n "b": 2\n', "not valid JSON", (2, 8)),
        ("{a: 1, b: [}", "not valid YAML", (1, 12)),
        ("a: !!python/object:os.system {}", "tag", (1, 4)),
        ("a: !custom x", "tag", (1, 4)),
        ("a: *nowhere", "no anchor", (1, 4)),
        ("a: &a [*a]", "contains it", (1, 8)),
        ("a: 1\n---\nb: 2", "more than one YAML document", (2, 1)),
        ("? [a, b]\n: c", "key must be text", (1, 3)),
        ("a: !!int x", "not of the type", (1, 4)),
        ("a: {<<: 5}", "takes a map", (1, 9)),
    ],
)
def test_broken_yaml_is_refused_with_its_place(text: str, words: str, place: tuple[int, int]) -> None:
    with pytest.raises(InvalidInput) as refused:
        read(text, file="f", limits=Limits())
    (problem,) = refused.value.problems
    assert words in problem.message
    assert (problem.line, problem.column) == place


@pytest.mark.parametrize("text", ["[" * 5000, '{"a":' * 5000, "a: " + "[" * 150 + "]" * 150, "- " * 3000])
def test_absurd_depth_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        read(text, file="f", limits=Limits())


def test_a_text_above_the_size_limit_is_refused_with_the_limit() -> None:
    with pytest.raises(RequestLimitExceeded, match=r"1000 \(max_template_size\)"):
        parse_template(HEAD + "description: " + "x" * 2000, limits=Limits(size=1000))


def test_json_numbers_stay_what_json_says() -> None:
    root = root_of('{"a": "0755", "b": "yes", "c": "1:30", "d": 1e3, "e": 1.0}')
    assert root == {"a": "0755", "b": "yes", "c": "1:30", "d": 1000.0, "e": 1.0}
    assert not any(isinstance(value, Plain) for value in root.values())  # type: ignore[attr-defined]


def test_json_text_has_places_too() -> None:
    text = '{\n  "heat_template_version": "2018-08-31",\n  "resources": {\n    "a": {"type": 5, "tipe": "T"}\n  }\n}'
    assert [(problem.path, problem.line, problem.column) for problem in problems_of(text)] == [
        ("resources.a.tipe", 4, 22),
        ("resources.a", 4, 5),
    ]
    assert read('{\t"a": 1e3}', file="f", limits=Limits()).root == {"a": 1000.0}


def test_a_mapping_that_the_client_parsed_is_checked_for_depth_and_size() -> None:
    deep: dict[str, object] = {}
    for _ in range(150):
        deep = {"a": deep}
    for root in ({**deep}, {"a": [0] * 300_000}):
        with pytest.raises(InvalidInput):
            parse_template({"heat_template_version": "2018-08-31", "resources": root})


@pytest.mark.parametrize(
    ("text", "word"), [("[a]", "a list"), ("word", "text"), ("12", "a number"), ("true", "a boolean")]
)
def test_what_is_no_map_is_named_by_a_word_of_yaml(text: str, word: str) -> None:
    with pytest.raises(InvalidInput, match=f"The template must be a map, not {word}."):
        parse_template(text)
