"""All that is wrong with a request's templates comes in one answer, each fault in its file and line, and nothing that
only follows from another."""

from typing import Any

import pytest

from calor.server.engine.contract.views import StackRequest
from calor.server.engine.revision.blueprint import draw
from calor.server.engine.revision.nested_checks import check_tree
from calor.server.errors import InvalidInput, Problem
from calor.server.identity import Caller
from calor.server.resources.registry import installed
from calor.server.template import bind, merge_environments, parse_environment, parse_template, told_together

USER = Caller(user_id="u1", project_id="p1", roles=frozenset({"member"}), user_name="user1", token="t1")
HOT = "heat_template_version: 2021-04-16\n"


def found(text: str, files: dict[str, str] | None = None, **given: Any) -> list[str]:
    """``file:line code`` of each fault, sorted."""
    faults, unknown = list[Problem](), list[Problem]()
    with pytest.raises(InvalidInput) as refused, told_together(faults):
        template = parse_template(text, lenient=True)
        model = bind(template, merge_environments([]), given, files=files or {}, faults=faults)
        check_tree(draw(model, installed(), files or {}, unknown), installed(), 5, unknown)
    return sorted(f"{one.file}:{one.line} {one.code}" for one in refused.value.problems)


def test_f107_a_section_that_is_no_map_hides_nothing_of_the_others() -> None:
    text = (
        HOT
        + """parameters: [size]
resources:
  a:
    type: OS::Heat::RandomString
    properties: {length: {get_param: size}, lenght: 3}
  b: {type: OS::Heat::Valeu}
outputs:
  o: {value: {get_attr: [a, valeu]}}
"""
    )
    assert found(text, size="3") == [
        "template:2 template-section",
        "template:6 unknown-property",
        "template:7 unknown-type",
        "template:9 unknown-attribute",
    ]


@pytest.mark.parametrize("section", ["resources: [a]", "resource: {a: {type: OS::Heat::Value}}"])
def test_what_refers_to_resources_that_cannot_be_read_is_not_wrong_for_that(section: str) -> None:
    text = f"{HOT}{section}\nparameters:\n  p: {{type: strin}}\noutputs:\n  o: {{value: {{get_attr: [a, value]}}}}\n"
    assert [one.split()[1] for one in found(text)] in (
        ["template-section", "parameter-type"],
        ["unknown-section", "parameter-type"],
    )


def test_a_wrong_declaration_is_told_once_and_its_value_is_unknown() -> None:
    text = (
        HOT
        + """parameters:
  one: {type: strin}
  two: {type: number, constraints: [{length: {max: 3}}]}
  three: 3
  four: {type: string}
conditions:
  c: {equals: [{get_param: one}, x]}
resources:
  a:
    type: OS::Heat::RandomString
    condition: c
    properties: {length: {get_param: two}, no_such: 1}
  b:
    type: OS::Heat::RandomString
    properties: {length: {get_param: two}, salt: {get_resource: a}, no_such: {get_param: three}}
"""
    )
    assert found(text, two="x", three="y") == [
        "template:16 unknown-property",
        "template:3 parameter-type",
        "template:4 parameter-constraint",
        "template:5 parameter-declaration",
        "template:6 missing-parameter",
    ]


def test_a_wrong_condition_leaves_its_resource_out_and_whoever_refers_to_it_alone() -> None:
    text = (
        HOT
        + """conditions:
  c: {equal: [1, 1]}
  d: {not: c}
resources:
  a: {type: OS::Heat::Valeu, condition: c}
  b: {type: OS::Heat::RandomString, condition: d, properties: {length: x}}
  e: {type: OS::Heat::Value, condition: f}
  g:
    type: OS::Heat::Value
    properties: {valeu: {if: [c, {get_resource: a}, {get_resource: b}]}}
    metadata: {x: {get_resource: e}, y: {get_attr: [a, value]}}
"""
    )
    assert found(text) == ["template:11 unknown-property", "template:3 condition", "template:8 condition"]


