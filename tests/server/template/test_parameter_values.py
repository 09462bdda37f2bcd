"""Values of parameters: where they come from, what is refused, what is shown."""

import pytest

from calor.server.errors import InvalidInput
from calor.server.template import UNKNOWN, Origin, Pseudo, Secret, bind, parse_environment, parse_template


def declared(body: str) -> object:
    return parse_template(f"heat_template_version: 2018-08-31\nparameters:\n  p: {{{body}}}\n", file="f.yaml")


@pytest.mark.parametrize("text", ["{bad", "[1,", '{"a": }', "'"])
def test_f106_a_bad_json_parameter_names_the_parameter_and_the_position(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        bind(declared("type: json"), given={"p": text})  # type: ignore[arg-type]
    assert refused.value.status == 400
    assert "'p'" in str(refused.value)
    assert "line 1, column" in str(refused.value)


def test_f106_json_nested_too_deeply_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'p'"):
        bind(declared("type: json"), given={"p": "[" * 100_000})  # type: ignore[arg-type]


def test_the_given_value_wins_over_the_environment_and_the_defaults() -> None:
    template = declared("type: string, default: d")
    environment = parse_environment("parameters: {p: e}\nparameter_defaults: {p: pd}")
    only_defaults = parse_environment("parameters: {}\nparameter_defaults: {p: pd}")
    found = [
        bind(template, environment, {"p": "g"}).parameters["p"],  # type: ignore[arg-type]
        bind(template, environment).parameters["p"],  # type: ignore[arg-type]
        bind(template, only_defaults).parameters["p"],  # type: ignore[arg-type]
        bind(template).parameters["p"],  # type: ignore[arg-type]
    ]
    assert [(parameter.value, parameter.origin) for parameter in found] == [
        ("g", Origin.GIVEN),
        ("e", Origin.ENVIRONMENT),
        ("pd", Origin.PARAMETER_DEFAULTS),
        ("d", Origin.DEFAULT),
    ]


def test_hidden_and_encrypted_parameters_are_secrets_and_shown_as_stars() -> None:
    hidden = bind(declared("type: string, hidden: true"), given={"p": "s3cret"}).parameters["p"]  # type: ignore[arg-type]
    environment = parse_environment("parameters: {p: s3cret}\nencrypted_param_names: [p]")
    encrypted = bind(declared("type: string"), environment).parameters["p"]  # type: ignore[arg-type]
    for parameter in (hidden, encrypted):
        assert (parameter.value, parameter.shown) == (Secret("s3cret"), "******")
        assert "s3cret" not in repr(parameter)


def test_f164_a_hidden_default_that_is_the_mask_is_no_value() -> None:
    """What `stack template show` gave is no template to lose a password by."""
    template = declared("type: string, hidden: true, default: '******', constraints: [{length: {min: 8}}]")
    with pytest.raises(InvalidInput, match=r"p\.default is the mask that hidden values are shown as; give the value"):
        bind(template)  # type: ignore[arg-type]
    given = bind(template, given={"p": "s3cret-word"})  # type: ignore[arg-type]
    assert given.parameters["p"].value == Secret("s3cret-word")
    assert bind(template, allow_missing=True).parameters["p"].value is UNKNOWN  # type: ignore[arg-type]
    stored = declared("type: string, hidden: true, default: '******'")
    assert bind(stored, stored=True).parameters["p"].value == Secret("******")  # type: ignore[arg-type]
    shown = declared("type: string, default: '******'")
    assert bind(shown).parameters["p"].value == "******"  # type: ignore[arg-type]


def test_all_missing_and_unknown_parameters_are_reported_at_once() -> None:
    text = "heat_template_version: 2018-08-31\nparameters: {size: {type: string}, name: {type: string}}"
    with pytest.raises(InvalidInput) as refused:
        bind(parse_template(text), given={"sise": "x"})
    messages = [problem.message for problem in refused.value.problems]
    assert len(messages) == 3
    assert "did you mean 'size'?" in messages[0]


def test_validation_may_go_on_without_values() -> None:
    bound = bind(declared("type: string"), allow_missing=True)  # type: ignore[arg-type]
    assert bound.parameters["p"].value is UNKNOWN


def test_a_constraint_of_the_cloud_is_left_to_somebody_with_a_cloud() -> None:
    body = "type: string, constraints: [{custom_constraint: nova.flavor, description: a flavor}]"
    (pending,) = bind(declared(body), given={"p": "m1"}).pending  # type: ignore[arg-type]
    assert (pending.constraint, pending.value, pending.path) == ("nova.flavor", "m1", ("parameters", "p"))


def test_a_broken_constraint_tells_its_description() -> None:
    body = "type: string, constraints: [{length: {min: 3}, description: three at least}]"
    with pytest.raises(InvalidInput, match="three at least"):
        bind(declared(body), given={"p": "a"})  # type: ignore[arg-type]


def test_pseudo_parameters_are_those_of_the_language() -> None:
    pseudo = Pseudo(stack_id="id", stack_name="name", project_id="project")
    hot = bind(declared("type: string, default: x"), pseudo=pseudo).parameters  # type: ignore[arg-type]
    assert (hot["OS::stack_id"].value, hot["OS::stack_name"].value, hot["OS::project_id"].value) == (
        "id",
        "name",
        "project",
    )
    cfn = bind(parse_template({"AWSTemplateFormatVersion": "2010-09-09"}), pseudo=pseudo).parameters
    assert cfn["AWS::StackId"].value == "arn:openstack:heat::project:stacks/name/id"


def test_a_name_that_yaml_takes_for_a_boolean_is_a_name() -> None:
    text = "heat_template_version: 2018-08-31\nparameters: {on: {type: string, default: x}}\n"
    text += "outputs: {o: {value: {get_param: on}}}"
    assert bind(parse_template(text)).outputs["o"].value == "x"


@pytest.mark.parametrize(
    ("environment", "given", "said"),
    [
        ("", {"p": "x"}, "has a wrong value: "),
        ("parameters: {p: x}", {}, "has a wrong value in the environment: "),
        ("parameter_defaults: {p: x}", {}, "has a wrong value in the environment's parameter_defaults: "),
    ],
)
def test_a_wrong_value_is_told_with_where_it_comes_from(environment: str, given: dict[str, str], said: str) -> None:
    template = parse_template("heat_template_version: 2018-08-31\nparameters: {p: {type: number}}\n")
    with pytest.raises(InvalidInput, match=f"The parameter 'p' {said}"):
        bind(template, parse_environment(environment), given)
