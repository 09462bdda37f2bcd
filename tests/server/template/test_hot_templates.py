"""HOT templates: what is read, what is refused and how it is said."""

import pytest

from calor.server.errors import InvalidInput, Problem
from calor.server.template import (
    DeletionPolicy,
    NothingKnown,
    Reference,
    bind,
    parse_template,
    references,
    resolve,
)

HEAD = "heat_template_version: 2018-08-31\n"


def problems_of(text: object) -> tuple[Problem, ...]:
    with pytest.raises(InvalidInput) as refused:
        bind(parse_template(text, file="web.yaml"))  # type: ignore[arg-type]
    return refused.value.problems


def test_f107_all_problems_of_a_template_come_at_once_with_place_and_path() -> None:
    text = f"""{HEAD}
parameters:
  size: {{type: strin}}
resources:
  web:
    type: OS::Nova::Server
    propertees: {{}}
    depends_on: dbb
  db:
    properties: {{x: {{get_param: siz}}}}
outputs:
  o:
    value: {{get_attr: [wep, ip]}}
"""
    problems = problems_of(text)
    places = {(problem.path, problem.line, problem.column) for problem in problems}
    assert {
        ("parameters.size", 4, 3),
        ("resources.web.propertees", 8, 5),
        ("resources.web.depends_on", 9, 5),
        ("resources.db", 10, 3),
        ("resources.db.properties.x.get_param", 11, 22),
        ("outputs.o.value.get_attr", 14, 13),
    } <= places
    assert {problem.file for problem in problems} == {"web.yaml"}


def test_an_unknown_name_comes_with_the_nearest_known_one() -> None:
    text = f"{HEAD}resources:\n  server: {{type: T}}\n  other: {{type: T, metadata: {{get_resource: servr}}}}\n"
    (problem,) = problems_of(text)
    assert "did you mean 'server'?" in problem.message


def test_an_output_that_refers_to_nothing_is_a_warning_and_the_error_of_who_asks_for_it() -> None:
    text = f"{HEAD}resources:\n  server: {{type: T}}\noutputs:\n  o: {{value: {{get_resource: servr}}}}\n"
    template = parse_template(text)
    assert ["did you mean 'server'?" in warning.message for warning in template.warnings] == [True]
    with pytest.raises(InvalidInput, match="servr"):
        resolve(bind(template).outputs["o"].value, NothingKnown())
    with pytest.raises(InvalidInput, match="servr"):
        parse_template(text, strict=True)


def test_a_condition_that_refers_to_nothing_is_refused_where_something_depends_on_it() -> None:
    text = f"{HEAD}conditions: {{c: {{get_param: nope}}}}\nresources: {{a: {{type: T}}}}\n"
    assert bind(parse_template(text)).conditions == {}
    with pytest.raises(InvalidInput, match="nope"):
        bind(parse_template(text.replace("{type: T}", "{type: T, condition: c}")))


def test_a_template_that_a_client_parsed_gets_errors_by_path() -> None:
    (problem,) = problems_of({"heat_template_version": "2018-08-31", "resources": {"a": {"type": 5}}})
    assert (problem.path, problem.line) == ("resources.a", 0)


@pytest.mark.parametrize(
    "text",
    [
        "a: 1",
        "text",
        "[]",
        "",
        "heat_template_version: 2018-08-3",
        "heat_template_version: {}",
        "heat_template_version: pike\nAWSTemplateFormatVersion: 2010-09-09",
        "heat_template_version: 2013-05-23\nconditions: {}",
        f"{HEAD}resourcs: {{}}",
        f"{HEAD}resources: []\nresource: x",
        f"{HEAD}resources: text",
        f"{HEAD}resources: {{a/b: {{type: T}}}}",
        f"{HEAD}resources: {{p: {{type: T}}}}\nparameters: {{p: {{type: string, default: x}}}}",
        f"{HEAD}resources: {{a: {{type: T, deletion_policy: Keep}}}}",
        f"{HEAD}resources: {{a: {{type: T, condition: nope}}}}",
        f"{HEAD}outputs: {{o: {{}}}}",
        f"{HEAD}outputs: {{o: {{valu: 1}}}}",
        f"{HEAD}resources: {{a: {{type: T, update_policy: {{get_param: OS::stack_name}}}}}}",
        f"{HEAD}parameter_groups: [{{parameters: [{{a: 1}}]}}]",
        f"{HEAD}parameters: {{p: {{type: string, constraints: [{{length: {{min: 1.5}}}}]}}}}",
    ],
)
def test_what_is_no_template_is_refused(text: str) -> None:
    assert problems_of(text)


