"""Child stacks: template resources, groups, and their place in the tree."""

import json
from dataclasses import replace
from typing import Any

import pytest
from engine_world import USER

from calor.server.errors import EntityNotFound, InvalidInput, RequestLimitExceeded

MEMBER = """
heat_template_version: 2021-04-16
parameters:
  text: {type: string}
  secret: {type: string, hidden: true, default: none}
resources:
  inner: {type: "OS::Heat::TestResource", properties: {value: {get_param: text}}}
outputs:
  said: {value: {get_attr: [inner, output]}}
"""


def hot(resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"heat_template_version": "2021-04-16", "resources": resources, **more}


async def test_a_template_resource_has_its_outputs_as_attributes(engine: Any) -> None:
    template = hot(
        {"m": {"type": "member.yaml", "properties": {"text": "hello"}}},
        outputs={"o": {"value": {"get_attr": ["m", "said"]}}, "id": {"value": {"get_resource": "m"}}},
    )
    stack = await engine.create("n1", template, files={"member.yaml": MEMBER})
    view = await engine.reached(stack, "CREATE_COMPLETE")
    outputs = {o.name: o.value for o in view.outputs}
    assert outputs["o"] == "hello"
    nested = await engine.resources(stack, depth=2)
    assert nested["inner"].parent_resource == "m"
    assert nested["m"].nested_id == outputs["id"] == nested["m"].physical_id
    assert nested["m"].nested_name == nested["inner"].stack.name  # what the link says that clients follow


async def test_a_changed_file_updates_the_child_only(engine: Any) -> None:
    template = hot({"m": {"type": "member.yaml", "properties": {"text": "hello"}}, "v": {"type": "OS::Heat::None"}})
    stack = await engine.create("n2", template, files={"member.yaml": MEMBER})
    await engine.reached(stack, "CREATE_COMPLETE")
    await engine.update(stack, template, files={"member.yaml": MEMBER})
    await engine.reached(stack, "UPDATE_COMPLETE")
    assert (await engine.resources(stack))["m"].action.value == "CREATE"
    changed = MEMBER.replace("{get_param: text}", "other")
    await engine.update(stack, template, files={"member.yaml": changed})
    await engine.reached(stack, "UPDATE_COMPLETE")
    after = await engine.resources(stack, depth=1)
    assert after["m"].action.value == "UPDATE"
    assert after["inner"].properties["value"] == "other"


async def test_a_group_grows_and_shrinks(engine: Any) -> None:
    def group(count: int) -> dict[str, Any]:
        return hot(
            {
                "rg": {
                    "type": "OS::Heat::ResourceGroup",
                    "properties": {
                        "count": count,
                        "resource_def": {"type": "OS::Heat::TestResource", "properties": {"value": "m%index%"}},
                    },
                }
            },
            outputs={"all": {"value": {"get_attr": ["rg", "output"]}}},
        )

    stack = await engine.create("g1", group(2))
    view = await engine.reached(stack, "CREATE_COMPLETE")
    assert view.outputs[0].value == ["m0", "m1"]
    first = await engine.resources(stack, depth=1)
    await engine.update(stack, group(3))
    view = await engine.reached(stack, "UPDATE_COMPLETE")
    assert view.outputs[0].value == ["m0", "m1", "m2"]
    assert (await engine.resources(stack, depth=1))["0"].physical_id == first["0"].physical_id
    await engine.update(stack, group(1))
    view = await engine.reached(stack, "UPDATE_COMPLETE")
    assert view.outputs[0].value == ["m0"]
    await engine.delete(stack)
    await engine.reached(stack, "DELETE_COMPLETE")
    assert await engine.resources(stack, depth=5) == {}


async def test_f125_one_failed_member_is_replaced_alone(engine: Any) -> None:
    def group(bad: bool) -> dict[str, Any]:
        members = {
            f"m{n}": {"type": "OS::Heat::TestResource", "properties": {"value": str(n), "fail": bad and n == 3}}
            for n in range(10)
        }
        return hot({"s": {"type": "OS::Heat::Stack", "properties": {"template": json.dumps(hot(members))}}})

    stack = await engine.create("f125", group(True))
    await engine.reached(stack, "CREATE_FAILED")
    before = await engine.resources(stack, depth=1)
    await engine.update(stack, group(False))
    await engine.reached(stack, "UPDATE_COMPLETE")
    after = await engine.resources(stack, depth=1)
    same = [name for name, view in after.items() if view.physical_id == before[name].physical_id]
    assert sorted(set(after) - set(same)) == ["m3"]


async def test_a_child_failure_shows_the_deepest_cause(engine: Any) -> None:
    bad = MEMBER.replace("{get_param: text}", "x, fail: true")
    stack = await engine.create(
        "n3", hot({"m": {"type": "m.yaml", "properties": {"text": "t"}}}), files={"m.yaml": bad}
    )
    view = await engine.reached(stack, "CREATE_FAILED")
    assert view.status_reason == (
        "Resource CREATE failed: ResourceInError: resources.m.resources.inner: Test Resource failed inner"
    )


