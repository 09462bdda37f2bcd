"""Updates that are refused as a whole before anything is done, and what lets a single resource be replaced."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from calor.server.engine.contract.plan_views import PlanView
from calor.server.engine.contract.views import Guard, StackIdentity, StackRequest
from calor.server.errors import BadRequest, UpdateRefused
from calor.server.identity import Caller
from calor.server.resources.heat.stand_in import TestResource

USER = Caller(user_id="u1", project_id="p1", roles=frozenset({"member"}), user_name="user1", token="t1")
NESTED = "member.yaml"


class Disk(TestResource):
    """Holds what users put there, and cannot be changed in place."""

    name = "Test::Disk"
    holds_data = True

    def must_replace(self, was: Any, want: Any, changed: frozenset[str]) -> str | None:
        return "a disk is made for one value" if changed else None


class Kept(TestResource):
    """Names the property that it is replaced for, as the plan does by itself."""

    name = "Test::Kept"

    def must_replace(self, was: Any, want: Any, changed: frozenset[str]) -> str | None:
        return "value changes and the policy is REPLACE" if changed else None


def hot(**resources: Any) -> dict[str, Any]:
    return {"heat_template_version": "2021-04-16", "resources": resources}


def text(length: Any) -> dict[str, Any]:
    return {"type": "OS::Heat::RandomString", "properties": {"length": length}}


def thing(value: Any, of: str = "OS::Heat::TestResource") -> dict[str, Any]:
    return {"type": of, "properties": {"value": value}}


def restricted(*path: str, actions: Any = "replace") -> dict[str, Any]:
    entry: dict[str, Any] = {"restricted_actions": actions}
    for name in reversed(path):
        entry = {name: entry}
    return {"resource_registry": {"resources": entry}}


async def physical(engine: Any, stack: StackIdentity) -> dict[str, Any]:
    return {name: view.physical_id for name, view in (await engine.resources(stack)).items()}


async def planned(engine: Any, template: Any, **more: Any) -> PlanView:
    return await engine.orchestrator.plans.plan(USER, StackRequest(name="s", template=template, **more))  # type: ignore[no-any-return]


@pytest.fixture
async def disks(world: Any) -> AsyncIterator[Any]:
    world.types += [Disk, Kept]
    engine = await world.engine()
    await engine.orchestrator.start()
    yield engine
    await engine.orchestrator.stop()
    await engine.database.close()


async def test_f124_a_guarded_update_is_refused_before_any_change_and_one_resource_is_let_through(engine: Any) -> None:
    stack = await engine.create("s", hot(web1=text(8), web2=text(8), other=thing("x")))
    await engine.reached(stack, "CREATE_COMPLETE")
    before = await physical(engine, stack)
    environment = restricted("web*")
    wanted = hot(web1=text(9), web2=text(8), other=thing("y"))
    with pytest.raises(UpdateRefused) as refusal:
        await engine.update(stack, wanted, environment=environment, guard=Guard.RESTRICTED)
    (problem,) = refusal.value.problems
    assert (problem.path, problem.code) == ("resources.web1", "restricted-action")
    assert "'length' cannot be updated in place; the environment forbids to replace" in problem.message
    assert "--allow-replace web1." in problem.message
    assert await engine.state(stack) == "CREATE_COMPLETE"
    assert await physical(engine, stack) == before
    await engine.update(stack, wanted, environment=environment, guard=Guard.RESTRICTED, allow_replace=["web1"])
    await engine.reached(stack, "UPDATE_COMPLETE")
    after = await physical(engine, stack)
    assert {name for name in after if after[name] != before[name]} == {"web1"}
    with pytest.raises(UpdateRefused):  # that was for once
        await engine.update(stack, hot(web1=text(8), web2=text(8)), environment=environment, guard=Guard.RESTRICTED)
    with pytest.raises(UpdateRefused):
        await engine.stacks.update(
            USER,
            stack.name,
            stack.id,
            StackRequest(template=hot(web1=text(8), web2=text(8)), existing=True, guard=Guard.RESTRICTED),
        )


async def test_f124_every_refused_resource_is_named_nested_ones_too(engine: Any) -> None:
    files = {NESTED: json.dumps({**hot(disk=text({"get_param": "n"})), "parameters": {"n": {"type": "number"}}})}

    def template(length: int) -> dict[str, Any]:
        return hot(a=text(length), n={"type": NESTED, "properties": {"n": length}})

    both = restricted("a")["resource_registry"]["resources"] | restricted("n", "disk")["resource_registry"]["resources"]
    environment = {"resource_registry": {"resources": both}}
    stack = await engine.create("s", template(8), files=files)
    await engine.reached(stack, "CREATE_COMPLETE")
    more = {"files": files, "environment": environment, "guard": Guard.RESTRICTED}
    with pytest.raises(UpdateRefused) as refusal:
        await engine.update(stack, template(9), **more)
    assert [one.path for one in refusal.value.problems] == ["resources.a", "resources.n.disk"]
    with pytest.raises(UpdateRefused) as refusal:
        await engine.update(stack, template(9), **more, allow_replace=["a"])
    assert [one.path for one in refusal.value.problems] == ["resources.n.disk"]
    with pytest.raises(BadRequest, match=r"no resource 'n/disc' \(did you mean 'n/disk'\?\)"):
        await engine.update(stack, template(9), **more, allow_replace=["n/disc"])
    await engine.update(stack, template(9), **more, allow_replace=["a", "n/disk"])
    await engine.reached(stack, "UPDATE_COMPLETE")


async def test_f124_what_must_not_be_touched_is_not_let_through_by_allowing_its_replacement(engine: Any) -> None:
    stack = await engine.create("s", hot(a=thing("x")))
    await engine.reached(stack, "CREATE_COMPLETE")
    environment = restricted("a", actions=["update"])
    more = {"environment": environment, "guard": Guard.RESTRICTED, "allow_replace": ["a"]}
    with pytest.raises(UpdateRefused, match="forbids to update"):
        await engine.update(stack, hot(a=thing("y")), **more)


async def test_the_reason_of_a_refusal_is_given_once(disks: Any) -> None:
    stack = await disks.create("s", hot(a=thing("x", of=Kept.name)))
    await disks.reached(stack, "CREATE_COMPLETE")
    wanted = hot(a=thing("y", of=Kept.name))
    (step,) = (await planned(disks, wanted)).steps
    assert step.reasons == ("value changes and the policy is REPLACE",)
    with pytest.raises(UpdateRefused, match="resource, because value changes and the policy is REPLACE; the env"):
        await disks.update(stack, wanted, environment=restricted("a"), guard=Guard.RESTRICTED)


async def test_f124_without_a_guard_an_update_fails_at_the_resource_as_in_heat(engine: Any) -> None:
    stack = await engine.create("s", hot(a=text(8)))
    await engine.reached(stack, "CREATE_COMPLETE")
    await engine.update(stack, hot(a=text(9)), environment=restricted("a"))
    await engine.reached(stack, "UPDATE_FAILED")


async def test_f124_with_the_guard_of_data_nothing_is_lost_unless_it_is_named(disks: Any) -> None:
    stack = await disks.create("s", hot(a=thing("1", "Test::Disk"), b=thing("1", "Test::Disk"), c=thing("1")))
    await disks.reached(stack, "CREATE_COMPLETE")
    before = await physical(disks, stack)
    wanted = hot(a=thing("2", "Test::Disk"), c=thing("2"))
    for allowed, refused in (([], ["a", "b"]), (["a"], ["b"])):
        with pytest.raises(UpdateRefused) as refusal:
            await disks.update(stack, wanted, guard=Guard.DATA, allow_replace=allowed)
        assert [one.path for one in refusal.value.problems] == [f"resources.{name}" for name in refused]
        view = await planned(disks, wanted, guard=Guard.DATA, allow_replace=allowed)
        assert (view.counts["refused"], view.counts["destroys_data"]) == (len(refused), 2)
    assert await physical(disks, stack) == before
    wanted["resources"]["b"] = thing("1", "Test::Disk")
    await disks.update(stack, wanted, guard=Guard.DATA, allow_replace=["a"])
    await disks.reached(stack, "UPDATE_COMPLETE")
    assert (await physical(disks, stack))["a"] != before["a"]


async def test_f124_a_plan_that_allows_a_replacement_is_another_plan(engine: Any) -> None:
    stack = await engine.create("s", hot(a=text(8)))
    await engine.reached(stack, "CREATE_COMPLETE")
    more = {"environment": restricted("a"), "guard": Guard.RESTRICTED}
    guarded = await planned(engine, hot(a=text(9)), **more)
    allowed = await planned(engine, hot(a=text(9)), **more, allow_replace=["a"])
    assert (guarded.counts["refused"], allowed.counts["refused"]) == (1, 0)
    assert guarded.id != allowed.id
    await engine.update(stack, hot(a=text(9)), **more, allow_replace=["a"], plan=allowed.id)
    await engine.reached(stack, "UPDATE_COMPLETE")


async def test_f124_what_was_allowed_is_still_allowed_after_the_process_ended(world: Any) -> None:
    first = await world.engine()
    await first.orchestrator.start()
    stack = await first.create("s", hot(a=text(8), slow=thing("x")))
    await first.reached(stack, "CREATE_COMPLETE")
    before = await physical(first, stack)
    more = {"environment": restricted("a"), "guard": Guard.RESTRICTED, "allow_replace": ["a"]}
    slow = thing("y")
    slow["properties"] |= {"action_wait_secs": {"update": 1}}
    await first.update(stack, hot(a={**text(9), "depends_on": "slow"}, slow=slow), **more)
    await first.orchestrator.stop()
    await first.database.close()
    second = await world.engine()
    await second.orchestrator.start()
    await second.reached(stack, "UPDATE_COMPLETE")
    assert (await physical(second, stack))["a"] != before["a"]
    await second.orchestrator.stop()
    await second.database.close()