@pytest.mark.parametrize("nothing", ["false", "0", "''", "[]", "{}", "null"])
def test_a_section_with_nothing_in_it_is_empty(nothing: str) -> None:
    sections = "".join(f"{name}: {nothing}\n" for name in ("parameters", "parameter_groups", "resources", "outputs"))
    template = parse_template(HEAD + sections)
    assert (template.parameters, template.resources, template.outputs) == ({}, {}, {})


def test_a_section_without_a_name_is_unknown_also_where_there_are_no_conditions() -> None:
    (problem,) = problems_of("heat_template_version: 2015-10-15\n'': {}")
    assert problem.code == "unknown-section"


def test_what_an_output_cannot_have_is_a_warning() -> None:
    template = parse_template(f"{HEAD}outputs: {{o: {{value: 1, condtion: x}}}}")
    assert ["did you mean 'condition'" in warning.message for warning in template.warnings] == [True]
    assert bind(template).outputs["o"].value == 1


@pytest.mark.parametrize("value", ["{list_join: 5}", "{get_attr: [nope, a]}"])
def test_an_output_is_judged_where_its_condition_holds(value: str) -> None:
    text = f"{HEAD}conditions: {{c: {{equals: [a, b]}}}}\noutputs: {{o: {{condition: c, value: {value}}}}}\n"
    template = parse_template(text)
    assert (len(template.warnings), bind(template).outputs) == (1, {})
    with pytest.raises(InvalidInput):
        bind(parse_template(text.replace("[a, b]", "[a, a]")))


@pytest.mark.parametrize(
    "value",
    [
        "{get_attr: [{get_param: n}, a]}",
        "{get_attr: [off, a]}",
        "{list_join: [',', {get_attr: [off, a]}]}",
        "{get_attr: [a, {digest: [sha1, [1]]}]}",
        "{get_attr: [a, {get_param: nope}]}",
        "{get_attr: [a, {map_merge: []}]}",
        "{get_attr: {get_param: n}}",
        "{if: [nope, 1, 2]}",
        "{if: [c, 1, {get_attr: [nope, a]}]}",
        "{if: [c, 1, {repeat: {template: x, for_each: 5}}]}",
        "{if: [{get_attr: [a, b]}, 1, 2]}",
    ],
)
def test_an_output_that_can_never_be_shown_is_refused_as_the_template_is_bound(value: str) -> None:
    text = f"""{HEAD}
parameters: {{n: {{type: string, default: nope}}}}
conditions: {{c: {{equals: [a, b]}}}}
resources: {{a: {{type: T}}, off: {{type: T, condition: c}}}}
outputs: {{o: {{value: {value}}}}}
"""
    with pytest.raises(InvalidInput):
        bind(parse_template(text))


@pytest.mark.parametrize(
    "name", ["list_join", "str_replace", "str_replace_strict", "repeat", "yaql", "filter", "contains", "make_url"]
)
def test_arguments_that_are_of_one_shape_are_written_and_not_computed(name: str) -> None:
    """As in Heat, which looks at their shape as it reads them."""
    text = f"{HEAD}outputs: {{o: {{value: {{{name}: {{get_param: OS::stack_name}}}}}}}}"
    assert ["takes a" in problem.message for problem in problems_of(text)] == [True]


def test_an_output_whose_values_do_not_fit_stops_nothing() -> None:
    text = (
        f"{HEAD}conditions: {{c: {{equals: [a, b]}}}}\noutputs: {{o: {{value: {{if: [c, 1, {{get_resource: x}}]}}}}}}"
    )
    with pytest.raises(InvalidInput, match="there is no resource 'x'"):
        resolve(bind(parse_template(text)).outputs["o"].value, NothingKnown())


def test_a_release_name_is_its_version() -> None:
    assert parse_template("heat_template_version: rocky").version == "2018-08-31"


