"""Signals, wait conditions, software deployments and the guests behind them."""

import asyncio
import dataclasses
import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from calor.server.cloud.door import Collection
from calor.server.engine.identities import StackGuests
from calor.server.errors import (
    Conflict,
    EntityNotFound,
    Forbidden,
    NotSupported,
    ResourceActionNotSupported,
    Unauthorized,
)
from calor.server.identity import Caller, hash_secret
from calor.server.resources.base import ResourceType

USER = Caller(user_id="u1", project_id="p1", roles=frozenset({"member"}), user_name="user1", token="t1")
SERVERS = Collection(service="compute", single="server", plural="servers")


@dataclasses.dataclass(frozen=True, kw_only=True)
class HostProps:
    size: int = 1


class Host(ResourceType[HostProps]):
    """A server with our agent."""

    name, props, collection = "Test::Host", HostProps, SERVERS
    has_metadata_endpoint = True

    async def create(self, at: Any, want: HostProps) -> str:
        await at.guests.bootstrap_token(at.me.id)
        record = await at.cloud.create(SERVERS, name=at.me.physical_name)
        return str(record["id"])


@pytest.fixture
async def hosts(world: Any, engine: Any) -> Any:
    known = engine.orchestrator._tools.registry
    known._types[Host.name] = Host()
    return engine


def hot(resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"heat_template_version": "2021-04-16", "resources": resources, **more}


def waiting(count: int, timeout: float = 30) -> dict[str, Any]:
    return hot(
        {
            "h": {"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": "HEAT_SIGNAL"}},
            "w": {
                "type": "OS::Heat::WaitCondition",
                "properties": {"handle": {"get_resource": "h"}, "count": count, "timeout": timeout},
            },
        },
        outputs={
            "d": {"value": {"get_attr": ["w", "data"]}},
            "url": {"value": {"get_attr": ["h", "endpoint"]}},
        },
    )


async def exists(engine: Any, stack: Any, name: str) -> None:
    async def there() -> bool:
        view = (await engine.resources(stack)).get(name)
        return view is not None and view.action.value != "INIT"

    await engine.until(there)


async def test_f035_parallel_signals_all_count(engine: Any) -> None:
    stack = await engine.create("f35", waiting(25))
    await exists(engine, stack, "h")
    await asyncio.gather(*(engine.signal(stack, "h", id=f"s{n}", data=str(n)) for n in range(25)))
    view = await engine.reached(stack, "CREATE_COMPLETE")
    assert view.outputs[0].value.count('"s') == 25


async def test_f044_early_signals_count_and_late_ones_change_nothing(engine: Any) -> None:
    early = waiting(1)
    early["resources"]["slow"] = {"type": "OS::Heat::TestResource", "properties": {"wait_secs": 0.3}}
    early["resources"]["w"]["depends_on"] = "slow"
    stack = await engine.create("f44", early)
    await exists(engine, stack, "h")
    await engine.signal(stack, "h", id="one", data="early")
    view = await engine.reached(stack, "CREATE_COMPLETE")
    assert view.outputs[0].value == '{"one": "early"}'
    before = len(await engine.events(stack))
    for _ in range(5):
        await engine.signal(stack, "h", id="one", status="FAILURE", data="late")
    assert len(await engine.events(stack)) <= before + 1
    assert (await engine.show(stack)).status.value == "COMPLETE"
    assert (await engine.show(stack)).outputs[0].value == '{"one": "early"}'