async def test_a_group_whose_check_failed_is_not_made_anew(engine: Any) -> None:
    """Nor one whose check was cancelled: what is unwell inside is replaced, the rest stays."""
    member = {"type": "OS::Heat::TestResource", "properties": {"value": "x"}}
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 2, "resource_def": member}}
    stack = await engine.create("c1", hot({"g": group}))
    await engine.reached(stack, "CREATE_COMPLETE")
    before = await engine.resources(stack, depth=1)
    await engine.orchestrator.resources.mark_unhealthy(
        USER, stack.name, stack.id, "g", unhealthy=True, reason="its check was cancelled"
    )
    await engine.update(stack, hot({"g": group}))
    await engine.reached(stack, "UPDATE_COMPLETE")
    after = await engine.resources(stack, depth=1)
    assert {name: one.physical_id for name, one in after.items()} == {n: one.physical_id for n, one in before.items()}


async def test_f016_a_failed_sibling_cancels_nested_work(engine: Any) -> None:
    slow = MEMBER.replace("{get_param: text}", "x, action_wait_secs: {create: 600}")
    bad = {"type": "OS::Heat::TestResource", "properties": {"fail": True, "wait_secs": 0.2}}
    template = hot({"m": {"type": "m.yaml", "properties": {"text": "t"}}, "bad": bad})
    stack = await engine.create("f016", template, files={"m.yaml": slow})
    await engine.reached(stack, "CREATE_FAILED", 10)
    states = {view.status.value for view in (await engine.resources(stack, depth=2)).values()}
    assert states == {"FAILED"}
    await engine.update(stack, hot({"ok": {"type": "OS::Heat::None"}}))
    await engine.reached(stack, "UPDATE_COMPLETE")


async def test_f023_nested_waits_hold_no_slot(engine: Any) -> None:
    deepest = MEMBER
    files = {"l5.yaml": deepest}
    for level in range(4, 0, -1):
        files[f"l{level}.yaml"] = MEMBER.replace(
            'inner: {type: "OS::Heat::TestResource", properties: {value: {get_param: text}}}',
            f"inner: {{type: l{level + 1}.yaml, properties: {{text: {{get_param: text}}}}}}",
        ).replace("inner, output", "inner, said")
    children = {f"c{n}": {"type": "l1.yaml", "properties": {"text": f"deep{n}"}} for n in range(20)}
    template = hot(children, outputs={"o": {"value": {"get_attr": ["c7", "said"]}}})
    stack = await engine.create("f023", template, files=files)
    view = await engine.reached(stack, "CREATE_COMPLETE", 60)
    assert view.outputs[0].value == "deep7"


async def test_faults_of_nested_templates_are_found_before_anything_is_stored(engine: Any) -> None:
    template = hot({"m": {"type": "m.yaml", "properties": {"text": "t"}}})
    with pytest.raises(InvalidInput, match=r"m\.yaml:7:.*OS::Heat::TestResorce"):
        await engine.create("bad", template, files={"m.yaml": MEMBER.replace("TestResource", "TestResorce")})
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"resource_def": {"type": "No::Such"}}}
    with pytest.raises(InvalidInput, match="No::Such"):
        await engine.create("bad", hot({"g": group}))
    loop = MEMBER.replace(
        'inner: {type: "OS::Heat::TestResource", properties: {value: {get_param: text}}}',
        "inner: {type: m.yaml, properties: {text: {get_param: text}}}",
    )
    with pytest.raises(RequestLimitExceeded, match="max_nested_stack_depth"):
        await engine.create("bad", template, files={"m.yaml": loop})


async def test_a_nested_stack_is_found_by_its_name_too(engine: Any) -> None:
    template = hot({"m": {"type": "member.yaml", "properties": {"text": "hello"}}})
    stack = await engine.create("n9", template, files={"member.yaml": MEMBER})
    await engine.reached(stack, "CREATE_COMPLETE")
    member = (await engine.resources(stack))["m"]
    found = await engine.stacks.identify(USER, member.nested_name)
    assert (found.name, found.id) == (member.nested_name, member.physical_id)
    with pytest.raises(EntityNotFound):
        await engine.stacks.identify(replace(USER, project_id="p2"), member.nested_name)
    root = await engine.create(member.nested_name, hot({}))  # a nested one takes no name from a root, nor hides it
    assert (await engine.stacks.identify(USER, member.nested_name)).id == root.id


async def test_a_deleted_nested_stack_is_not_found_by_its_name(engine: Any) -> None:
    stack = await engine.create(
        "n10", hot({"m": {"type": "member.yaml"}}), files={"member.yaml": "heat_template_version: 2021-04-16"}
    )
    await engine.reached(stack, "CREATE_COMPLETE")
    name = (await engine.resources(stack))["m"].nested_name
    assert (await engine.stacks.identify(USER, name)).name == name
    await engine.update(stack, hot({}))
    await engine.reached(stack, "UPDATE_COMPLETE")
    with pytest.raises(EntityNotFound):
        await engine.stacks.identify(USER, name)
