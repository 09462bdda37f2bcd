"""Plans: what an update would do, property by property, nested members included; and updates bound to one."""

import json
from typing import Any

import pytest

from calor.server.engine.contract.plan_views import PlannedStep, PlanView
from calor.server.engine.contract.views import StackQuery, StackRequest
from calor.server.errors import EntityNotFound, PlanOutdated, StackExists
from calor.server.identity import Caller
from calor.server.resources.heat.stand_in import TestResource

USER = Caller(user_id="u1", project_id="p1", roles=frozenset({"member"}), user_name="user1", token="t1")


class Precious(TestResource):
    """Holds what users put there."""

    name = "Test::Precious"
    holds_data = True

    def overwrites(self, was: Any, want: Any, changed: frozenset[str]) -> str | None:
        return "all is written over" if "action_wait_secs" in changed else None


def hot(**resources: Any) -> dict[str, Any]:
    return {"heat_template_version": "2021-04-16", "resources": resources}


def text(length: Any, **more: Any) -> dict[str, Any]:
    return {"type": "OS::Heat::RandomString", "properties": {"length": length}, **more}


def thing(value: Any, of: str = "OS::Heat::TestResource", **more: Any) -> dict[str, Any]:
    return {"type": of, "properties": {"value": value}, **more}


def group(count: int, length: int) -> dict[str, Any]:
    return {"type": "OS::Heat::ResourceGroup", "properties": {"count": count, "resource_def": text(length)}}


async def planned(engine: Any, template: Any, name: str = "s", **more: Any) -> PlanView:
    return await engine.orchestrator.plans.plan(USER, StackRequest(name=name, template=template, **more))  # type: ignore[no-any-return]


def steps(view: PlanView) -> dict[str, str]:
    return {"/".join(step.path): step.action.value for step in view.steps}


def step(view: PlanView, path: str) -> PlannedStep:
    return next(one for one in view.steps if "/".join(one.path) == path)


async def test_a_creation_is_planned_with_what_is_known_after_create(engine: Any) -> None:
    reader = thing({"get_attr": ["a", "value"]})
    view = await planned(engine, hot(a=text(8), b=reader, g=group(2, 5)))
    assert steps(view) == {"a": "create", "b": "create", "g": "create", "g/0": "create", "g/1": "create"}
    assert {one.name: one.new for one in step(view, "b").changes}["value"] == "(known after create)"
    assert view.stack is None
    assert await engine.stacks.list(USER, StackQuery()) == (
        [],
        0,
    )


async def test_an_update_names_the_property_that_forces_a_replacement_and_those_who_refer_to_it(engine: Any) -> None:
    reader = thing({"get_attr": ["a", "value"]})
    stack = await engine.create("s", hot(a=text(8), b=reader, c=thing("same"), d=thing("old")))
    await engine.reached(stack, "CREATE_COMPLETE")
    view = await planned(engine, hot(a=text(9), b=reader, c=thing("same"), e=thing("new")))
    assert steps(view) == {"a": "replace", "b": "update", "c": "none", "e": "create", "d": "delete"}
    forced = step(view, "a")
    assert forced.reasons == ("the property 'length' cannot be updated in place",)
    assert [(one.name, one.old, one.new, one.forces_replacement) for one in forced.changes] == [("length", 8, 9, True)]
    assert step(view, "b").changes[0].new == "(known after create)"
    assert step(view, "d").reasons == ("no longer in the template",)
    await engine.update(stack, hot(a=text(9), b=reader, c=thing("same"), e=thing("new")))
    await engine.reached(stack, "UPDATE_COMPLETE")
    again = await planned(engine, hot(a=text(9), b=reader, c=thing("same"), e=thing("new")))
    assert set(steps(again).values()) == {"none"}


async def test_f120_members_of_groups_and_nested_templates_are_looked_into(engine: Any) -> None:
    nested = json.dumps({**hot(t=text({"get_param": "n"})), "parameters": {"n": {"type": "number"}}})
    files = {"nested.yaml": nested}

    def template(count: int, length: int) -> dict[str, Any]:
        return hot(g=group(count, length), n={"type": "nested.yaml", "properties": {"n": length}})

    stack = await engine.create("s", template(2, 8), files=files)
    await engine.reached(stack, "CREATE_COMPLETE")
    view = await planned(engine, template(3, 9), files=files)
    assert steps(view) == {
        "g": "update",
        "g/0": "replace",
        "g/1": "replace",
        "g/2": "create",
        "n": "update",
        "n/t": "replace",
    }
    fewer = await planned(engine, template(1, 8), files=files)
    assert steps(fewer) == {"g": "update", "g/0": "none", "g/1": "delete", "n": "none", "n/t": "none"}
    gone = await planned(engine, hot())
    assert set(steps(gone).values()) == {"delete"}
    assert len(steps(gone)) == 5


