"""Environments: reading, merging, the registry."""

import pytest

from calor.server.errors import InvalidInput
from calor.server.template import (
    Environment,
    bind,
    merge_environments,
    parse_environment,
    parse_template,
)

TEMPLATE = parse_template(
    """
heat_template_version: 2018-08-31
parameters:
  n: {type: number, default: 1}
  b: {type: boolean, default: true}
  s: {type: string, default: x}
  l: {type: comma_delimited_list, default: []}
  j: {type: json, default: {}}
"""
)


def merged(*texts: str) -> Environment:
    environments = [parse_environment(text, file=f"env{number}.yaml") for number, text in enumerate(texts, 1)]
    return merge_environments(environments, TEMPLATE.parameters)


def values_of(environment: Environment) -> dict[str, object]:
    bound = bind(TEMPLATE, environment)
    return {name: parameter.value for name, parameter in bound.parameters.items() if parameter.schema}


def test_f112_a_later_zero_false_and_empty_text_win() -> None:
    environment = merged(
        "parameters: {n: 5, b: true, s: x}",
        "parameters: {n: 0, b: false, s: ''}",
        "parameters: {}\nparameter_defaults:\n",
    )
    values = values_of(environment)
    assert (values["n"], values["b"], values["s"]) == (0, False, "")


def test_f112_an_empty_parameter_defaults_section_is_none() -> None:
    assert parse_environment("parameter_defaults:\n").parameter_defaults == {}


def test_f112_lists_and_maps_are_merged_by_their_strategy() -> None:
    strategies = "parameter_merge_strategies: {l: merge, j: deep_merge}\n"
    environment = merged(
        strategies + "parameters: {l: 'a,b', j: {x: {y: 1}, z: [1]}}",
        strategies + "parameters: {l: c, j: {x: {w: 2}, z: [2]}}",
    )
    values = values_of(environment)
    assert values["l"] == ["a", "b", "c"]
    assert values["j"] == {"x": {"y": 1, "w": 2}, "z": [1, 2]}


def test_f112_conflicting_strategies_name_both_files() -> None:
    with pytest.raises(InvalidInput) as refused:
        merged(
            "parameter_merge_strategies: {l: merge}\nparameters: {l: a}",
            "parameter_merge_strategies: {l: overwrite}\nparameters: {l: b}",
        )
    assert "env1.yaml" in str(refused.value)
    assert "env2.yaml" in str(refused.value)


def test_a_strategy_without_a_value_conflicts_with_nothing() -> None:
    environment = merged(
        "parameter_merge_strategies: {l: merge}\nparameters: {l: a}",
        "parameter_merge_strategies: {l: overwrite, s: merge}\nparameters: {n: 1}",
    )
    assert values_of(environment)["l"] == ["a"]


def test_numbers_and_booleans_cannot_be_merged() -> None:
    strategy = "parameter_merge_strategies: {default: merge}\n"
    for value in ("n: 1", "b: true", "b: 'true'", "s: 5", "l: 5"):
        with pytest.raises(InvalidInput, match="cannot be merged"):
            merged("parameters: {j: {}}", f"{strategy}parameters: {{{value}}}")


def test_what_a_request_says_itself_comes_first_and_decides_on_no_strategy() -> None:
    own = parse_environment({"parameters": {"l": "z"}})
    file = parse_environment("parameter_merge_strategies: {l: merge}\nparameters: {l: a}", file="f.yaml")
    assert merge_environments([file], TEMPLATE.parameters, base=own).parameters == {"l": "z,a"}


def test_registries_of_several_files_are_merged() -> None:
    environment = merged(
        "resource_registry: {A: a.yaml, resources: {web: {hooks: pre-create}}}",
        "resource_registry: {B: b.yaml, resources: {web: {restricted_actions: replace}, 'db*': {hooks: [pre-delete]}}}",
    )
    assert (environment.type_of("A"), environment.type_of("B")) == ("a.yaml", "b.yaml")
    assert environment.hooks("web") == {"pre-create"}
    assert environment.restricted_actions("web") == {"replace"}
    assert environment.hooks("db-1") == {"pre-delete"}


def test_a_type_is_followed_to_the_end_of_its_mappings() -> None:
    environment = parse_environment(
        "resource_registry: {'My::*': 'OS::*', 'A': 'B', 'B': 'c.yaml', 'L': 'M', 'M': 'L', resources: {r: {A: Z}}}"
    )
    assert environment.type_of("My::Nova::Server") == "OS::Nova::Server"
    assert environment.type_of("A") == "c.yaml"
    assert environment.type_of("A", "r") == "Z"
    assert environment.type_of("L") in {"L", "M"}
    assert environment.type_of("OS::Heat::None") == "OS::Heat::None"


def test_the_environment_of_a_child_has_what_is_below_its_name() -> None:
    environment = parse_environment(
        """
resource_registry:
  T: t.yaml
  resources:
    group:
      hooks: pre-update
      member:
        hooks: pre-create
      T: own.yaml
"""
    )
    child = environment.nested("group")
    assert child.hooks("member") == {"pre-create"}
    assert child.type_of("T") == "own.yaml"
    assert environment.nested("other").type_of("T") == "t.yaml"


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "text",
        "parameters:",
        "parameters: []",
        "event_sinks: {}",
        "resource_registry: {T: 5}",
        "resource_registry: {resources: {r: {hooks: nope}}}",
        "resource_registry: {resources: {r: {restricted_actions: delete}}}",
    ],
)
def test_what_is_no_environment_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_environment(text)


def test_an_unknown_section_of_a_text_is_refused_naming_the_nearest() -> None:
    with pytest.raises(InvalidInput, match="did you mean 'resource_registry'"):
        parse_environment("parameters: {}\nresource_registri: {A: B}")


def test_an_unknown_section_of_a_mapping_is_ignored_with_a_warning() -> None:
    environment = parse_environment({"parameters": {}, "resource_registri": {"A": "B"}})
    (warning,) = environment.warnings
    assert "did you mean 'resource_registry'?" in warning.message


def test_a_map_without_sections_is_a_map_of_parameters() -> None:
    assert parse_environment({"n": 5, "parameter_defaults": {"s": "y"}}).parameters == {"n": 5}


@pytest.mark.parametrize("resources", ["5", "{d: 5}", "{d: {resources: {e: x}}}", "{d: {hooks: [{}, 3]}}"])
def test_resources_that_are_no_maps_are_faults_and_read_leniently_they_are_left_out(resources: str) -> None:
    text = f"resource_registry: {{resources: {resources}}}"
    with pytest.raises(InvalidInput):
        parse_environment(text)
    read = parse_environment(text, lenient=True)
    assert {one.code for one in read.faults} == {"resource-registry"}
    assert (read.type_of("A::B", "d"), read.hooks("d"), read.nested("d").hooks("e")) == (
        "A::B",
        frozenset(),
        frozenset(),
    )
    assert parse_environment("resource_registry: {resources: {d: null}}").type_of("A::B", "d") == "A::B"
