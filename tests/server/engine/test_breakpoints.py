"""Breakpoints: hooks of the resource registry, at which a resource waits for its user."""

import asyncio
import gc
from datetime import timedelta
from typing import Any

import pytest

from calor.server.engine.contract.views import EventQuery, StackIdentity
from calor.server.errors import EntityNotFound, InvalidBreakPointHook
from calor.server.identity import Caller

USER = Caller(user_id="u1", project_id="p1", roles=frozenset({"member"}), user_name="user1", token="t1")


def template(value: str = "x", **more: Any) -> dict[str, Any]:
    first = {"type": "OS::Heat::TestResource", "properties": {"value": value}}
    second = {"type": "OS::Heat::TestResource", "properties": {"value": "y"}, "depends_on": "a"}
    return {"heat_template_version": "2021-04-16", "resources": {"a": first, "b": second, **more}}


def hooks(*names: str, of: str = "a") -> dict[str, Any]:
    return {"resource_registry": {"resources": {of: {"hooks": list(names)}}}}


async def reasons(engine: Any, stack: StackIdentity, resource: str = "a") -> list[tuple[str, str]]:
    rows = await engine.orchestrator.events.list(USER, stack.name, stack.id, None, EventQuery(sort_dir="asc"))
    return [
        (f"{row.action.value}_{row.status.value}", row.status_reason) for row in rows if row.resource_name == resource
    ]


async def paused(engine: Any, stack: StackIdentity, hook: str, resource: str = "a", times: int = 1) -> None:
    async def is_told() -> bool:
        texts = [text for _, text in await reasons(engine, stack, resource)]
        return sum(text.endswith(f"paused until Hook {hook} is cleared") for text in texts) >= times

    await engine.until(is_told)


async def state(engine: Any, stack: StackIdentity, resource: str) -> str:
    view = (await engine.resources(stack))[resource]
    return f"{view.action.value}_{view.status.value}"


async def test_a_creation_waits_for_its_user(engine: Any) -> None:
    stack = await engine.create("s", template(), environment=hooks("pre-create"))
    await paused(engine, stack, "pre-create")
    assert await state(engine, stack, "a") == "INIT_COMPLETE"
    assert await state(engine, stack, "b") == "INIT_COMPLETE"
    await engine.signal(stack, "a", unset_hook="pre-create")
    await engine.reached(stack, "CREATE_COMPLETE")
    assert await reasons(engine, stack) == [
        ("INIT_COMPLETE", "CREATE paused until Hook pre-create is cleared"),
        ("INIT_COMPLETE", "Hook pre-create is cleared"),
        ("CREATE_IN_PROGRESS", "state changed"),
        ("CREATE_COMPLETE", "state changed"),
    ]


async def test_what_does_not_wait_cannot_be_cleared(engine: Any) -> None:
    stack = await engine.create("s", template(), environment=hooks("pre-create"))
    await paused(engine, stack, "pre-create")
    for resource, hook in (("a", "nope"), ("a", None), ("a", ["x"]), ("a", "pre-update"), ("b", "pre-create")):
        with pytest.raises(InvalidBreakPointHook):
            await engine.signal(stack, resource, unset_hook=hook)
    with pytest.raises(EntityNotFound):
        await engine.signal(stack, "nowhere", unset_hook="pre-create")
    await engine.signal(stack, "a", unset_hook="pre-create")
    with pytest.raises(InvalidBreakPointHook):
        await engine.signal(stack, "a", unset_hook="pre-create")
    await engine.reached(stack, "CREATE_COMPLETE")