async def test_what_destroys_data_is_counted_and_retained_is_not(world: Any) -> None:
    world.types.append(Precious)
    engine = await world.engine()
    await engine.orchestrator.start()
    kept = thing("k", of="Test::Precious", deletion_policy="Retain")
    stack = await engine.create("s", hot(a=thing("a", of="Test::Precious"), k=kept, b=thing("b")))
    await engine.reached(stack, "CREATE_COMPLETE")
    view = await planned(engine, hot())
    assert view.counts["destroys_data"] == 1
    assert step(view, "a").destroys_data
    assert (step(view, "k").destroys_data, step(view, "k").retain) == (False, True)
    spared = await planned(engine, hot(a=thing("b", of="Test::Precious"), k=kept, b=thing("b")))
    assert (step(spared, "a").action.value, spared.counts["destroys_data"]) == ("update", 0)
    over = thing("a", of="Test::Precious")
    over["properties"]["action_wait_secs"] = {"update": 1}
    view = await planned(engine, hot(a=over, k=kept, b=thing("b")))
    assert (step(view, "a").action.value, view.counts["destroys_data"]) == ("update", 1)
    assert step(view, "a").reasons[-1] == "all is written over"
    await engine.orchestrator.stop()
    await engine.database.close()


async def test_secrets_are_masked_and_a_change_of_one_is_seen(engine: Any) -> None:
    template = hot(a=thing({"get_param": "p"})) | {"parameters": {"p": {"type": "string", "hidden": True}}}
    stack = await engine.create("s", template, parameters={"p": "first-secret"})
    await engine.reached(stack, "CREATE_COMPLETE")
    view = await planned(engine, template, parameters={"p": "second-secret"})
    (change,) = step(view, "a").changes
    assert (change.old, change.new) == ("******", "******")
    assert "secret" not in repr(view)


async def test_secrets_are_masked_in_nested_members_and_inside_of_maps(engine: Any) -> None:
    inner = hot(t=thing({"list_join": ["-", ["x", {"get_param": "p"}]]}))
    inner["parameters"] = {"p": {"type": "string", "hidden": True}}
    value = {"type": "OS::Heat::Value", "properties": {"value": {"in": ["a", {"get_param": "p"}]}}}
    nested = {"type": "inner.yaml", "properties": {"p": {"get_param": "p"}}}
    template = hot(n=nested, v=value) | {"parameters": {"p": {"type": "string", "hidden": True}}}
    more: dict[str, Any] = {"files": {"inner.yaml": json.dumps(inner)}}
    made = await planned(engine, template, **more, parameters={"p": "first-secret"})
    assert {one.name: one.new for one in step(made, "v").changes}["value"] == {"in": ["a", "******"]}
    stack = await engine.create("s", template, **more, parameters={"p": "first-secret"})
    await engine.reached(stack, "CREATE_COMPLETE")
    view = await planned(engine, template, **more, parameters={"p": "second-secret"})
    assert steps(view) == {"n": "update", "n/t": "update", "v": "update"}
    for one in view.steps:
        assert [change.new for change in one.changes] != []
    assert "secret" not in repr(made) + repr(view)


async def test_what_a_nested_stack_will_answer_is_known_after_create_and_so_are_parts_of_maps(engine: Any) -> None:
    inner = hot(t=text({"get_param": "n"})) | {"parameters": {"n": {"type": "number"}}}
    inner["outputs"] = {"o": {"value": {"get_attr": ["t", "value"]}}}
    files = {"inner.yaml": json.dumps(inner)}

    def template(length: int) -> dict[str, Any]:
        value = {"fixed": length, "later": [{"get_attr": ["n", "o"]}]}
        reader = {"type": "OS::Heat::Value", "properties": {"value": value}}
        return hot(n={"type": "inner.yaml", "properties": {"n": length}}, v=reader)

    made = await planned(engine, template(8), files=files)
    assert {one.name: one.new for one in step(made, "v").changes}["value"] == {
        "fixed": 8,
        "later": ["(known after create)"],
    }
    stack = await engine.create("s", template(8), files=files)
    await engine.reached(stack, "CREATE_COMPLETE")
    same = await planned(engine, template(8), files=files)
    assert set(steps(same).values()) == {"none"}
    view = await planned(engine, template(9), files=files)
    assert steps(view) == {"n": "update", "n/t": "replace", "v": "update"}
    (change,) = step(view, "v").changes
    assert change.old["fixed"] == 8
    assert change.new == {"fixed": 9, "later": ["(known after create)"]}


