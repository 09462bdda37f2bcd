"""What users reported of updates: plans that were not kept, changes out of nothing, groups that were rebuilt."""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from cloud_things import THINGS, Thing

from calor.server.engine.contract.views import Guard, StackIdentity, StackRequest
from calor.server.errors import InvalidInput
from calor.server.identity import Caller
from calor.server.resources.declare import UNORDERED, UPDATABLE

USER = Caller(user_id="u1", project_id="p1", roles=frozenset({"member"}), user_name="user1", token="t1")
HOT = "heat_template_version: 2021-04-16\n"
WRITES = {"create", "update", "delete", "post", "put", "patch"}


@dataclass(frozen=True, kw_only=True)
class SetProps:
    size: str = ""
    note: Annotated[str, UPDATABLE] = ""
    groups: Annotated[tuple[str, ...], UNORDERED, UPDATABLE] = ()
    steps: Annotated[tuple[str, ...], UPDATABLE] = ()


class SetThing(Thing):
    """A thing with a list that is meant as a set."""

    name, props = "Test::SetThing", SetProps  # type: ignore[assignment]  # a thing with more properties


async def planned(engine: Any, template: Any, **more: Any) -> dict[str, Any]:
    view = await engine.orchestrator.plans.plan(USER, StackRequest(name="s", template=template, **more))
    return {"/".join(step.path): step for step in view.steps}


async def state_of(engine: Any, stack: StackIdentity) -> dict[str, Any]:
    """Each resource of the whole tree by its path, with what tells one incarnation, and one update, from another."""
    found, names = {}, {stack.id: ""}
    for view in await engine.orchestrator.resources.list(
        USER, stack.name, stack.id, nested_depth=5, filters={}, detail=True
    ):
        path = names[view.stack.id] + view.name
        if view.nested_id:
            names[view.nested_id] = f"{path}/"
        found[path] = view
    return found


async def did(engine: Any, stack: StackIdentity, since: int) -> tuple[Mapping[str, set[str]], int]:
    """What was done to each resource name, from the events after the first ``since``."""
    rows = await engine.orchestrator.events.list(USER, stack.name, stack.id, None, _events())
    done: dict[str, set[str]] = {}
    for one in rows[since:]:
        if one.resource_name != stack.name and one.status.value == "COMPLETE":
            done.setdefault(one.resource_name, set()).add(one.action.value)
    return done, len(rows)


def _events() -> Any:
    from calor.server.engine.contract.views import EventQuery

    return EventQuery(nested_depth=5)


def random_template(dice: random.Random) -> dict[str, Any]:
    """A few resources that refer to each other, with values that often stay the same."""
    resources: dict[str, Any] = {}
    for name in ("a", "b", "c", "d"):
        if dice.random() < 0.25:
            continue
        refer = [other for other in resources if dice.random() < 0.4]
        attribute = (
            {"get_attr": [refer[0], "value" if resources[refer[0]]["type"] != TEST else "output"]} if refer else "v"
        )
        kind = dice.choice(("text", "value", TEST))
        if kind == "text":
            resources[name] = {"type": "OS::Heat::RandomString", "properties": {"length": dice.choice((8, 9))}}
        elif kind == "value":
            value = {"x": dice.choice("pq"), "of": attribute}
            resources[name] = {"type": "OS::Heat::Value", "properties": {"value": value}}
        else:
            resources[name] = {
                "type": TEST,
                "properties": {
                    "value": {"str_replace": {"template": "A-B", "params": {"A": attribute, "B": dice.choice("rs")}}}
                },
            }
    if dice.random() < 0.6:
        member = {"type": "OS::Heat::RandomString", "properties": {"length": dice.choice((5, 6))}}
        resources["g"] = {
            "type": "OS::Heat::ResourceGroup",
            "properties": {"count": dice.choice((1, 2)), "resource_def": member},
        }
    return {"heat_template_version": "2021-04-16", "resources": resources}


TEST = "OS::Heat::TestResource"


@pytest.mark.parametrize("seed", range(12))
async def test_f121_an_update_does_what_its_plan_says(engine: Any, seed: int) -> None:
    dice = random.Random(seed)
    before, after = random_template(dice), random_template(dice)
    stack = await engine.create("s", before)
    await engine.reached(stack, "CREATE_COMPLETE")
    was = await state_of(engine, stack)
    _, events = await did(engine, stack, 0)
    plan = await planned(engine, after)
    await engine.update(stack, after)
    await engine.reached(stack, "UPDATE_COMPLETE")
    now = await state_of(engine, stack)
    done, _ = await did(engine, stack, events)
    actions = {}
    for path in was.keys() | now.keys():
        if path not in now:
            actions[path] = "delete"
        elif path not in was:
            actions[path] = "create"
        elif was[path].physical_id != now[path].physical_id:
            actions[path] = "replace"
        else:
            actions[path] = "update" if "UPDATE" in done.get(path.rpartition("/")[2], ()) else "none"
    for path, action in actions.items():
        step = plan[path]
        is_open = any(change.new == LATER or LATER in json.dumps(change.new) for change in step.changes)
        assert action == step.action.value or (is_open and action == "none"), (path, action, step, before, after)
    assert plan.keys() == actions.keys()


