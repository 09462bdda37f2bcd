"""Where deployments are, what they print, ended before their time, and run on demand."""

import json
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import sqlalchemy as sa
from agent_hosts import deployed, exists, guest_of, hot, polled, result_of
from engine_world import USER
from playing_guests import SECRET, beat, mark_of, output, run_of, sent, started, with_secret

from calor.server.engine.contract.progress_views import RunState
from calor.server.engine.guests.masking import MASK
from calor.server.engine.services.retaining import _rows
from calor.server.engine.services.run_states import percent_of
from calor.server.errors import BadRequest, Conflict, EntityNotFound
from calor.server.identity import Caller
from calor.server.store import queries
from calor.server.store.models import Resource

STRANGER = Caller(user_id="u2", project_id="p2", roles=frozenset({"member"}), user_name="u2", token="t2")


def test_percent_is_of_the_steps_that_are_done() -> None:
    assert [percent_of(text) for text in ("3/4 x", "task 1 of 5: y", "9/3", "none")] == [50, 0, None, None]


# --- states ------------------------------------------------------------------------------------------------


async def test_f190_a_deployment_is_queued_fetched_running_unreachable_finished(hosts: Any, world: Any) -> None:
    stack = await hosts.create("steps", with_secret(), parameters={"word": SECRET})
    who, _ = await guest_of(hosts, stack)
    await exists(hosts, stack, "d0")
    await hosts.until(lambda: _has_runs(hosts, stack))
    assert (await run_of(hosts, stack)).state is RunState.QUEUED
    found = await polled(hosts, who)
    assert (await run_of(hosts, stack)).state is RunState.FETCHED
    await hosts.orchestrator.guests.heartbeat(who, beat(found, doing="2/4 unpack", tail=f"has {SECRET}"))
    now = await run_of(hosts, stack)
    assert (now.state, now.step, now.percent) == (RunState.RUNNING, "2/4 unpack", 25)
    assert now.last_output == f"has {MASK.decode()}"
    world.clock.shift += timedelta(seconds=20)
    assert (await run_of(hosts, stack)).state is RunState.UNREACHABLE
    guests = (await hosts.orchestrator.progress.show(USER, stack.name, stack.id)).guests
    assert [guest.state for guest in guests] == ["unreachable"]
    await hosts.orchestrator.guests.result(who, result_of(found))
    await hosts.reached(stack, "CREATE_COMPLETE")
    assert (await run_of(hosts, stack)).state is RunState.FINISHED


async def _has_runs(hosts: Any, stack: Any) -> bool:
    return bool((await hosts.orchestrator.progress.show(USER, stack.name, stack.id)).runs)


async def test_a_run_has_its_resources_name_before_the_resource_is_durable_too(hosts: Any) -> None:
    stack, who, found = await started(hosts)
    database = hosts.orchestrator._tools.database
    async with database._engine.begin() as connection:
        await connection.execute(sa.update(Resource).where(Resource.name == "d0").values(physical_id=None))
    assert found.deployments[0]["name"] != "d0"
    now = await run_of(hosts, stack)
    assert (now.place.stack_id, now.place.resource_name) == (stack.id, "d0")
    assert (await hosts.orchestrator.runs.show(USER, now.id, now.id)).place.resource_name == "d0"
    await sent(hosts, who, found, b"hello\n", 0)
    assert [(one.place.stack_id, one.place.resource_name) for one in (await output(hosts, stack)).pieces] == [
        (stack.id, "d0")
    ]


async def test_what_is_nested_has_its_path_from_the_stack_that_was_asked_for(hosts: Any) -> None:
    inner = deployed() | {"outputs": {}}
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 2, "resource_def": {"type": "inner.yaml"}}}
    stack = await hosts.create("tree", hot({"g": group}), files={"inner.yaml": json.dumps(inner)})

    async def seen(of: Any) -> list[str]:
        view = await hosts.orchestrator.progress.show(USER, of.name, of.id)
        return sorted(one.place.path for one in [*view.guests, *view.runs])

    async def begun() -> bool:
        return len(await seen(stack)) == 4

    await hosts.until(begun)
    assert await seen(stack) == ["g/0/d0", "g/0/host", "g/1/d0", "g/1/host"]
    members = await hosts.resources(stack, depth=1)
    member = await hosts.stacks.identify(USER, members["1"].nested_name)
    assert await seen(member) == ["d0", "host"]


