"""A stack's life: create, update, delete, with the states and events that clients know."""

from typing import Any

import pytest

from calor.server.errors import EntityNotFound, InvalidInput, StackExists


def hot(resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"heat_template_version": "2021-04-16", "resources": resources, **more}


def value(text: Any, **more: Any) -> dict[str, Any]:
    return {"type": "OS::Heat::TestResource", "properties": {"value": text}, **more}


async def test_create_reaches_complete_with_outputs(engine: Any) -> None:
    template = hot(
        {"a": value("x"), "b": {"type": "OS::Heat::Value", "properties": {"value": {"get_attr": ["a", "output"]}}}},
        outputs={"o": {"value": {"get_attr": ["b", "value"]}}},
    )
    stack = await engine.create("s1", template)
    assert await engine.state(stack) == "CREATE_IN_PROGRESS"
    view = await engine.reached(stack, "CREATE_COMPLETE")
    assert view.status_reason == "Stack CREATE completed successfully"
    assert [(o.name, o.value) for o in view.outputs] == [("o", "x")]
    assert await engine.events(stack) == [
        "s1 CREATE_IN_PROGRESS",
        "a CREATE_IN_PROGRESS",
        "a CREATE_COMPLETE",
        "b CREATE_IN_PROGRESS",
        "b CREATE_COMPLETE",
        "s1 CREATE_COMPLETE",
    ]
    assert (await engine.resources(stack))["a"].required_by == ["b"]


async def test_update_in_place_adds_and_removes(engine: Any) -> None:
    stack = await engine.create("u1", hot({"a": value("one"), "b": value("b")}))
    await engine.reached(stack, "CREATE_COMPLETE")
    before = await engine.resources(stack)
    await engine.update(stack, hot({"a": value("new"), "c": value("c", depends_on="a")}))
    await engine.reached(stack, "UPDATE_COMPLETE")
    after = await engine.resources(stack)
    assert {name: f"{v.action.value}_{v.status.value}" for name, v in after.items()} == {
        "a": "UPDATE_COMPLETE",
        "c": "CREATE_COMPLETE",
    }
    assert after["a"].physical_id == before["a"].physical_id


async def test_delete_hides_the_name_and_keeps_the_id(engine: Any) -> None:
    stack = await engine.create("d1", hot({"a": value("x"), "b": value("y", depends_on="a")}))
    await engine.reached(stack, "CREATE_COMPLETE")
    await engine.delete(stack)
    await engine.reached(stack, "DELETE_COMPLETE")
    assert await engine.resources(stack) == {}
    with pytest.raises(EntityNotFound):
        await engine.delete(stack)
    again = await engine.create("d1", hot({}))
    await engine.reached(again, "CREATE_COMPLETE")


async def test_a_taken_name_is_refused(engine: Any) -> None:
    await engine.create("twice", hot({}))
    with pytest.raises(StackExists):
        await engine.create("twice", hot({}))


async def test_failure_shows_the_class_and_the_place(engine: Any) -> None:
    bad = {"type": "OS::Heat::TestResource", "properties": {"fail": True}, "depends_on": "ok"}
    stack = await engine.create("f1", hot({"ok": value("x"), "bad": bad}))
    view = await engine.reached(stack, "CREATE_FAILED")
    assert view.status_reason == ("Resource CREATE failed: ResourceInError: resources.bad: Test Resource failed bad")
    await engine.update(stack, hot({"ok": value("x"), "bad": value("y")}))
    await engine.reached(stack, "UPDATE_COMPLETE")
    states = {name: v.action.value for name, v in (await engine.resources(stack)).items()}
    assert states == {"ok": "CREATE", "bad": "CREATE"}


async def test_failed_create_is_rolled_back_when_asked(engine: Any) -> None:
    bad = {"type": "OS::Heat::TestResource", "properties": {"fail": True}, "depends_on": "ok"}
    stack = await engine.create("f2", hot({"ok": value("x"), "bad": bad}), disable_rollback=False)
    view = await engine.reached(stack, "ROLLBACK_COMPLETE")
    cause = "Resource CREATE failed: ResourceInError: resources.bad: Test Resource failed bad"
    assert view.status_reason == f"Stack ROLLBACK completed successfully ({cause})"
    assert view.outputs == []
    assert await engine.resources(stack) == {}


async def test_failed_update_is_rolled_back_to_the_former_revision(engine: Any) -> None:
    good = hot({"a": value("one")}, outputs={"o": {"value": {"get_attr": ["a", "output"]}}})
    stack = await engine.create("f3", good, disable_rollback=False)
    await engine.reached(stack, "CREATE_COMPLETE")
    bad = {"type": "OS::Heat::TestResource", "properties": {"fail": True}, "depends_on": "a"}
    await engine.update(stack, hot({"a": value("two"), "bad": bad}, outputs=good["outputs"]))
    view = await engine.reached(stack, "ROLLBACK_COMPLETE")
    assert view.outputs[0].value == "one"
    assert list(await engine.resources(stack)) == ["a"]


async def test_unknown_type_is_refused_before_anything_is_stored(engine: Any) -> None:
    with pytest.raises(InvalidInput, match=r"No::Such"):
        await engine.create("bad", hot({"a": {"type": "No::Such"}}))
    stack = await engine.create("bad", hot({}))
    await engine.reached(stack, "CREATE_COMPLETE")