def test_a_resource_that_is_wrong_as_a_whole_is_left_out() -> None:
    text = (
        HOT
        + """resources:
  a: text
  b: {properties: {value: 1}}
  c: {type: OS::Heat::RandomString, properties: [1]}
  d: {type: OS::Heat::Value, deletion_policy: Kepe, properties: {valeu: {get_resource: a}}}
  e: {type: OS::Heat::Value, depend_on: b, properties: {value: {get_attr: [b, nothing]}, valeu: 1}}
outputs:
  o: text
  p: {value: {get_attr: [d, valeu]}}
"""
    )
    assert found(text) == [
        "template:10 unknown-attribute",
        "template:3 resource-definition",
        "template:4 resource-definition",
        "template:5 resource-definition",
        "template:6 deletion-policy",
        "template:6 unknown-property",
        "template:7 unknown-key",
        "template:7 unknown-property",
        "template:9 output-definition",
    ]


def test_an_unknown_version_is_read_as_the_newest_and_a_circle_hides_no_type() -> None:
    text = """heat_template_version: 2033-01-01
resources:
  a: {type: OS::Heat::Value, properties: {value: {get_resource: b}}}
  b: {type: OS::Heat::Value, properties: {value: {get_resource: a}, valeu: 1}}
"""
    assert found(text) == [
        "template:1 template-version",
        "template:3 circular-dependency",
        "template:4 unknown-property",
    ]


def test_cloudformations_faults_have_places_too() -> None:
    text = """AWSTemplateFormatVersion: "2010-09-09"
Mappings: [1]
Resources:
  A:
    Type: OS::Heat::RandomString
    Properties: {lenght: {"Fn::FindInMap": [a, b, c]}}
  B: {Type: OS::Heat::Valeu}
Outputs:
  O: {Value: {"Fn::GetAtt": [A, valeu]}}
"""
    assert found(text) == [
        "template:2 template-section",
        "template:6 unknown-property",
        "template:7 unknown-type",
        "template:9 unknown-attribute",
    ]


ROOT = (
    HOT
    + """parameters: [none]
resources:
  first: {type: one.yaml, properties: {n: 3, strange: 1}}
  second: {type: two.yaml, properties: {anything: 1}}
  third: {type: three.yaml}
  group:
    type: OS::Heat::ResourceGroup
    properties: {count: 2, resource_def: {type: OS::Heat::RandomString, properties: {lenght: 3}}}
  own: {type: OS::Heat::RandomString, properties: {lenght: 1}}
"""
)
FILES = {
    "one.yaml": HOT
    + """parameters:
  n: {type: number, constraints: [{range: {max: 2}}]}
  m: {type: nonsense}
resources:
  deeper: {type: deeper.yaml}
  x: {type: OS::Heat::Value, properties: {value: {get_param: k}}}
  y: {type: OS::Heat::Valeu}
""",
    "two.yaml": HOT + "parameters: nothing\nresources:\n  x: {type: OS::Heat::Value, properties: {valeu: 1}}\n",
    "three.yaml": "heat_template_version: 2021-04-16\nresources: {\n",
    "deeper.yaml": HOT + "resources:\n  z: {type: OS::Heat::RandomString, properties: {length: word}}\n",
}
WANTED = [
    "deeper.yaml:3 property-value",
    "one.yaml:4 parameter-type",
    "one.yaml:7 unknown-parameter",
    "one.yaml:8 unknown-type",
    "template:10 unknown-property",
    "template:2 template-section",
    "template:4 parameter-value",
    "template:4 unknown-property",
    "template:9 unknown-property",
    "three.yaml:2 not-yaml",
    "two.yaml:2 template-section",
    "two.yaml:4 unknown-property",
]


def test_f107_the_faults_of_the_root_and_of_all_nested_files_are_in_one_answer() -> None:
    assert found(ROOT, FILES) == WANTED