async def test_signed_urls_work_until_their_resource_is_gone(engine: Any, world: Any) -> None:
    stack = await engine.create("url", waiting(1))
    await exists(engine, stack, "h")
    view = await engine.orchestrator.resources.show(USER, stack.name, stack.id, "h", with_attr=[])
    url = urlsplit(view.attributes["endpoint"])
    query = dict(parse_qsl(url.query))
    guests = engine.orchestrator.guests
    with pytest.raises(Forbidden):
        await guests.signed_signal(url.path, {**query, "Signature": "x"}, "POST", {})
    await exists(engine, stack, "w")
    await asyncio.sleep(0.3)  # the condition waits, by its own measure of time
    world.clock.shift += timedelta(hours=25)
    await guests.signed_signal(url.path, query, "POST", {"data": "signed"})
    await engine.reached(stack, "CREATE_COMPLETE")
    await guests.signed_signal(url.path, query, "POST", {"status": "FAILURE"})
    await engine.delete(stack)
    await engine.reached(stack, "DELETE_COMPLETE")
    with pytest.raises(EntityNotFound):
        await guests.signed_signal(url.path, query, "POST", {})


async def test_f028_signals_during_delete_are_taken(engine: Any) -> None:
    template = waiting(1)
    template["resources"]["slow"] = {
        "type": "OS::Heat::TestResource",
        "depends_on": "h",
        "properties": {"action_wait_secs": {"delete": 0.4}},
    }
    stack = await engine.create("f28", template)
    await exists(engine, stack, "h")
    await engine.signal(stack, "h")
    await engine.reached(stack, "CREATE_COMPLETE")
    await engine.delete(stack)
    await engine.signal(stack, "h")
    await engine.reached(stack, "DELETE_COMPLETE")


async def test_signals_where_they_are_not_legal(engine: Any) -> None:
    stack = await engine.create("legal", waiting(1))
    await exists(engine, stack, "h")
    await exists(engine, stack, "w")
    with pytest.raises(ResourceActionNotSupported):
        await engine.signal(stack, "w")
    await engine.signal(stack, "h")
    await engine.reached(stack, "CREATE_COMPLETE")
    await engine.action(stack, "suspend")
    await engine.reached(stack, "SUSPEND_COMPLETE")
    with pytest.raises(NotSupported):
        await engine.signal(stack, "h")


async def test_a_wait_condition_that_times_out_says_how_many_came(engine: Any) -> None:
    stack = await engine.create("wt", waiting(2, timeout=1))
    await exists(engine, stack, "h")
    await engine.signal(stack, "h")
    view = await engine.reached(stack, "CREATE_FAILED")
    assert "WaitConditionTimeout: resources.w: 1 of 2 received" in view.status_reason


def deployed(count: int = 1, **more: Any) -> dict[str, Any]:
    resources: dict[str, Any] = {
        "host": {"type": "Test::Host"},
        "c": {
            "type": "OS::Heat::SoftwareConfig",
            "properties": {"group": "script", "config": "echo", "outputs": [{"name": "o"}]},
        },
    }
    for n in range(count):
        resources[f"d{n}"] = {
            "type": "OS::Heat::SoftwareDeployment",
            "properties": {
                "server": {"get_resource": "host"},
                "config": {"get_resource": "c"},
                "name": f"step-{9 - n}",
                **more,
            },
        }
    return hot(resources, outputs={"o": {"value": {"get_attr": ["d0", "o"]}}})


async def guest_of(engine: Any, stack: Any) -> tuple[Any, str]:
    """Enrolled as an agent does it: the identity, and the server's row id."""
    await exists(engine, stack, "host")

    async def begun() -> bool:
        return (await engine.resources(stack))["host"].status.value == "COMPLETE"

    await engine.until(begun)
    rows = await engine.orchestrator._tools.database.read(_hosts)
    resource_id = rows[-1]
    guests = engine.orchestrator.guests
    row = await engine.orchestrator._tools.identities.row(resource_id)
    token = engine.orchestrator._tools.identities.bootstrap_token(row)
    await guests.enrol(resource_id, token, hash_secret("secret"))
    bearer, _ = await guests.mint(resource_id, "secret")
    return await guests.instance_of_bearer(bearer), resource_id


async def _hosts(connection: Any) -> list[str]:
    import sqlalchemy as sa

    query = "SELECT id FROM resource WHERE type = 'Test::Host' ORDER BY created_at"
    return [row[0] for row in await connection.execute(sa.text(query))]