async def test_each_of_six_hooks_holds_its_step(engine: Any) -> None:
    every = hooks("pre-create", "post-create", "pre-update", "post-update", "pre-delete", "post-delete")
    stack = await engine.create("s", template(), environment=every)
    await paused(engine, stack, "pre-create")
    await engine.signal(stack, "a", unset_hook="pre-create")
    await paused(engine, stack, "post-create")
    assert [await state(engine, stack, name) for name in "ab"] == ["CREATE_COMPLETE", "INIT_COMPLETE"]
    await engine.signal(stack, "a", unset_hook="post-create")
    await engine.reached(stack, "CREATE_COMPLETE")

    await engine.update(stack, template("x2"), environment=every)
    await paused(engine, stack, "pre-update")
    assert await state(engine, stack, "a") == "CREATE_COMPLETE"
    await engine.signal(stack, "a", unset_hook="pre-update")
    await paused(engine, stack, "post-update")
    assert await state(engine, stack, "a") == "UPDATE_COMPLETE"
    await engine.signal(stack, "a", unset_hook="post-update")
    await engine.reached(stack, "UPDATE_COMPLETE")

    await engine.delete(stack)
    await paused(engine, stack, "pre-delete")
    assert list(await engine.resources(stack)) == ["a"]
    assert await state(engine, stack, "a") == "UPDATE_COMPLETE"
    await engine.signal(stack, "a", unset_hook="pre-delete")
    await paused(engine, stack, "post-delete")
    assert await state(engine, stack, "a") == "DELETE_COMPLETE"
    assert await engine.state(stack) == "DELETE_IN_PROGRESS"
    await engine.signal(stack, "a", unset_hook="post-delete")
    await engine.reached(stack, "DELETE_COMPLETE")
    assert [one for one, _ in await reasons(engine, stack)].count("DELETE_COMPLETE") == 3  # done, paused, cleared


async def test_a_resource_without_side_effects_waits_as_well(engine: Any) -> None:
    value = {"type": "OS::Heat::Value", "properties": {"value": "v"}}
    plain = {"heat_template_version": "2021-04-16", "resources": {"v": value}}
    stack = await engine.create("s", plain, environment=hooks("pre-create", "post-create", "post-delete", of="v*"))
    for hook in ("pre-create", "post-create"):
        await paused(engine, stack, hook, "v")
        await engine.signal(stack, "v", unset_hook=hook)
    await engine.reached(stack, "CREATE_COMPLETE")
    await engine.delete(stack)
    await paused(engine, stack, "post-delete", "v")
    await engine.signal(stack, "v", unset_hook="post-delete")
    await engine.reached(stack, "DELETE_COMPLETE")


async def test_a_nested_resource_waits_and_is_cleared_in_its_own_stack(engine: Any) -> None:
    member = {"type": "OS::Heat::TestResource", "properties": {"value": "m"}}
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 2, "resource_def": member}}
    registry = {"resource_registry": {"resources": {"g": {"1": {"hooks": "pre-create"}}}}}
    stack = await engine.create("s", template(g=group), environment=registry)

    async def waiting() -> Any:
        group = (await engine.resources(stack))["g"]
        if group.nested_id is None:
            return None
        child = await engine.stacks.identify(USER, group.nested_id)
        rows = await engine.orchestrator.events.list(USER, child.name, child.id, None, EventQuery())
        return child if any("paused until Hook pre-create" in row.status_reason for row in rows) else None

    await engine.until(waiting)
    child = await waiting()
    assert await state(engine, child, "0") != "INIT_COMPLETE"
    await engine.signal(child, "1", unset_hook="pre-create")
    await engine.reached(stack, "CREATE_COMPLETE")


async def test_a_newer_update_without_the_hook_does_not_wait(engine: Any) -> None:
    stack = await engine.create("s", template())
    await engine.reached(stack, "CREATE_COMPLETE")
    await engine.update(stack, template("x2"), environment=hooks("pre-update"))
    await paused(engine, stack, "pre-update")
    await engine.update(stack, template("x3"), environment={})
    await engine.reached(stack, "UPDATE_COMPLETE")


