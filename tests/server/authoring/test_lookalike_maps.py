"""A map that looks like a call of a function and is data: accepted, and warned of."""

from pathlib import Path

import pytest

from calor.server.authoring.checking import Wanted, check

OLD = """heat_template_version: 2015-10-15
parameters: {p: {type: string, default: x}}
resources:
  a:
    type: OS::Heat::Value
    properties: {value: {list: [{get_parm: p}]}}
outputs:
  one: {value: {if: [x, 1, 2]}}
  two: {value: {map_merge: [{a: 1}]}}
  three: {value: {str_replce: {template: a, params: {a: b}}}}
  right: {value: {get_param: p}}
  data: {value: {filter_of_mine: 1, size: {large: 2}, sort: {key: 3}}}
"""


def found(folder: Path, text: str, *, strict: bool = False) -> tuple[list[str], list[str]]:
    (folder / "t.yaml").write_text(text)
    report = check(Wanted(template=folder / "t.yaml", strict=strict))
    return [one.message for one in report.problems], [f"{one.line}: {one.message}" for one in report.warnings]


def test_functions_of_later_versions_and_misspelt_ones_are_warned_of(tmp_path: Path) -> None:
    problems, warnings = found(tmp_path, OLD)
    assert problems == []
    assert warnings == [
        "6: 'get_parm' is no function, but a key of a map (did you mean 'get_param'?).",
        "8: 'if' is a function since 2016-10-14; in 2015-10-15 it is a key of a map.",
        "9: 'map_merge' is a function since 2016-04-08; in 2015-10-15 it is a key of a map.",
        "10: 'str_replce' is no function, but a key of a map (did you mean 'str_replace'?).",
    ]
    assert len(found(tmp_path, OLD, strict=True)[0]) == 4


def test_a_misspelt_function_in_a_nested_template_is_warned_of(tmp_path: Path) -> None:
    (tmp_path / "inner.yaml").write_text(OLD)
    problems, warnings = found(tmp_path, "heat_template_version: 2018-08-31\nresources: {n: {type: inner.yaml}}\n")
    assert (problems, [one.partition(":")[0] for one in warnings]) == ([], ["6", "8", "9", "10"])


def test_where_text_is_wanted_the_error_says_it_and_nothing_else_does(tmp_path: Path) -> None:
    text = """heat_template_version: 2018-08-31
parameters: {p: {type: string, default: x}}
resources:
  a:
    type: OS::Heat::SoftwareConfig
    properties: {config: {get_parm: p}}
"""
    problems, warnings = found(tmp_path, text)
    assert problems == [
        "Text is wanted, not a map. 'get_parm' is no function, but a key of a map (did you mean 'get_param'?)."
    ]
    assert warnings == []


@pytest.mark.parametrize("key", ["Refs", "get", "value", "files", "contain_er"])
def test_keys_that_are_like_no_function_are_data(tmp_path: Path, key: str) -> None:
    text = f"heat_template_version: 2018-08-31\noutputs: {{a: {{value: {{{key}: 1}}}}}}\n"
    assert found(tmp_path, text) == ([], [])


def test_in_conditions_a_misspelt_argument_is_warned_of(tmp_path: Path) -> None:
    text = """heat_template_version: 2018-08-31
parameters: {p: {type: string, default: x}}
conditions: {c: {equals: [{get_params: p}, x]}}
"""
    assert found(tmp_path, text)[1] == [
        "3: 'get_params' is no function, but a key of a map (did you mean 'get_param'?)."
    ]