async def test_the_output_of_a_nested_resource_is_asked_for_by_its_path(hosts: Any) -> None:
    inner = deployed() | {"outputs": {}}
    nested = {name: {"type": "inner.yaml"} for name in ("m", "n")}
    stack = await hosts.create("tree", hot(nested), files={"inner.yaml": json.dumps(inner)})
    who, _ = await guest_of(hosts, await nested_in(hosts, stack, "m"))
    found = await polled(hosts, who)
    assert found.deployments
    await sent(hosts, who, found, b"hello\n", 0)
    texts = {name: await output(hosts, stack, resource=f"{name}/d0") for name in nested}
    assert sorted(len(page.pieces) for page in texts.values()) == [0, 1]
    with pytest.raises(EntityNotFound):
        await output(hosts, stack, resource="k/d0")


async def nested_in(hosts: Any, stack: Any, name: str) -> Any:
    async def there() -> bool:
        view = (await hosts.resources(stack)).get(name)
        return view is not None and view.nested_name is not None

    await hosts.until(there)
    return await hosts.stacks.identify(USER, (await hosts.resources(stack))[name].nested_name)


async def test_a_run_cut_short_is_interrupted(hosts: Any) -> None:
    stack, who, found = await started(hosts)
    await hosts.orchestrator.guests.result(who, {**result_of(found), "outcome": "interrupted", "reason": "reboot"})
    await hosts.reached(stack, "CREATE_FAILED")
    assert (await run_of(hosts, stack)).state is RunState.INTERRUPTED