async def test_an_update_that_changes_nothing_passes_the_hook_too(engine: Any) -> None:
    """As in Heat (heat-tempest-plugin, test_hook_pre_update_nochange)."""
    stack = await engine.create("s", template(), environment=hooks("pre-update"))
    await engine.reached(stack, "CREATE_COMPLETE")
    await engine.update(stack, template(), environment=hooks("pre-update"))
    await paused(engine, stack, "pre-update")
    await engine.signal(stack, "a", unset_hook="pre-update")
    await engine.reached(stack, "UPDATE_COMPLETE")
    assert await state(engine, stack, "a") == "CREATE_COMPLETE"


async def test_a_newer_update_with_the_hook_waits_anew(engine: Any) -> None:
    stack = await engine.create("s", template())
    await engine.reached(stack, "CREATE_COMPLETE")
    await engine.update(stack, template("x2"), environment=hooks("pre-update"))
    await paused(engine, stack, "pre-update")
    await engine.update(stack, template("x3"), environment=hooks("pre-update"))
    await paused(engine, stack, "pre-update", times=2)
    await engine.signal(stack, "a", unset_hook="pre-update")
    await engine.reached(stack, "UPDATE_COMPLETE")


async def test_a_stack_is_deleted_out_of_a_breakpoint(engine: Any) -> None:
    stack = await engine.create("s", template(), environment=hooks("pre-create", "post-create"))
    await paused(engine, stack, "pre-create")
    await engine.delete(stack)
    await engine.reached(stack, "DELETE_COMPLETE")


async def test_a_time_out_ends_a_pause_and_a_complete_resource_stays_complete(world: Any, engine: Any) -> None:
    stack = await engine.create("s", template(), environment=hooks("post-create"), timeout_mins=1)
    await paused(engine, stack, "post-create")
    operation = engine.orchestrator._trees.find(stack.id)
    from calor.server.engine.reconcile.operation import TIMED_OUT

    operation._run.stop_all(TIMED_OUT)
    view = await engine.reached(stack, "CREATE_FAILED")
    assert "timed out" in view.status_reason
    assert await state(engine, stack, "a") == "CREATE_COMPLETE"
    with pytest.raises(InvalidBreakPointHook):
        await engine.signal(stack, "a", unset_hook="post-create")
    before = (await engine.resources(stack))["a"].physical_id
    await engine.update(stack, template(), environment={})
    await engine.reached(stack, "UPDATE_COMPLETE")
    assert (await engine.resources(stack))["a"].physical_id == before


async def test_a_roll_back_waits_for_nobody(engine: Any) -> None:
    stack = await engine.create("s", template(), environment=hooks("pre-update"), disable_rollback=False)
    await engine.reached(stack, "CREATE_COMPLETE")
    bad = {"type": "OS::Heat::TestResource", "properties": {"fail": True}, "depends_on": "a"}
    await engine.update(stack, template("x2", c=bad), environment=hooks("pre-update"), disable_rollback=False)
    await paused(engine, stack, "pre-update")
    await engine.signal(stack, "a", unset_hook="pre-update")
    await engine.reached(stack, "ROLLBACK_COMPLETE")


async def killed(engine: Any) -> None:
    """As the kernel ends a process."""
    for task in [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]:
        task.cancel()
    await asyncio.sleep(0.05)
    await engine.database.close()
    gc.collect()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_f021_a_pause_outlives_its_process_but_not_its_run(world: Any) -> None:
    first = await world.engine()
    await first.orchestrator.start()
    stack = await first.create("s", template())
    await first.reached(stack, "CREATE_COMPLETE")
    await first.update(stack, template("x2"), environment=hooks("pre-update"))
    await paused(first, stack, "pre-update")
    await killed(first)
    world.clock.shift += timedelta(seconds=10)

    second = await world.engine()
    await second.orchestrator.start()
    await asyncio.sleep(0.3)
    assert await second.state(stack) == "UPDATE_IN_PROGRESS"  # it waits still, and said so once
    assert [text for _, text in await reasons(second, stack)].count(
        "UPDATE paused until Hook pre-update is cleared"
    ) == 1
    await second.update(stack, template("x3"), environment={})
    await second.reached(stack, "UPDATE_COMPLETE")
    await second.update(stack, template("x4"), environment={})
    await second.reached(stack, "UPDATE_COMPLETE")
    await second.orchestrator.stop()
    await second.database.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("hook", ["pre-create", "post-create", "pre-delete", "post-delete"])
