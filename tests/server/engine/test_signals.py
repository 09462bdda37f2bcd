"""Signals and wait conditions: early, late, many at once, where they are not legal."""

import asyncio
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from agent_hosts import exists, waiting
from engine_world import USER

from calor.server.errors import (
    EntityNotFound,
    Forbidden,
    NotSupported,
    ResourceActionNotSupported,
)


async def test_f035_parallel_signals_all_count(engine: Any) -> None:
    for turn in range(20):
        stack = await engine.create(f"f35-{turn}", waiting(25))
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


async def test_f046_signals_that_change_nothing_do_not_flood_the_events(engine: Any) -> None:
    stack = await engine.create("f46", waiting(1))
    await exists(engine, stack, "h")
    await engine.signal(stack, "h")
    await engine.reached(stack, "CREATE_COMPLETE")
    before = len(await engine.events(stack))
    for _ in range(100):
        await engine.signal(stack, "h")
    assert len(await engine.events(stack)) <= before + 1
