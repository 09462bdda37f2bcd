"""Heat's previews and validate: nested stacks stand where Heat shows them, nothing is stored."""

import json
from typing import Any

from engine_world import USER

from calor.server.engine.contract.views import StackRequest

MEMBER = """
heat_template_version: 2021-04-16
description: a member
parameters:
  text: {type: string}
  size: {type: number, default: 3}
resources:
  inner: {type: "OS::Heat::TestResource", properties: {value: {get_param: text}}}
"""


def hot(resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"heat_template_version": "2021-04-16", "resources": resources, **more}


def request(template: dict[str, Any], **more: Any) -> StackRequest:
    return StackRequest(name="p", template=template, files={"member.yaml": MEMBER}, **more)


GROUP = {
    "type": "OS::Heat::ResourceGroup",
    "properties": {
        "count": 2,
        "resource_def": {"type": "member.yaml", "properties": {"text": {"get_resource": "a"}}},
    },
}
GROUP_OF_ONE = {
    "type": "OS::Heat::ResourceGroup",
    "properties": {"count": 1, "resource_def": {"type": "OS::Heat::TestResource"}},
}
BOTH = {
    "a": {"type": "OS::Heat::TestResource", "properties": {"value": "x"}},
    "m": {"type": "member.yaml", "properties": {"text": "hello"}},
    "g": GROUP,
}


async def test_a_preview_has_the_resources_of_nested_stacks_as_lists(engine: Any) -> None:
    found = await engine.stacks.preview(USER, request(hot(BOTH)))
    a, member, group = found["resources"]
    assert (found["id"], found["parameters"]["OS::stack_id"]) == ("None", "None")
    assert (a["resource_name"], a["physical_resource_id"], a["properties"]["wait_secs"]) == ("a", "", 0)
    (inner,) = member
    assert (inner["resource_name"], inner["parent_resource"], inner["stack_name"]) == ("inner", "m", "p-m")
    assert inner["properties"]["value"] == "hello"
    names = [[one["resource_name"] for one in members] for members in group]
    assert names == [["inner"], ["inner"]], "what is known after create only keeps no member from being shown"


async def test_an_updates_preview_reaches_into_nested_stacks_when_asked(engine: Any) -> None:
    template = hot({"m": BOTH["m"], "gone": {"type": "OS::Heat::None"}})
    stack = await engine.create("p", template, files={"member.yaml": MEMBER})
    await engine.reached(stack, "CREATE_COMPLETE")
    changed = hot({"m": {"type": "member.yaml", "properties": {"text": "other"}}, "new": {"type": "OS::Heat::None"}})

    async def groups(*, nested: bool) -> dict[str, list[tuple[str, str]]]:
        found = await engine.stacks.preview_update(USER, stack.name, stack.id, request(changed), show_nested=nested)
        return {name: [(one["stack_name"], one["resource_name"]) for one in found[name]] for name in found}

    flat = await groups(nested=False)
    assert flat == {
        "added": [("p", "new")],
        "deleted": [("p", "gone")],
        "replaced": [],
        "unchanged": [],
        "updated": [("p", "m")],
    }
    deep = await groups(nested=True)
    child = (await engine.resources(stack, depth=1))["inner"].stack.name
    assert deep == {**flat, "updated": [("p", "m"), (child, "inner")]}


async def test_validate_tells_the_parameters_of_nested_stacks(engine: Any) -> None:
    found = await engine.stacks.validate(USER, request(hot({"m": BOTH["m"]})), show_nested=True)
    nested = found["NestedParameters"]["m"]
    assert (nested["Type"], nested["Description"]) == ("member.yaml", "a member")
    assert (nested["Parameters"]["text"]["Value"], nested["Parameters"]["size"]["Default"]) == ("hello", 3)
    assert found["Environment"]["resource_registry"]["member.yaml"] == "member.yaml"
    assert "NestedParameters" not in await engine.stacks.validate(USER, request(hot(BOTH)), show_nested=False)


async def test_an_output_of_a_member_that_there_is_not_is_an_error_of_that_output_alone(engine: Any) -> None:
    member = {"type": "OS::Heat::TestResource", "properties": {"value": "m-%index%"}}
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 2, "resource_def": member}}
    outputs = {
        "first": {"value": {"get_attr": ["g", "resource.0.output"]}},
        "seventh": {"value": {"get_attr": ["g", "resource.7.output"]}},
    }
    stack = await engine.create("o", hot({"g": group}, outputs=outputs))
    view = await engine.reached(stack, "CREATE_COMPLETE")
    first, seventh = view.outputs
    assert (first.value, first.error, seventh.value) == ("m-0", None, None)
    assert "no member '7'" in seventh.error


async def test_an_error_of_a_nested_stacks_output_is_that_of_who_asks_for_it(engine: Any) -> None:
    """As in Heat (heat-tempest-plugin, test_output_error_nested)."""
    inner = hot({"g": GROUP_OF_ONE}, outputs={"bad": {"value": {"get_attr": ["g", "resource.7.output"]}}})
    outer = hot({"m": {"type": "inner.yaml"}}, outputs={"told": {"value": {"get_attr": ["m", "bad"]}}})
    stack = await engine.create("e", outer, files={"inner.yaml": json.dumps(inner)})
    (told,) = (await engine.reached(stack, "CREATE_COMPLETE")).outputs
    assert told.value is None
    assert "output bad" in told.error and "no member '7'" in told.error