LATER = "(known after create)"

ONE = (
    HOT
    + """# a comment
parameters: {size: {type: string, default: "3"}}
resources:
  a:
    type: Test::SetThing
    properties:
      size: {get_param: size}
      note: 0755
      groups: [x, y, y]
      steps: [x, y]
  b: {type: Test::SetThing, properties: {size: 1.10, note: "yes"}}
  g:
    type: OS::Heat::ResourceGroup
    properties: {count: 2, resource_def: {type: Test::SetThing, properties: {size: "1", note: n}}}
"""
)
OTHERWISE = (
    HOT
    + """resources:
  g:
    properties: {resource_def: {properties: {note: n, size: "1"}, type: Test::SetThing}, count: "2"}
    type: OS::Heat::ResourceGroup
  b:
    properties: {note: yes, size: "1.10"}   # quoted otherwise
    type: Test::SetThing
  a:
    properties:
      groups: [y, x, y]
      steps: [x, y]
      note: "0755"
      size: 3
    type: Test::SetThing
"""
)


async def test_f123_an_update_that_changes_nothing_writes_nothing(world: Any) -> None:
    world.types.append(SetThing)
    engine = await world.engine()
    await engine.orchestrator.start()
    stack = await engine.create("s", ONE)
    await engine.reached(stack, "CREATE_COMPLETE")
    before = await state_of(engine, stack)
    for template in (ONE, OTHERWISE, ONE):
        plan = await planned(engine, template)
        assert {path: step.changes for path, step in plan.items() if step.action.value != "none"} == {}
        world.cloud.asked.clear()
        await engine.update(stack, template)
        await engine.reached(stack, "UPDATE_COMPLETE")
        assert not [verb for verb, _ in world.cloud.asked if verb in WRITES]
    after = await state_of(engine, stack)
    assert {path: view.physical_id for path, view in after.items()} == {
        path: view.physical_id for path, view in before.items()
    }
    ordered = ONE.replace("steps: [x, y]", "steps: [y, x]")
    assert (await planned(engine, ordered))["a"].action.value == "update"
    await engine.orchestrator.stop()
    await engine.database.close()


async def test_f125_one_failed_member_is_replaced_and_no_other(things: Any, world: Any) -> None:
    def template(note: str) -> dict[str, Any]:
        member = {"type": "Test::Thing", "properties": {"note": note}}
        return {
            "heat_template_version": "2021-04-16",
            "resources": {
                "g": {"type": "OS::Heat::ResourceGroup", "properties": {"count": 10, "resource_def": member}}
            },
        }

    made = []

    def sixth_fails(verb: str, kind: str, facts: dict[str, Any]) -> None:
        if (verb, kind) == ("create", THINGS.single):
            made.append(facts["name"])
            if len(made) == 6:
                raise OSError("no room")

    world.cloud.faults.append(sixth_fails)
    stack = await things.create("s", template("x"))
    await things.reached(stack, "CREATE_FAILED")
    world.cloud.faults.clear()
    before = await state_of(things, stack)
    good = {path: view.physical_id for path, view in before.items() if view.physical_id and path != "g"}
    await things.update(stack, template("x"))
    await things.reached(stack, "UPDATE_COMPLETE")
    after = await state_of(things, stack)
    assert len([path for path in after if path.startswith("g/")]) == 10
    kept = {path for path, ident in good.items() if after[path].physical_id == ident}
    assert kept == {path for path in good if before[path].status.value == "COMPLETE"}
    assert after["g"].physical_id == before["g"].physical_id

    await things.orchestrator.resources.mark_unhealthy(
        USER, *await _inside(things, stack), "3", unhealthy=True, reason="broken"
    )
    plan = await planned(things, template("x"))
    assert {path: step.action.value for path, step in plan.items() if step.action.value != "none"} == {
        "g": "update",
        "g/3": "replace",
    }
    await things.update(stack, template("x"))
    await things.reached(stack, "UPDATE_COMPLETE")
    last = await state_of(things, stack)
    assert {path for path in last if last[path].physical_id != after[path].physical_id} == {"g/3"}


async def _inside(engine: Any, stack: StackIdentity) -> tuple[str, str]:
    ident = (await engine.resources(stack))["g"].nested_id
    found = await engine.stacks.identify(USER, ident)
    return found.name, found.id


def rolling(file: str, note: str) -> tuple[dict[str, Any], dict[str, str]]:
    """A group of five whose members are a template file, one changed after the other."""
    inner = {
        "heat_template_version": "2021-04-16",
        "parameters": {"note": {"type": "string"}},
        "resources": {"t": {"type": "Test::Thing", "properties": {"note": {"get_param": "note"}}}},
    }
    member = {"type": file, "properties": {"note": note}}
    group = {
        "type": "OS::Heat::ResourceGroup",
        "properties": {"count": 5, "resource_def": member},
        "update_policy": {"rolling_update": {"max_batch_size": 1}},
    }
    return {"heat_template_version": "2021-04-16", "resources": {"g": group}}, {file: json.dumps(inner)}


