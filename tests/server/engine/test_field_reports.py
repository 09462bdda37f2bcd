"""What users of Heat reported and no other test of the engine shows. Numbers are those of the field reports."""

import asyncio
import time
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from calor.server.cloud.errors import CloudFailed
from calor.server.engine.contract.views import StackRequest
from calor.server.engine.durable import key_check
from calor.server.errors import EntityNotFound, InvalidInput
from calor.server.identity import Caller, Keys
from calor.server.resources.lookup import Lookup
from calor.server.store.models import Stack
from calor.server.store.states import Action, Status
from calor.server.store.writes import Change

USER = Caller(user_id="u1", project_id="p1", roles=frozenset({"member"}), user_name="user1", token="t1")
SECRET = "S3CR3T-" * 3


def hot(resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"heat_template_version": "2021-04-16", "resources": resources, **more}


def value(of: Any, **more: Any) -> dict[str, Any]:
    return {"type": "OS::Heat::TestResource", "properties": {"value": of}, **more}


async def test_f034_a_failed_key_pair_can_be_changed_under_its_name(engine: Any, world: Any) -> None:
    def broken(verb: str, kind: str, facts: dict[str, Any]) -> None:
        if (verb, kind) == ("create", "keypair") and facts["public_key"] == "ssh-ed25519 broken":
            raise CloudFailed("Keypair data is invalid")

    world.cloud.faults.append(broken)
    pair = {"type": "OS::Nova::KeyPair", "properties": {"name": "k", "public_key": "ssh-ed25519 broken"}}
    stack = await engine.create("f34", hot({"pair": pair}))
    await engine.reached(stack, "CREATE_FAILED")
    pair["properties"] = {"name": "k", "public_key": "ssh-ed25519 whole"}
    await engine.update(stack, hot({"pair": pair}))
    await engine.reached(stack, "UPDATE_COMPLETE")
    assert [one["public_key"] for one in world.cloud.records["keypair"].values()] == ["ssh-ed25519 whole"]


@pytest.mark.parametrize("later", [timedelta(minutes=20), timedelta(hours=25), timedelta(days=400)])
async def test_f037_a_signed_url_outlives_every_clock(engine: Any, world: Any, later: timedelta) -> None:
    """It is accepted while its resource waits, changes nothing afterwards, and is gone with its resource."""
    handle = {"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": "CFN_SIGNAL"}}
    waits = {"handle": {"get_resource": "h"}, "count": 1, "timeout": 30}
    slow = value("x", depends_on="h") | {"properties": {"wait_secs": 0.5}}
    condition = {"type": "OS::Heat::WaitCondition", "properties": waits, "depends_on": "slow"}
    template = hot({"h": handle, "slow": slow, "w": condition}, outputs={"d": {"value": {"get_attr": ["w", "data"]}}})
    stack = await engine.create("f37", template, timeout_mins=1_000_000)

    async def there() -> bool:
        return "h" in await engine.resources(stack) and (await engine.resources(stack))["h"].physical_id is not None

    await engine.until(there)
    view = await engine.orchestrator.resources.show(USER, stack.name, stack.id, "h", with_attr=[])
    url = urlsplit(view.attributes["endpoint"])
    path, query = url.path, dict(parse_qsl(url.query))
    guests = engine.orchestrator.guests
    body = {"id": "1", "status": "SUCCESS", "data": "done", "reason": "r"}
    world.clock.shift += later
    await guests.signed_signal(path, query, "PUT", body)
    done = await engine.reached(stack, "CREATE_COMPLETE")
    assert "done" in done.outputs[0].value
    await guests.signed_signal(path, query, "PUT", body | {"status": "FAILURE"})
    assert (await engine.show(stack)).status.value == "COMPLETE"
    await engine.delete(stack)
    await engine.reached(stack, "DELETE_COMPLETE")
    with pytest.raises(EntityNotFound):
        await guests.signed_signal(path, query, "PUT", body)


async def test_f110_a_thousand_equal_members_cost_one_look_up(engine: Any, world: Any) -> None:
    looked: list[str] = []
    find = world.cloud.find

    async def slow(of: Any, name_or_id: str) -> Any:
        looked.append(name_or_id)
        await asyncio.sleep(0.02)
        return await find(of, name_or_id)

    world.cloud.find = slow
    world.cloud.records["network"] = {"n": {"id": "n", "name": "wanted"}}
    port = {"type": "OS::Neutron::Port", "properties": {"network": "wanted"}}
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 990, "resource_def": port}}
    begun = time.monotonic()
    await engine.stacks.preview(USER, StackRequest(name="f110", template=hot({"g": group})))
    assert time.monotonic() - begun < 4  # 2 s on a machine that does nothing else
    assert looked == ["wanted"]