async def test_f021_a_process_that_dies_at_a_breakpoint_is_taken_over_there(world: Any, hook: str) -> None:
    first = await world.engine()
    await first.orchestrator.start()
    stack = await first.create("s", template(), environment=hooks(hook))
    if hook.endswith("delete"):
        await first.reached(stack, "CREATE_COMPLETE")
        await first.delete(stack)
    await paused(first, stack, hook)
    await killed(first)
    world.clock.shift += timedelta(seconds=10)
    second = await world.engine()
    await second.orchestrator.start()
    await asyncio.sleep(0.2)
    assert (await second.state(stack)).endswith("IN_PROGRESS")
    await second.signal(stack, "a", unset_hook=hook)
    await second.reached(stack, "DELETE_COMPLETE" if hook.endswith("delete") else "CREATE_COMPLETE")
    await second.orchestrator.stop()
    await second.database.close()


async def test_f021_whoever_reads_the_event_can_clear_the_hook(engine: Any) -> None:
    """Ten times over, with no pause between seeing the event and clearing."""
    for number in range(10):
        stack = await engine.create(f"s{number}", template(), environment=hooks("pre-create"))
        while not await reasons(engine, stack):
            await asyncio.sleep(0)
        await engine.signal(stack, "a", unset_hook="pre-create")
        await engine.reached(stack, "CREATE_COMPLETE")


# --- hooks for what is not there --------------------------------------------------------------------------------


async def begun(engine: Any, stack: StackIdentity) -> list[str]:
    """The reasons with which the operations on a stack began."""
    found = await reasons(engine, stack, stack.name)
    return [text for status, text in found if status.endswith("_IN_PROGRESS")]


async def test_a_hook_of_a_resource_that_is_not_there_is_told_when_an_operation_begins(engine: Any) -> None:
    stack = await engine.create(
        "s", template(web={"type": "OS::Heat::None"}), environment=hooks("pre-create", of="wob")
    )
    await engine.reached(stack, "CREATE_COMPLETE")
    await engine.update(stack, template(), environment=hooks("pre-update", of="x*"))
    await engine.reached(stack, "UPDATE_COMPLETE")
    await engine.update(stack, template(), environment=hooks("post-delete", of="a"))
    await engine.reached(stack, "UPDATE_COMPLETE")
    assert await begun(engine, stack) == [
        "Stack CREATE started. Warning: There is no resource 'wob' (did you mean 'web'?): its hooks stop nothing.",
        "Stack UPDATE started. Warning: No resource matches 'x*': its hooks stop nothing.",
        "Stack UPDATE started",
    ]


async def test_hooks_of_nested_resources_are_told_only_where_nothing_in_the_tree_is_meant(engine: Any) -> None:
    """Patterns hold for all stacks below; a protection of nothing is told, too."""
    inner = "{heat_template_version: 2021-04-16, resources: {x: {type: OS::Heat::None}}}"
    registry = {
        "x*": {"hooks": "pre-delete"},
        "y*": {"hooks": "pre-delete"},
        "n": {"x": {"hooks": "pre-delete"}, "z": {"restricted_actions": "replace"}},
    }
    environment = {"resource_registry": {"resources": registry}}
    stack = await engine.create("s", template(n={"type": "n.yaml"}), environment=environment, files={"n.yaml": inner})
    await engine.reached(stack, "CREATE_COMPLETE")
    (text,) = await begun(engine, stack)
    assert text.split("Warning: ")[1:] == [
        "There is no resource 'n.z': its restricted actions protect nothing. ",
        "No resource matches 'y*': its hooks stop nothing.",
    ]