async def test_restricted_and_failed_resources_say_so(engine: Any) -> None:
    bad = {"type": "OS::Heat::TestResource", "properties": {"fail": True}}
    stack = await engine.create("s", hot(a=text(8), bad=bad))
    await engine.reached(stack, "CREATE_FAILED")
    restricted = {"resource_registry": {"resources": {"a": {"restricted_actions": "replace"}}}}
    view = await planned(engine, hot(a=text(9), bad=thing("good")), environment=restricted)
    assert "forbids to replace" in step(view, "a").refused
    assert view.counts["refused"] == 1
    assert step(view, "bad").reasons == ("its creation did not end well",)


async def test_an_update_bound_to_a_plan_is_refused_once_anything_changed(engine: Any) -> None:
    stack = await engine.create("s", hot(a=thing("1")))
    await engine.reached(stack, "CREATE_COMPLETE")
    wanted = hot(a=thing("2"))
    plan = (await planned(engine, wanted)).id
    assert (await planned(engine, wanted)).id == plan
    with pytest.raises(PlanOutdated):
        await engine.update(stack, hot(a=thing("3")), plan=plan)
    with pytest.raises(PlanOutdated):
        await engine.update(stack, wanted, parameters={}, files={"f": "x"}, plan=plan)
    with pytest.raises(EntityNotFound, match="There is no plan 'nonsense'"):
        await engine.update(stack, wanted, plan="nonsense")
    assert await engine.state(stack) == "CREATE_COMPLETE"
    await engine.update(stack, wanted, plan=plan)
    await engine.reached(stack, "UPDATE_COMPLETE")
    with pytest.raises(PlanOutdated):
        await engine.update(stack, wanted, plan=plan)


async def test_a_creation_bound_to_a_plan_is_refused_once_the_name_or_the_request_is_another(engine: Any) -> None:
    wanted, secret = hot(a=thing({"get_param": "p"})), {"p": "a-secret"}
    wanted["parameters"] = {"p": {"type": "string", "hidden": True}}
    plan = (await planned(engine, wanted, parameters=secret)).id
    assert (await planned(engine, wanted, parameters=secret)).id == plan
    assert (await planned(engine, wanted, name="t", parameters=secret)).id != plan
    for other in ({"p": "another-secret"}, {}):
        with pytest.raises(PlanOutdated):
            await engine.create("s", {**wanted, "parameters": {"p": {"default": "x", "type": "string"}}}, plan=plan)
        with pytest.raises(PlanOutdated):
            await engine.create("s", wanted, parameters=other, plan=plan)
    with pytest.raises(PlanOutdated):
        await engine.create("t", wanted, parameters=secret, plan=plan)
    with pytest.raises(EntityNotFound, match="There is no plan 'nonsense'"):
        await engine.create("s", wanted, parameters=secret, plan="nonsense")
    stack = await engine.create("s", wanted, parameters=secret, plan=plan)
    await engine.reached(stack, "CREATE_COMPLETE")
    with pytest.raises(StackExists):
        await engine.create("s", wanted, parameters=secret, plan=plan)
    with pytest.raises(PlanOutdated):  # what was planned was a creation
        await engine.update(stack, wanted, parameters=secret, plan=plan)


async def test_a_mark_on_a_resource_makes_a_plan_old(engine: Any) -> None:
    stack = await engine.create("s", hot(a=thing("1")))
    await engine.reached(stack, "CREATE_COMPLETE")
    plan = (await planned(engine, hot(a=thing("2")))).id
    resources = engine.orchestrator.resources
    await resources.mark_unhealthy(USER, stack.name, stack.id, "a", unhealthy=True, reason="broken")
    with pytest.raises(PlanOutdated):
        await engine.update(stack, hot(a=thing("2")), plan=plan)
    view = await planned(engine, hot(a=thing("1")))
    assert (step(view, "a").action.value, step(view, "a").reasons) == (
        "replace",
        ("it is marked unhealthy, or its check failed",),
    )