async def polled(engine: Any, who: Any, count: int = 1) -> Any:
    since = 0
    for _ in range(20):
        found = await engine.orchestrator.guests.deployments(who, since=since, wait=5)
        if found is not None and len(found.deployments) >= count:
            return found
        since = found.version if found else since
    raise AssertionError("no deployments came")


def result_of(found: Any, index: int = 0, code: int = 0, **outputs: Any) -> dict[str, Any]:
    mark = found.deployments[index]["calor"]
    return {
        "run_id": mark["run_id"],
        "deployment_id": mark["deployment_id"],
        "config_id": found.deployments[index]["id"],
        "outcome": "finished",
        "outputs": {"deploy_status_code": code, "deploy_stdout": "said", "deploy_stderr": "", **outputs},
    }


async def test_a_deployment_runs_and_its_output_comes_back(hosts: Any) -> None:
    stack = await hosts.create("dep", deployed())
    who, _ = await guest_of(hosts, stack)
    found = await polled(hosts, who)
    document = found.deployments[0]
    assert (document["group"], document["config"], document["name"]) == ("script", "echo", "step-9")
    guests = hosts.orchestrator.guests
    assert await guests.result(who, result_of(found, o="made inside")) is True
    assert await guests.result(who, result_of(found, code=1)) is False
    view = await hosts.reached(stack, "CREATE_COMPLETE")
    assert view.outputs[0].value == "made inside"


async def test_deployments_that_are_ready_together_are_seen_together_in_name_order(hosts: Any) -> None:
    stack = await hosts.create("many", deployed(5))
    who, _ = await guest_of(hosts, stack)
    found = await hosts.orchestrator.guests.deployments(who, since=0, wait=5)
    assert [one["name"] for one in found.deployments] == [f"step-{n}" for n in range(5, 10)]
    for index in range(5):
        await hosts.orchestrator.guests.result(who, result_of(found, index))
    await hosts.reached(stack, "CREATE_COMPLETE")
    assert await hosts.orchestrator.guests.deployments(who, since=found.version, wait=0.05) is None


async def test_a_failed_run_shows_its_code_and_last_lines(hosts: Any) -> None:
    stack = await hosts.create("bad", deployed())
    who, _ = await guest_of(hosts, stack)
    found = await polled(hosts, who)
    await hosts.orchestrator.guests.result(who, result_of(found, code=3, deploy_stderr="a\nno such disk"))
    view = await hosts.reached(stack, "CREATE_FAILED")
    assert "exited with non-zero status code: 3" in view.status_reason
    assert "no such disk" in view.status_reason


async def test_an_interrupted_run_is_a_failure(hosts: Any) -> None:
    stack = await hosts.create("cut", deployed())
    who, _ = await guest_of(hosts, stack)
    found = await polled(hosts, who)
    body = {**result_of(found), "outcome": "interrupted", "outputs": {}, "reason": "the machine rebooted"}
    await hosts.orchestrator.guests.result(who, body)
    view = await hosts.reached(stack, "CREATE_FAILED")
    assert "the machine rebooted" in view.status_reason


async def test_a_late_result_never_completes_a_newer_config(hosts: Any) -> None:
    stack = await hosts.create("late", deployed())
    who, _ = await guest_of(hosts, stack)
    old = await polled(hosts, who)
    await hosts.orchestrator.guests.result(who, result_of(old))
    await hosts.reached(stack, "CREATE_COMPLETE")
    await hosts.update(stack, deployed(input_values={"x": "2"}))
    new = await hosts.orchestrator.guests.deployments(who, since=old.version, wait=5)
    assert new.deployments[0]["calor"]["run_id"] != old.deployments[0]["calor"]["run_id"]
    await hosts.orchestrator.guests.result(who, result_of(old))
    await asyncio.sleep(0.1)
    assert await hosts.state(stack) == "UPDATE_IN_PROGRESS"
    await hosts.orchestrator.guests.result(who, result_of(new))
    await hosts.reached(stack, "UPDATE_COMPLETE")