def test_f114_non_ascii_names_and_constraints_keep_their_text() -> None:
    text = f"""{HEAD}
parameters:
  größe:
    type: string
    default: ö
    constraints: [{{allowed_values: [é], description: "nur é"}}]
resources:
  sérveur: {{type: T}}
"""
    (problem,) = problems_of(text)
    assert problem.path == "parameters.größe"
    assert "'ö' is not one of é (nur é)" in problem.message


def test_a_disabled_resource_is_gone_and_what_refers_to_it_is_refused() -> None:
    text = f"""{HEAD}
parameters: {{on: {{type: boolean, default: false}}}}
conditions: {{c: {{get_param: on}}}}
resources:
  a: {{type: T, condition: c}}
  b: {{type: T, depends_on: a}}
"""
    model = bind(parse_template(text))
    assert (list(model.resources), model.disabled) == (["b"], frozenset({"a"}))
    assert model.resources["b"].depends_on == ()
    assert list(bind(parse_template(text), given={"on": True}).resources) == ["a", "b"]
    refers = text.replace("depends_on: a", "properties: {x: {get_resource: a}}")
    (problem,) = problems_of(refers)
    assert "switched off" in problem.message


def test_the_branch_that_is_not_chosen_is_not_looked_at() -> None:
    text = f"{HEAD}resources: {{a: {{type: T, properties: {{x: {{if: [false, {{get_resource: nope}}, 1]}}}}}}}}"
    assert bind(parse_template(text)).resources["a"].properties == {"x": 1}


def test_conditions_that_depend_on_each_other_are_named_in_order() -> None:
    text = f"{HEAD}conditions: {{a: {{not: b}}, b: {{not: a}}}}\noutputs: {{o: {{value: 1, condition: a}}}}"
    (problem,) = problems_of(text)
    assert "a → b → a" in problem.message


def test_deletion_policy_and_external_id_may_be_functions() -> None:
    text = f"""{HEAD}
parameters: {{keep: {{type: string, default: retain}}}}
resources: {{a: {{type: T, deletion_policy: {{get_param: keep}}, external_id: {{get_param: keep}}}}}}
"""
    resource = bind(parse_template(text)).resources["a"]
    assert (resource.deletion_policy, resource.external_id) == (DeletionPolicy.RETAIN, "retain")


def test_references_lists_each_use_once_with_its_path() -> None:
    text = f"""{HEAD}
parameters: {{key: {{type: string, default: k}}}}
resources:
  a: {{type: T}}
  b:
    type: T
    properties:
      x: [{{get_resource: a}}, {{get_resource: a}}]
      y: {{str_replace: {{template: v, params: {{v: {{get_attr: [a, map, {{get_param: key}}, 0]}}}}}}}}
      z: {{get_attr: [a, list, {{get_attr: [a, n]}}]}}
"""
    uses = references(bind(parse_template(text)).resources["b"].properties)
    assert uses == [
        Reference("a"),
        Reference("a", ("map", "k", 0)),
        Reference("a", ("list",), dynamic=True),
        Reference("a", ("n",)),
    ]


def test_a_broken_output_shows_its_error_when_asked_for_and_stops_nothing() -> None:
    text = f"{HEAD}outputs: {{o: {{value: {{get_file: missing}}}}, p: {{value: 1}}}}"
    model = bind(parse_template(text))
    with pytest.raises(InvalidInput, match="missing"):
        resolve(model.outputs["o"].value, NothingKnown())
    assert resolve(model.outputs["p"].value, NothingKnown()) == 1


def test_a_cfn_template_gives_the_same_model() -> None:
    hot = f"{HEAD}resources:\n  a: {{type: T}}\n  b: {{type: T, properties: {{x: {{get_resource: a}}}}, depends_on: a}}"
    cfn = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Resources": {"a": {"Type": "T"}, "b": {"Type": "T", "Properties": {"x": {"Ref": "a"}}, "DependsOn": "a"}},
    }
    one, other = bind(parse_template(hot)).resources["b"], bind(parse_template(cfn)).resources["b"]
    assert (one.type, one.depends_on, references(one.properties)) == (
        other.type,
        other.depends_on,
        references(other.properties),
    )