async def test_f107_a_large_template_that_passes_a_worker_first_has_the_same_faults(world: Any) -> None:
    answers = []
    for threshold in (1, 10_000_000):
        world.settings["worker_threshold"] = threshold
        engine = await world.engine()
        await engine.orchestrator.start()
        for ask in (engine.stacks.create, engine.orchestrator.plans.plan, engine.stacks.preview):
            with pytest.raises(InvalidInput) as refused:
                await ask(USER, StackRequest(name="s", template=ROOT, files=FILES))
            answers.append(sorted(f"{one.file}:{one.line} {one.code}" for one in refused.value.problems))
        await engine.orchestrator.stop()
        await engine.database.close()
    assert answers == [WANTED] * 6


async def test_faults_of_the_environment_and_of_the_template_come_together(engine: Any) -> None:
    environment = {"resource_registry": {"A::B": 3}, "parameters": None}
    with pytest.raises(InvalidInput) as refused:
        await engine.create("s", HOT + "resources: [1]\n", environment=environment)
    assert sorted(one.code for one in refused.value.problems) == [
        "environment-section",
        "resource-registry",
        "template-section",
    ]
    assert parse_environment({}).raw()


NESTED = (
    HOT
    + """parameters: {p: {type: string}}
conditions: {long: {equals: [{get_param: p}, x]}}
resources:
  maybe: {type: OS::Heat::RandomString, condition: long}
  sure: {type: OS::Heat::Value, properties: {value: {if: [long, {get_resource: maybe}, short]}}}
"""
)
OUTER = (
    HOT
    + """resources:
  r: {type: OS::Heat::TestResource, properties: {value: VALUE}}
  n: {type: nested.yaml, properties: {p: {get_attr: [r, output]}}}
"""
)


async def test_a_condition_of_a_nested_template_may_depend_on_what_is_there_only_later(engine: Any) -> None:
    files = {"nested.yaml": NESTED}
    plan = await engine.orchestrator.plans.plan(USER, StackRequest(name="s", template=OUTER, files=files))
    shown = {"/".join(step.path): step for step in plan.steps}
    assert shown["n/maybe"].action.value == "create"
    assert shown["n/maybe"].reasons == ("its condition is known after create: it may not be made",)
    assert shown["n/sure"].changes[0].new == "(known after create)"
    stack = await engine.create("s", OUTER.replace("VALUE", "x"), files=files)
    await engine.reached(stack, "CREATE_COMPLETE")
    assert {"maybe", "sure"} <= (await engine.resources(stack, depth=2)).keys()
    plan = await engine.orchestrator.plans.plan(
        USER, StackRequest(name="s", template=OUTER.replace("VALUE", "y"), files=files)
    )
    shown = {"/".join(step.path): step for step in plan.steps}
    assert shown["n/maybe"].reasons == ("its condition is known after create: it may be deleted",)
    await engine.update(stack, OUTER.replace("VALUE", "y"), files=files)
    await engine.reached(stack, "UPDATE_COMPLETE")
    assert "maybe" not in await engine.resources(stack, depth=2)


async def test_an_environment_with_faults_hides_neither_unknown_parameters_nor_those_of_the_template(
    engine: Any,
) -> None:
    files = {
        "env.yaml": """parameter: {x: 1}
parameters: {nope: 3}
resource_registry: {resources: {d: {hooks: pre-creat}}}
"""
    }
    request = StackRequest(
        name="s",
        template=HOT + "resources: {d: {type: OS::Heat::Valeu}}\n",
        files=files,
        environment_files=["env.yaml"],
    )
    with pytest.raises(InvalidInput) as refused:
        await engine.orchestrator.stacks.create(USER, request)
    assert sorted(one.code for one in refused.value.problems) == [
        "resource-registry",
        "unknown-parameter",
        "unknown-section",
        "unknown-type",
    ]