async def test_f116_a_file_that_was_not_sent_is_named(engine: Any) -> None:
    for template, missing in (
        (hot({"a": {"type": "lib/member.yaml"}}), "lib/member.yaml"),
        (hot({"a": value({"get_file": "scripts/run.sh"})}), "scripts/run.sh"),
    ):
        with pytest.raises(InvalidInput, match=missing):
            await engine.create("f116", template)


async def test_f164_f173_a_hidden_value_is_in_no_answer_event_or_table(engine: Any, world: Any) -> None:
    """Given, as a default, from the environment, merged into another text, in a nested stack, in an error."""
    inner = "heat_template_version: 2021-04-16\nparameters:\n  pw: {type: string, hidden: true}\nresources:\n"
    inner += "  i: {type: 'OS::Heat::TestResource', properties: {value: {get_param: pw}}}\n"
    mixed = {"str_replace": {"template": "user:PW@host", "params": {"PW": {"get_param": "pw"}}}}
    template = hot(
        {
            "plain": value({"get_param": "pw"}),
            "mixed": value(mixed),
            "default": value({"get_param": "built_in"}),
            "list": value({"list_join": [",", [{"get_param": "from_environment"}, "x"]]}),
            "nested": {"type": "inner.yaml", "properties": {"pw": {"get_param": "pw"}}},
            "broken": {"type": "OS::Heat::TestResource", "properties": {"value": mixed, "fail": True}},
        },
        parameters={
            "pw": {"type": "string", "hidden": True},
            "built_in": {"type": "string", "hidden": True, "default": SECRET + "-built-in"},
            "from_environment": {"type": "string", "hidden": True},
        },
    )
    request = {
        "files": {"inner.yaml": inner},
        "environment": {"parameter_defaults": {"from_environment": SECRET + "-env"}},
        "parameters": {"pw": SECRET},
    }
    shown = [await engine.stacks.preview(USER, StackRequest(name="f164", template=template, **request))]
    stack = await engine.create("f164", template, **request)
    shown.append(await engine.ended(stack))
    shown.append(await engine.resources(stack, 5))
    shown += [
        await engine.orchestrator.resources.show(USER, stack.name, stack.id, name, with_attr=[]) for name in ("mixed",)
    ]
    shown.append(await engine.stacks.environment(USER, stack.name, stack.id))
    shown.append(await engine.stacks.template(USER, stack.name, stack.id))
    from calor.server.engine.contract.views import EventQuery

    shown.append(await engine.orchestrator.events.list(USER, stack.name, stack.id, None, EventQuery()))
    same = StackRequest(template=template, **request)
    shown.append(await engine.stacks.preview_update(USER, stack.name, stack.id, same, show_nested=True))
    assert [number for number, one in enumerate(shown) if SECRET in repr(one)] == []
    database = Path(world.url.removeprefix("sqlite:///"))
    for file in database.parent.glob(database.name + "*"):
        assert SECRET.encode() not in file.read_bytes(), file


async def test_f164_a_template_as_it_is_shown_does_not_replace_a_hidden_value_by_its_mask(engine: Any) -> None:
    def template(default: str | None) -> dict[str, Any]:
        parameter = {"type": "string", "hidden": True, "default": default}
        return hot({"r": value({"get_param": "pw"})}, parameters={"pw": parameter})

    stack = await engine.create("f164-mask", template(SECRET))
    await engine.reached(stack, "CREATE_COMPLETE")
    shown = await engine.stacks.template(USER, stack.name, stack.id)
    for existing in (False, True):
        with pytest.raises(InvalidInput, match=r"parameters\.pw\.default is the mask"):
            await engine.update(stack, shown, existing=existing)
    await engine.update(stack, shown, parameters={"pw": "given"})
    await engine.reached(stack, "UPDATE_COMPLETE")
    await engine.update(stack, shown, existing=True)
    await engine.reached(stack, "UPDATE_COMPLETE")