async def test_secrets_are_hidden_before_the_resource_is_durable_too(
    hosts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(*_: Any) -> None:
        return None

    _, _, found = await started(hosts)
    tools = hosts.orchestrator._tools
    row = await tools.deployments.row(mark_of(found)["deployment_id"])
    tools.secrets._kept.clear()
    with monkeypatch.context() as early:
        early.setattr(queries, "resource_by_physical_id", nothing)
        assert (await tools.secrets.of(row)).text(SECRET) == MASK.decode()
        assert tools.secrets.known(row.run_id) is None, "what is not all there is not kept"
    assert (await tools.secrets.of(row)).text(SECRET) == MASK.decode()
    assert tools.secrets.known(row.run_id) is not None


async def test_the_reason_of_a_failure_hides_secrets(hosts: Any) -> None:
    stack, who, found = await started(hosts)
    await hosts.orchestrator.guests.result(who, result_of(found, code=1, deploy_stderr=f"login {SECRET} refused"))
    view = await hosts.reached(stack, "CREATE_FAILED")
    assert "refused" in view.status_reason
    assert SECRET not in view.status_reason


async def test_f164_users_read_deployments_and_derived_configs_without_secrets_and_guests_with_them(hosts: Any) -> None:
    stack, who, found = await started(hosts)
    assert SECRET in str(found.deployments), "the guest needs it"
    outputs = {"deploy_stdout": f"as {SECRET}", "deploy_stderr": f"{SECRET}!"}
    await hosts.orchestrator.guests.result(who, result_of(found, **outputs))
    await hosts.reached(stack, "CREATE_COMPLETE")
    (listed,) = await hosts.orchestrator.deployments.list(USER, None)
    shown = await hosts.orchestrator.deployments.show(USER, listed.id)
    assert shown == listed
    assert shown.input_values["word"] == "******"
    assert (shown.output_values["deploy_stdout"], shown.output_values["deploy_stderr"]) == ("as ******", "******!")
    config = await hosts.orchestrator.configs.show(USER, shown.config_id)
    inputs = {one["name"]: one["value"] for one in config.inputs}
    assert (inputs["word"], inputs["deploy_action"], config.config) == ("******", "CREATE", "echo")
    resource = await hosts.orchestrator.resources.show(USER, stack.name, stack.id, "d0", with_attr=["deploy_stdout"])
    assert resource.attributes["deploy_stdout"] == "as ******"
    tools = hosts.orchestrator.deployments._tools
    row = await tools.deployments.row(listed.id)
    assert SECRET in tools.deployments.value(row).output_values["deploy_stdout"], "templates keep the data"


async def test_f164_a_short_secret_input_is_masked_as_a_whole(hosts: Any) -> None:
    stack = await hosts.create("short", with_secret(), parameters={"word": "ab"})
    who, _ = await guest_of(hosts, stack)
    await polled(hosts, who)
    (shown,) = await hosts.orchestrator.deployments.list(USER, None)
    assert shown.input_values["word"] == "******"


# --- ending a run ------------------------------------------------------------------------------------------


async def test_a_cancelled_run_is_ended_by_its_guest_and_fails_with_the_name_of_who_asked(hosts: Any) -> None:
    stack, who, found = await started(hosts)
    mark = mark_of(found)
    assert await hosts.orchestrator.guests.heartbeat(who, beat(found)) == []
    view = await hosts.orchestrator.runs.cancel(USER, mark["deployment_id"])
    assert view.state is RunState.CANCELLING
    told = await hosts.orchestrator.guests.deployments(who, since=found.version, wait=5)
    assert told.cancelled == [mark["run_id"]]
    assert await hosts.orchestrator.guests.heartbeat(who, beat(found)) == [mark["run_id"]]
    cut = {**result_of(found, code=-1, deploy_stdout="half done"), "outcome": "interrupted", "reason": "told to stop"}
    await hosts.orchestrator.guests.result(who, cut)
    stack_view = await hosts.reached(stack, "CREATE_FAILED")
    assert "cancelled by user1" in stack_view.status_reason
    assert "half done" in stack_view.status_reason
    assert (await run_of(hosts, stack)).state is RunState.CANCELLED
    with pytest.raises(Conflict):
        await hosts.orchestrator.runs.cancel(USER, mark["deployment_id"])


async def test_a_run_that_ended_before_its_cancellation_came_counts_as_it_ended(hosts: Any) -> None:
    stack, who, found = await started(hosts)
    await hosts.orchestrator.runs.cancel(USER, mark_of(found)["deployment_id"])
    await hosts.orchestrator.guests.result(who, result_of(found))
    await hosts.reached(stack, "CREATE_COMPLETE")


async def test_a_cancelled_run_ends_though_its_guest_says_nothing(hosts: Any, world: Any) -> None:
    stack, _, found = await started(hosts)
    await hosts.orchestrator.runs.cancel(USER, mark_of(found)["deployment_id"])
    await hosts.orchestrator.runs.end_overdue()
    assert await hosts.state(stack) == "CREATE_IN_PROGRESS"
    world.clock.shift += timedelta(seconds=31)
    await hosts.orchestrator.runs.end_overdue()
    view = await hosts.reached(stack, "CREATE_FAILED")
    assert "did not confirm within 30 s" in view.status_reason


async def test_a_run_that_no_guest_was_told_of_is_cancelled_at_once_and_never_told(hosts: Any) -> None:
    stack = await hosts.create("queued", with_secret(), parameters={"word": SECRET})
    await hosts.until(lambda: _has_runs(hosts, stack))
    await hosts.orchestrator.runs.cancel(USER, (await run_of(hosts, stack)).id)
    await hosts.reached(stack, "CREATE_FAILED")
    server_id = (await run_of(hosts, stack)).server_id
    assert await hosts.orchestrator._tools.deployments.heat_json(server_id) == []


async def test_a_run_that_came_by_another_transport_is_not_ended(hosts: Any) -> None:
    """An agent whose server was out of reach goes by its metadata's transport, where a run has the config's id."""
    _, who, found = await started(hosts)
    config = found.deployments[0]["id"]
    foreign = {"run_id": config, "deployment_id": "", "step": "here", "doing": "", "tail": ""}
    assert await hosts.orchestrator.guests.heartbeat(who, {**beat(found), "running": [foreign]}) == []
    again = await hosts.orchestrator.guests.deployments(who, since=0, wait=0)
    assert again.cancelled == []


async def test_an_update_ends_the_run_that_it_makes_moot(hosts: Any) -> None:
    stack, who, found = await started(hosts)
    await hosts.orchestrator.guests.heartbeat(who, beat(found))
    await hosts.action(stack, "cancel_without_rollback")
    await hosts.reached(stack, "CREATE_FAILED")
    assert await hosts.orchestrator.guests.heartbeat(who, beat(found)) == []
    template = with_secret()
    template["resources"]["c"]["properties"]["config"] = "another"
    await hosts.update(stack, template, parameters={"word": SECRET})

    async def is_told() -> bool:
        return mark_of(found)["run_id"] in await hosts.orchestrator.guests.heartbeat(who, beat(found))

    await hosts.until(is_told)


async def test_nobody_cancels_what_is_another_projects(hosts: Any) -> None:
    _, _, found = await started(hosts)
    with pytest.raises(EntityNotFound):
        await hosts.orchestrator.runs.cancel(STRANGER, mark_of(found)["deployment_id"])


# --- on demand ---------------------------------------------------------------------------------------------


async def complete(hosts: Any) -> tuple[Any, Any, str]:
    stack, who, found = await started(hosts, "demand")
    await hosts.orchestrator.guests.result(who, result_of(found))
    await hosts.reached(stack, "CREATE_COMPLETE")
    return stack, who, mark_of(found)["deployment_id"]


async def test_a_run_with_an_input_that_the_config_does_not_have_is_refused(hosts: Any) -> None:
    _, _, ident = await complete(hosts)
    with pytest.raises(BadRequest, match=r"no input 'wrod' \(did you mean 'word'\?\)\. Its inputs are: .*word"):
        await hosts.orchestrator.runs.ask(USER, ident, {"input_values": {"wrod": "x"}})
    assert await hosts.orchestrator.runs.list(USER, ident) == []


async def test_f192_an_action_runs_on_demand_and_is_recorded(hosts: Any) -> None:
    stack, who, ident = await complete(hosts)
    runs = hosts.orchestrator.runs
    run = await runs.ask(USER, ident, {"action": "BACKUP", "input_values": {"target": "tape"}})
    assert (run.action, run.asked_by, run.status, run.source_id) == ("BACKUP", "user1", "IN_PROGRESS", ident)
    second = await runs.ask(USER, ident, {"action": "BACKUP"})
    with pytest.raises(Conflict):
        await runs.ask(USER, ident, {"action": "BACKUP", "policy": "refuse"})
    told = await polled(hosts, who, 3)
    mine = {one["calor"]["deployment_id"]: one for one in told.deployments}
    inputs = {one["name"]: one["value"] for one in mine[run.id]["inputs"]}
    assert (inputs["deploy_action"], inputs["target"], inputs["word"]) == ("BACKUP", "tape", SECRET)
    assert "deploy_signal_id" not in inputs
    place = [one["calor"]["deployment_id"] for one in told.deployments].index(run.id)
    await hosts.orchestrator.guests.result(who, result_of(told, place, o="saved"))
    ended = await runs.show(USER, ident, run.id)
    assert (ended.status, ended.output_values["o"], ended.state) == ("COMPLETE", "saved", RunState.FINISHED)
    assert [one.id for one in await runs.list(USER, ident)] == [run.id, second.id]
    assert await hosts.state(stack) == "CREATE_COMPLETE"
    told = await hosts.orchestrator.guests.deployments(who, since=0, wait=0)
    assert run.id not in [one["calor"]["deployment_id"] for one in told.deployments]  # never run again


async def test_f192_stock_clients_and_agents_of_others_see_no_run_on_demand(hosts: Any) -> None:
    stack, _, ident = await complete(hosts)
    run = await hosts.orchestrator.runs.ask(USER, ident, {"action": "BACKUP"})
    listed = await hosts.orchestrator.deployments.list(USER, None)
    assert [one.id for one in listed] == [ident]
    assert len(await hosts.orchestrator._tools.deployments.heat_json(run.server_id)) == 1
    await hosts.orchestrator.runs.cancel(USER, run.id)
    await hosts.delete(stack)
    await hosts.reached(stack, "DELETE_COMPLETE")
    with pytest.raises(EntityNotFound):
        await hosts.orchestrator.runs.show(USER, ident, run.id)


async def test_a_component_runs_only_actions_that_it_has(hosts: Any) -> None:
    template = deployed()
    parts = {
        "configs": [
            {"actions": ["CREATE"], "config": "a", "tool": "script"},
            {"actions": ["BACKUP"], "config": "b", "tool": "script"},
        ]
    }
    template["resources"]["c"] = {"type": "OS::Heat::SoftwareComponent", "properties": parts}
    del template["outputs"]
    stack = await hosts.create("component", template)
    who, _ = await guest_of(hosts, stack)
    found = await polled(hosts, who)
    await hosts.orchestrator.guests.result(who, result_of(found))
    await hosts.reached(stack, "CREATE_COMPLETE")
    ident = mark_of(found)["deployment_id"]
    assert (await hosts.orchestrator.runs.ask(USER, ident, {"action": "BACKUP"})).action == "BACKUP"
    with pytest.raises(BadRequest, match="BACKUP, CREATE"):
        await hosts.orchestrator.runs.ask(USER, ident, {"action": "ROTATE"})


# --- deleting without some resources ------------------------------------------------------------------------


async def test_f031_a_failed_deletion_goes_on_without_a_resource_that_the_cloud_keeps(hosts: Any, world: Any) -> None:
    stack, who, found = await started(hosts, "stuck")
    await hosts.orchestrator.guests.result(who, result_of(found))
    await hosts.reached(stack, "CREATE_COMPLETE")
    with pytest.raises(Conflict, match="CREATE_COMPLETE"):
        await hosts.stacks.delete(USER, stack.name, stack.id, retain=["host"])

    def refuse(verb: str, kind: str, facts: Any) -> None:
        if (verb, kind) == ("delete", "server"):
            raise RuntimeError("it will not go")

    world.cloud.faults.append(refuse)
    await hosts.delete(stack)
    await hosts.reached(stack, "DELETE_FAILED")
    with pytest.raises(BadRequest, match="no resource ghost"):
        await hosts.stacks.delete(USER, stack.name, stack.id, retain=["host", "ghost"])
    (kept,) = await hosts.stacks.delete(USER, stack.name, stack.id, retain=["host"])
    await hosts.reached(stack, "DELETE_COMPLETE")
    assert (kept.name, kept.type) == ("host", "Test::Host")
    assert list(world.cloud.records["server"]) == [kept.physical_id]


def test_a_nested_stack_is_not_retained_as_a_whole() -> None:
    class Tree:
        root = SimpleNamespace(id="root")
        inner: ClassVar[list[str]] = ["b", "a"]

        def named(self, _stack_id: str, name: str) -> list[Any]:
            return [SimpleNamespace(name=name, child_id="g-id")]

        def rows_of(self, _stack_id: str) -> list[Any]:
            return [SimpleNamespace(name=name) for name in self.inner]

    tree: Any = Tree()
    with pytest.raises(BadRequest, match=r"g is a nested stack, .*: name the resources in it .*, of g/a, g/b"):
        _rows(tree, "g")
    Tree.inner = []
    with pytest.raises(BadRequest, match="g is a nested stack, which cannot be kept as a whole: it is empty"):
        _rows(tree, "g")