async def test_a_rebuild_arms_the_enrolment_again(hosts: Any) -> None:
    stack = await hosts.create("rebuilt", deployed(signal_transport="NO_SIGNAL"))
    _, resource_id = await guest_of(hosts, stack)
    await hosts.reached(stack, "CREATE_COMPLETE")
    tools, guests = hosts.orchestrator._tools, hosts.orchestrator.guests
    token = tools.identities.bootstrap_token(await tools.identities.row(resource_id))
    await guests.enrol(resource_id, token, hash_secret("secret"))
    await StackGuests(tools.identities, tools.pushes, tools.verdicts, stack.id, stack.project_id).rearm(resource_id)
    with pytest.raises(Unauthorized):
        await guests.mint(resource_id, "secret")
    await guests.enrol(resource_id, token, hash_secret("another"))
    await guests.mint(resource_id, "another")


async def test_enrolment_is_for_one_secret_and_dies_with_the_server(hosts: Any) -> None:
    stack = await hosts.create("enrol", deployed(signal_transport="NO_SIGNAL"))
    _, resource_id = await guest_of(hosts, stack)
    await hosts.reached(stack, "CREATE_COMPLETE")
    tools, guests = hosts.orchestrator._tools, hosts.orchestrator.guests
    token = tools.identities.bootstrap_token(await tools.identities.row(resource_id))
    await guests.enrol(resource_id, token, hash_secret("secret"))
    with pytest.raises(Conflict):
        await guests.enrol(resource_id, token, hash_secret("another"))
    with pytest.raises(Forbidden):
        await guests.enrol(resource_id, "forged", hash_secret("secret"))
    with pytest.raises(Unauthorized):
        await guests.mint(resource_id, "guess")
    bearer, _ = await guests.mint(resource_id, "secret")
    await hosts.delete(stack)
    await hosts.reached(stack, "DELETE_COMPLETE")
    with pytest.raises(Unauthorized):
        await guests.instance_of_bearer(bearer)
    with pytest.raises(Unauthorized):
        await guests.mint(resource_id, "secret")


async def waits_for_its_result(hosts: Any, stack: Any, name: str) -> bool:
    """Its physical id is written down before it waits."""
    found = (await hosts.resources(stack)).get(name)
    return found is not None and found.physical_id is not None


@pytest.mark.parametrize(
    ("beat", "expected"),
    [
        (None, "has never contacted this server"),
        (
            {"state": "running", "running": [{"step": "apt", "tail": "Waiting for lock"}]},
            "running apt, last output: Waiting for lock",
        ),
        ({"state": "idle"}, "no result of this deployment has reached this server"),
    ],
)
async def test_f050_a_time_out_says_what_is_known_of_the_guest(
    hosts: Any, world: Any, beat: dict[str, Any] | None, expected: str
) -> None:
    stack = await hosts.create("f50", deployed(), timeout_mins=1)
    if beat is None:
        await exists(hosts, stack, "d0")
    else:
        who, _ = await guest_of(hosts, stack)
        found = await polled(hosts, who)
        mark = {name: found.deployments[0]["calor"][name] for name in ("run_id", "deployment_id")}
        running = [{**mark, **one} for one in beat.get("running", ())]
        await hosts.orchestrator.guests.heartbeat(who, {**beat, "running": running})
    await hosts.until(lambda: waits_for_its_result(hosts, stack, "d0"))
    operation = hosts.orchestrator._trees.find(stack.id)
    from calor.server.engine.operation import TIMED_OUT

    operation._run.stop_all(TIMED_OUT)
    view = await hosts.reached(stack, "CREATE_FAILED")
    assert expected in view.status_reason
    assert re.search(r"timed out", view.status_reason)


async def test_f026_a_delete_deployment_for_a_gone_server_does_not_block(hosts: Any, world: Any) -> None:
    stack = await hosts.create("f26", deployed(actions=["DELETE"]))
    await hosts.reached(stack, "CREATE_COMPLETE")
    world.cloud.objects["server"].clear()
    await hosts.delete(stack)
    await hosts.reached(stack, "DELETE_COMPLETE")