class Sees:
    """A cloud as one project sees it."""

    def __init__(self, project_id: str, *names: str) -> None:
        self.project_id, self._names = project_id, names

    async def find(self, of: Any, name_or_id: str) -> dict[str, str] | None:
        return {"id": f"id-of-{name_or_id}", "name": name_or_id} if name_or_id in self._names else None


async def test_f171_what_one_project_was_shown_is_not_there_for_another() -> None:
    lookup = Lookup()
    mine, other = Sees("p1", "private-image"), Sees("p2")
    assert await lookup.find(mine, "glance.image", "private-image") == "id-of-private-image"
    assert await lookup.check_custom(mine, "glance.image", "private-image") is None
    assert "could not be found" in str(await lookup.check_custom(other, "glance.image", "private-image"))
    assert await lookup.find(mine, "glance.image", "private-image") == "id-of-private-image"


async def test_f005_no_tree_needs_a_reset_since_a_dead_process_is_taken_over(world: Any) -> None:
    """Heat's operators reset what a dead engine left; here the next engine goes on by itself, three levels deep."""
    leaf = "heat_template_version: 2021-04-16\nresources:\n"
    leaf += "  leaf: {type: 'OS::Heat::TestResource', properties: {wait_secs: 1}}\n"
    middle = "heat_template_version: 2021-04-16\nresources:\n  middle: {type: leaf.yaml}\n"
    first = await world.engine()
    await first.orchestrator.start()
    files = {"leaf.yaml": leaf, "middle.yaml": middle}
    stack = await first.create("f5", hot({"top": {"type": "middle.yaml"}}), files=files)

    async def at_the_leaf() -> bool:
        return "leaf" in await first.resources(stack, 5)

    await first.until(at_the_leaf)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await first.database.close()
    second = await world.engine()
    await second.orchestrator.start()
    await second.reached(stack, "CREATE_COMPLETE")
    assert {one.status.value for one in (await second.resources(stack, 5)).values()} == {"COMPLETE"}
    await second.delete(stack)
    await second.reached(stack, "DELETE_COMPLETE")
    await second.orchestrator.stop()
    await second.database.close()


async def test_f173_another_key_is_told_from_one_damaged_secret(engine: Any, world: Any) -> None:
    assert await key_check.fits(engine.database, Keys.generate()), "nothing is sealed yet"
    for name in ("one", "two"):
        await engine.reached(await engine.create(name, hot({"a": value("x")})), "CREATE_COMPLETE")
    assert await key_check.fits(engine.database, world.keys)
    assert not await key_check.fits(engine.database, Keys.generate())


LEAD_NOWHERE = {("INIT", "COMPLETE"), ("INIT", "FAILED"), ("DELETE", "COMPLETE"), ("SIGNAL", "FAILED")}
"""Not states of a stack that a request can meet."""
ENDED_STATES = [
    (action.value, status)
    for action in Action
    for status in ("COMPLETE", "FAILED")
    if (action.value, status) not in LEAD_NOWHERE
]


@pytest.mark.parametrize(("action", "status"), ENDED_STATES)
async def test_f196_an_update_and_a_delete_lead_out_of_every_state(
    engine: Any, world: Any, action: str, status: str
) -> None:
    """Two refusals are Heat's own: what is suspended is resumed before it is updated, and a deletion is for good."""
    ahead = hot({"a": value("after")}, outputs={"said": {"value": {"get_attr": ["a", "output"]}}})
    stack = await engine.create("f196", hot({"a": value("before")}))
    await engine.reached(stack, "CREATE_COMPLETE")
    if action == "SUSPEND":
        await engine.action(stack, "suspend")
        await engine.reached(stack, "SUSPEND_COMPLETE")
    state = {"action": Action[action], "status": Status[status], "status_reason": "put there by the test"}
    await engine.orchestrator._tools.journal.commit([Change(Stack, {"id": stack.id}, state)])
    assert await engine.state(stack) == f"{action}_{status}"
    if action == "SUSPEND":
        await engine.action(stack, "resume")
        await engine.reached(stack, "RESUME_COMPLETE")
    if action != "DELETE":
        await engine.update(stack, ahead)
        view = await engine.reached(stack, "UPDATE_COMPLETE")
        assert view.outputs[0].value == "after"
    await engine.delete(stack)
    await engine.reached(stack, "DELETE_COMPLETE")