async def test_f127_files_may_have_other_names_in_a_rolling_update(things: Any, world: Any) -> None:
    template, files = rolling("old.yaml", "one")
    stack = await things.create("s", template, files=files)
    await things.reached(stack, "CREATE_COMPLETE")
    template, files = rolling("new.yaml", "two")
    await things.update(stack, template, files=files)
    await things.reached(stack, "UPDATE_COMPLETE")
    assert len(await state_of(things, stack)) == 11
    assert [one["note"] for one in world.cloud.records[THINGS.single].values()] == ["two"] * 5


async def test_f127_a_rolling_update_is_cancelled_in_the_middle_and_goes_back_with_the_old_files(
    things: Any, world: Any
) -> None:
    template, files = rolling("old.yaml", "one")
    stack = await things.create("s", template, files=files)
    await things.reached(stack, "CREATE_COMPLETE")
    made = []

    async def cancelled_at_the_third(verb: str, kind: str, facts: dict[str, Any]) -> None:
        if (verb, kind) == ("create", THINGS.single):
            made.append(facts["name"])
            if len(made) == 3:
                await things.action(stack, "cancel_update")

    world.cloud.faults.append(cancelled_at_the_third)
    template, files = rolling("new.yaml", "two")
    await things.update(stack, template, files=files)
    await things.reached(stack, "ROLLBACK_COMPLETE")
    found = await state_of(things, stack)
    from calor.server.store import queries

    print(
        [
            (r.name, r.type, r.action, r.status, r.status_reason, r.replaced_by, r.child_id)
            for r in await queries.tree_resources(things.database, stack.id)
        ]
    )
    assert len(found) == 11
    assert {one["note"] for one in world.cloud.records[THINGS.single].values()} == {"one"}
    assert len(world.cloud.records[THINGS.single]) == 5


async def test_f128_the_new_name_of_a_type_replaces_nothing_and_runs_nothing(hosts: Any) -> None:
    def template(group: str) -> dict[str, Any]:
        return {
            "heat_template_version": "2021-04-16",
            "resources": {
                "config": {"type": "OS::Heat::StructuredConfig", "properties": {"config": {"a": 1}}},
                "host": {"type": "Test::Host"},
                "all": {
                    "type": group,
                    "properties": {
                        "config": {"get_resource": "config"},
                        "servers": {"one": {"get_resource": "host"}},
                        "signal_transport": "NO_SIGNAL",
                    },
                },
            },
        }

    stack = await hosts.create("s", template("OS::Heat::StructuredDeployments"))
    await hosts.reached(stack, "CREATE_COMPLETE")
    before = await state_of(hosts, stack)
    _, events = await did(hosts, stack, 0)
    renamed = template("OS::Heat::StructuredDeploymentGroup")
    assert {step.action.value for step in (await planned(hosts, renamed)).values()} == {"none"}
    await hosts.update(stack, renamed)
    await hosts.reached(stack, "UPDATE_COMPLETE")
    after = await state_of(hosts, stack)
    assert {path: view.physical_id for path, view in after.items()} == {
        path: view.physical_id for path, view in before.items()
    }
    done, _ = await did(hosts, stack, events)
    assert done == {}
    assert after["all"].type == "OS::Heat::StructuredDeploymentGroup"


async def test_f132_the_same_put_twice_says_unchanged_and_what_is_left_out_stays_only_where_that_is_asked(
    engine: Any,
) -> None:
    template = {
        "heat_template_version": "2021-04-16",
        "parameters": {"p": {"type": "string"}, "d": {"type": "string", "default": "x"}},
        "resources": {
            "v": {"type": "OS::Heat::Value", "properties": {"value": [{"get_param": "p"}, {"get_param": "d"}]}}
        },
    }
    given = {"p": "1", "d": "2"}
    stack = await engine.create("s", template, parameters=given)
    await engine.reached(stack, "CREATE_COMPLETE")
    _, events = await did(engine, stack, 0)
    plan = await planned(engine, template, parameters=given)
    assert {step.action.value for step in plan.values()} == {"none"}
    request = StackRequest(template=template, parameters=given, guard=Guard.RESTRICTED)
    counts = await engine.stacks.update(USER, stack.name, stack.id, request)
    assert {name: count for name, count in counts.items() if count} == {"none": 1}
    await engine.reached(stack, "UPDATE_COMPLETE")
    assert (await did(engine, stack, events))[0] == {}
    with pytest.raises(InvalidInput, match="'p' was not given a value"):
        await engine.update(stack, template)
    await engine.update(stack, None, existing=True, parameters={"p": "3"})
    await engine.reached(stack, "UPDATE_COMPLETE")
    shown = (await engine.show(stack)).parameters
    assert (shown["p"], shown["d"]) == ("3", "2")
    await engine.update(stack, template, parameters={"p": "3"})
    await engine.reached(stack, "UPDATE_COMPLETE")
    assert (await engine.show(stack)).parameters["d"] == "x"
