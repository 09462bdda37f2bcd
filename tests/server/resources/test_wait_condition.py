"""Wait conditions count the signals of their handle (agents.json, ``wait_condition_signals``)."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from calor.server.errors import BadRequest
from calor.server.resources.base import ResourceFailed
from calor.server.resources.heat.signals import entries_of, entry_of
from calor.server.resources.memory import MemoryContext, Workshop

Bench = Callable[..., MemoryContext]
CONDITION, HANDLE = "OS::Heat::WaitCondition", "OS::Heat::WaitConditionHandle"


async def test_a_condition_is_complete_after_as_many_successes_as_it_counts(workshop: Workshop, bench: Bench) -> None:
    handle, condition = bench(HANDLE), bench(CONDITION)
    ident = await handle.make()
    task = asyncio.ensure_future(condition.make(handle=ident, timeout=5, count=2))
    await workshop.send(str(ident), {"status": "SUCCESS", "data": "a"})
    await workshop.send(str(ident), {"id": "1", "data": "again"})
    await asyncio.sleep(0.02)
    assert not task.done(), "the same id twice is one"
    await workshop.send(str(ident), {"id": "two", "data": {"b": 1}})
    await task
    assert json.loads(await condition.read("data")) == {"1": "again", "two": {"b": 1}}
    assert (await handle.read("show"))["two"] == {
        "data": {"b": 1},
        "reason": "Signal two received",
        "status": "SUCCESS",
    }


async def test_the_first_failure_fails_it_with_the_reasons(workshop: Workshop, bench: Bench) -> None:
    ident = str(await bench(HANDLE).make())
    await workshop.send(ident, {"status": "FAILURE", "reason": "no disk"})
    with pytest.raises(ResourceFailed, match="WaitConditionFailure: no disk"):
        await bench(CONDITION).make(handle=ident, timeout=5)


async def test_time_that_is_up_says_how_many_came(workshop: Workshop, bench: Bench) -> None:
    ident = str(await bench(HANDLE).make())
    await workshop.send(ident, {})
    with pytest.raises(ResourceFailed, match=r"WaitConditionTimeout: 1 of 3 received - Signal .* received$"):
        await bench(CONDITION).make(handle=ident, timeout=0.05, count=3)


async def test_time_goes_on_over_a_crash(workshop: Workshop, bench: Bench) -> None:
    ident = str(await bench(HANDLE).make())
    condition = bench(CONDITION)
    want = condition.typed({"handle": ident, "timeout": 60})
    await condition.kind.create(condition, want)
    await condition.remember(began=datetime(2020, 1, 1, tzinfo=UTC).isoformat())
    with pytest.raises(ResourceFailed, match="0 of 1"):
        await condition.kind.settle(condition, want)


async def test_signals_that_came_in_time_count_after_a_late_restart(workshop: Workshop, bench: Bench) -> None:
    ident = str(await bench(HANDLE).make())
    condition = bench(CONDITION)
    want = condition.typed({"handle": ident, "timeout": 60})
    await condition.kind.create(condition, want)
    await workshop.send(ident, {})
    await condition.remember(began=datetime(2020, 1, 1, tzinfo=UTC).isoformat())
    await condition.kind.settle(condition, want)


async def test_a_larger_count_waits_for_more(workshop: Workshop, bench: Bench) -> None:
    ident = str(await bench(HANDLE).make())
    condition = bench(CONDITION)
    await workshop.send(ident, {})
    await condition.make(handle=ident, timeout=5)
    task = asyncio.ensure_future(condition.change(handle=ident, timeout=5, count=2))
    await asyncio.sleep(0.02)
    assert not task.done()
    await workshop.send(ident, {})
    await task


async def test_a_handle_without_signals_counts_as_signalled_once(bench: Bench) -> None:
    ident = await bench(HANDLE).make(signal_transport="NO_SIGNAL")
    await bench(CONDITION).make(handle=ident, timeout=1)


async def test_the_command_of_a_handle_takes_data_after_it(bench: Bench) -> None:
    handle = bench(HANDLE)
    await handle.make()
    command = await handle.read("curl_cli")
    assert command.startswith("curl -i -X POST -H 'Content-Type: application/json'")
    assert command.endswith(f"'{await handle.read('endpoint')}'")
    assert json.loads(await handle.read("signal")) == {"alarm_url": await handle.read("endpoint")}
    assert await handle.kind.signal(handle, {"status": "SUCCESS"}) == "status:SUCCESS reason:Signal 1 received"


def test_a_signal_with_another_key_or_status_is_refused_and_counts_for_nothing() -> None:
    for wrong in ({"colour": "red"}, {"status": "MAYBE"}):
        with pytest.raises(BadRequest):
            entry_of(wrong, 1)
        assert entries_of([wrong]) == {}


def test_a_signal_without_an_id_takes_the_place_of_none() -> None:
    found = entries_of([{"id": "2"}, {}, {"id": "5"}, {}, {"id": "2", "data": "again"}])
    assert list(found) == ["2", "3", "5", "4"]
    assert found["2"].data == "again"


def test_the_body_that_cfn_signal_sends_is_a_signal_too() -> None:
    sent = {"UniqueId": "me", "Status": "FAILURE", "Reason": "no", "Data": "x"}
    assert entry_of(sent, 1) == entry_of({"id": "me", "status": "FAILURE", "reason": "no", "data": "x"}, 1)