async def test_f070_configs_in_use_and_unknown_configs(hosts: Any) -> None:
    configs, deployments = hosts.orchestrator.configs, hosts.orchestrator.deployments
    config = await configs.create(USER, {"name": "c", "group": "script", "config": "x"})
    with pytest.raises(EntityNotFound):
        await deployments.create(USER, {"config_id": "nope", "server_id": "s"})
    made = await deployments.create(
        USER, {"config_id": config.id, "server_id": "s", "status": "IN_PROGRESS", "input_values": {"i": "y"}}
    )
    assert made.input_values == {"i": "y"}
    with pytest.raises(Conflict, match=made.id):
        await configs.delete(USER, config.id)
    assert [one["id"] for one in await deployments.metadata(USER, "s")] == [config.id]
    await deployments.update(USER, made.id, {"status": "COMPLETE", "output_values": {"o": "r"}})
    assert (await deployments.show(USER, made.id)).output_values == {"o": "r"}
    await deployments.delete(USER, made.id)
    await configs.delete(USER, config.id)


async def test_f064_an_unchanged_poll_touches_neither_database_nor_cloud_and_many_can_wait(hosts: Any) -> None:
    stack = await hosts.create("poll", deployed(signal_transport="NO_SIGNAL"))
    who, _ = await guest_of(hosts, stack)
    await hosts.reached(stack, "CREATE_COMPLETE")
    found = await polled(hosts, who)
    database, reads = hosts.orchestrator._tools.database, []
    calls = len(hosts.world.cloud.calls)
    original = database.read
    database.read = lambda work: reads.append(work) or original(work)
    polls = (hosts.orchestrator.guests.deployments(who, since=found.version, wait=0.3) for _ in range(2000))
    assert set(await asyncio.gather(*polls)) == {None}
    database.read = original
    assert reads == []
    for _ in range(20):  # what agents of OpenStack ask for
        await hosts.orchestrator.guests.metadata(who, stack.name, "host")
    assert len(hosts.world.cloud.calls) == calls


async def test_hidden_parameters_are_masked_everywhere(hosts: Any) -> None:
    template = hot(
        {"v": {"type": "OS::Heat::TestResource", "properties": {"value": {"get_param": "pw"}}}},
        parameters={"pw": {"type": "string", "hidden": True}},
    )
    stack = await hosts.create("hid", template, parameters={"pw": "S3CR3T"})
    view = await hosts.reached(stack, "CREATE_COMPLETE")
    resources = await hosts.resources(stack)
    environment = await hosts.stacks.environment(USER, stack.name, stack.id)
    assert "S3CR3T" not in repr((view, resources, environment))
    assert view.parameters["pw"] == "******"
    with open(hosts.world.url.removeprefix("sqlite:///") + "-wal", "rb") as wal:
        assert b"S3CR3T" not in wal.read()


async def test_f069_a_guest_out_of_contact_fails_its_deployment_long_before_the_stack_time_out(
    hosts: Any, world: Any
) -> None:
    stack = await hosts.create("silent", deployed())
    await exists(hosts, stack, "d0")
    await asyncio.sleep(0.2)
    world.clock.shift += timedelta(minutes=11)
    deployments = await hosts.orchestrator.deployments.list(USER, None)
    hosts.orchestrator._tools.hub.wake(("deployment", deployments[0].id))
    view = await hosts.reached(stack, "CREATE_FAILED")
    assert "contact time-out" in view.status_reason
    assert "has never contacted this server" in view.status_reason


async def test_f046_signals_that_change_nothing_do_not_flood_the_events(engine: Any) -> None:
    stack = await engine.create("f46", waiting(1))
    await exists(engine, stack, "h")
    await engine.signal(stack, "h")
    await engine.reached(stack, "CREATE_COMPLETE")
    before = len(await engine.events(stack))
    for _ in range(100):
        await engine.signal(stack, "h")
    assert len(await engine.events(stack)) <= before + 1
