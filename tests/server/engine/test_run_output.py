"""What runs print: in pieces, without secrets, by one process or several."""

import asyncio
import base64
import contextlib
import dataclasses
import json
from datetime import timedelta
from typing import Any

import pytest
from agent_hosts import guest_of, polled, result_of
from engine_world import running
from playing_guests import SECRET, output, printed, run_of, sent, started, with_secret

from calor.server.engine.contract.progress_views import OutputQuery, RunState
from calor.server.engine.guests.masking import MASK
from calor.server.engine.services import settling
from calor.server.errors import BadRequest, EntityNotFound, Forbidden
from calor.server.identity import Caller
from calor.server.store import pieces
from calor.server.store.guest_models import OutputPiece
from calor.server.store.writes import Insert

STRANGER = Caller(user_id="u2", project_id="p2", roles=frozenset({"member"}), user_name="u2", token="t2")


async def test_output_comes_in_pieces_none_doubled_or_lost_and_without_secrets(hosts: Any) -> None:
    stack, who, found = await started(hosts)
    assert (await sent(hosts, who, found, b"one\nsay s3c", 0))["stdout"] == 8
    assert (await sent(hosts, who, found, b"one\nsay s3c", 0))["stdout"] == 8  # the answer was lost
    assert (await sent(hosts, who, found, b"ay " + SECRET.encode() + b"\n\xff\xfe", 5))["stdout"] == 22
    assert await printed(hosts, stack) == b"one\nsay " + MASK + b"\n\xff\xfe"
    assert not (await output(hosts, stack)).over
    assert (await run_of(hosts, stack)).last_output.startswith("one\nsay ******")


async def test_who_follows_is_woken_and_told_when_it_is_over(hosts: Any) -> None:
    stack, who, found = await started(hosts)
    waiting = asyncio.create_task(output(hosts, stack, wait=10.0))
    await asyncio.sleep(0.05)
    await sent(hosts, who, found, b"hello\n", 0)
    page = await asyncio.wait_for(waiting, 2)
    assert [(piece.place.resource_name, piece.data) for piece in page.pieces] == [("d0", b"hello\n")]
    assert not page.over
    await hosts.orchestrator.guests.result(who, result_of(found))
    await hosts.reached(stack, "CREATE_COMPLETE")
    assert (await output(hosts, stack, since=page.next, wait=10.0)).over


async def test_output_outlives_a_restart_its_server_and_its_stack(hosts: Any, world: Any) -> None:
    stack, who, found = await started(hosts)
    await sent(hosts, who, found, b"first\n", 0)
    async with running(world) as other:
        other.orchestrator._tools.registry._types.update(hosts.orchestrator._tools.registry._types)
        assert (await sent(other, who, found, b"first\nsecond\n", 0))["stdout"] == 13
    await hosts.orchestrator.guests.result(who, result_of(found))
    await hosts.reached(stack, "CREATE_COMPLETE")
    await hosts.delete(stack)
    await hosts.reached(stack, "DELETE_COMPLETE")
    assert await printed(hosts, stack) == b"first\nsecond\n"
    with pytest.raises(EntityNotFound):
        await hosts.orchestrator.progress.output(STRANGER, stack.name, stack.id, OutputQuery())
    await hosts.orchestrator._tools.outputs.forget_older(timedelta(seconds=-5))
    assert await printed(hosts, stack) == b""


async def test_output_of_an_agent_that_does_not_stream_is_there_once_it_has_ended(hosts: Any) -> None:
    stack, who, found = await started(hosts)
    await hosts.orchestrator.guests.result(who, result_of(found, deploy_stdout=f"whole {SECRET}\n"))
    await hosts.reached(stack, "CREATE_COMPLETE")
    assert await printed(hosts, stack) == b"whole " + MASK + b"\n"


async def test_only_the_tail_of_endless_output_is_kept(hosts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calor.server.engine.guests.run_outputs.KEPT", 1000)
    stack, who, found = await started(hosts)
    for number in range(20):
        await sent(hosts, who, found, b"%099d\n" % number, number * 100)
    kept = await printed(hosts, stack)
    assert len(kept) < 1500
    assert kept.endswith(b"%099d\n" % 19)


async def test_another_guests_output_is_refused_and_that_of_a_former_run_is_not_wanted(hosts: Any) -> None:
    _, who, found = await started(hosts)
    _, other, _ = await started(hosts, "other")
    with pytest.raises(Forbidden):
        await sent(hosts, other, found, b"x", 0)
    with pytest.raises(BadRequest):
        await sent(hosts, who, found, b"x", -1)
    assert await sent(hosts, who, found, b"x", 0, run_id="former") is None


async def test_a_stack_shows_what_those_nested_in_it_print_and_a_nested_one_its_own(hosts: Any) -> None:
    inner = {**with_secret(), "outputs": {}}
    resources = {"group": {"type": "inner.yaml", "properties": {"word": SECRET}}}
    outer = {"heat_template_version": "2021-04-16", "resources": resources}
    stack = await hosts.create("outer", outer, files={"inner.yaml": json.dumps(inner)})

    async def begun() -> bool:
        return "d0" in await hosts.resources(stack, 2)

    await hosts.until(begun)
    child = (await hosts.resources(stack, 2))["d0"].stack
    who, _ = await guest_of(hosts, child)
    found = await polled(hosts, who)
    await sent(hosts, who, found, b"inner " + SECRET.encode() + b"\n", 0)
    for whose in (stack, child):
        (piece,) = (await output(hosts, whose)).pieces
        assert (piece.place.stack_name, piece.place.resource_name) == (child.name, "d0")
        assert piece.data == b"inner " + MASK + b"\n"
        assert (await run_of(hosts, whose)).state is RunState.FETCHED
    assert (await output(hosts, stack, resource="other")).pieces == []


# --- several processes -------------------------------------------------------------------------------------


async def another(world: Any, hosts: Any, stack: contextlib.AsyncExitStack) -> Any:
    """A second process on the same database."""
    other = await stack.enter_async_context(running(world))
    other.orchestrator._tools.registry._types.update(hosts.orchestrator._tools.registry._types)
    return other


async def followed(engine: Any, stack: Any) -> list[tuple[int, bytes]]:
    """All that somebody who follows from the beginning to the end reads."""
    found: list[tuple[int, bytes]] = []
    since = 0
    while True:
        page = await output(engine, stack, since=since, wait=5.0)
        found += [(piece.begin, piece.data) for piece in page.pieces]
        since = page.next
        if page.over:
            return found


async def test_who_follows_at_one_process_reads_what_another_takes_each_piece_once_and_in_order(
    hosts: Any, world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calor.server.engine.services.progress.LOOK_AGAIN", 0.02)
    async with contextlib.AsyncExitStack() as opened:
        other = await another(world, hosts, opened)
        stack, who, found = await started(hosts)
        followers = [asyncio.create_task(followed(engine, stack)) for engine in (hosts, other, other)]
        lines = [b"line %02d\n" % number for number in range(30)]
        for number, line in enumerate(lines):  # a balancer in front of both: each takes some
            assert (await sent((hosts, other)[number % 3 % 2], who, found, line, number * 8))[
                "stdout"
            ] == number * 8 + 8
            await asyncio.sleep(0.002)
        await hosts.orchestrator.guests.result(who, result_of(found))
        await hosts.reached(stack, "CREATE_COMPLETE")
        whole = [(number * 8, line) for number, line in enumerate(lines)]
        for follower in followers:
            assert await asyncio.wait_for(follower, 10) == whole


async def test_a_piece_that_comes_to_two_processes_is_kept_once(hosts: Any, world: Any) -> None:
    async with contextlib.AsyncExitStack() as opened:
        other = await another(world, hosts, opened)
        stack, who, found = await started(hosts)
        await sent(hosts, who, found, b"one\n", 0)
        await sent(other, who, found, b"one\ntwo\n", 0)
        assert (await sent(hosts, who, found, b"two\nthree\n", 4))["stdout"] in (8, 14)
        assert (await sent(hosts, who, found, b"three\n", 8))["stdout"] == 14
        assert (await sent(other, who, found, b"four\n", 14))["stdout"] == 19
        assert await printed(other, stack) == b"one\ntwo\nthree\nfour\n"


async def test_nobody_reads_past_a_piece_that_was_numbered_and_is_not_yet_committed(hosts: Any, world: Any) -> None:
    """Two writers, of whom the first commits last (PostgreSQL, MariaDB): played with numbers of our own."""
    stack, who, found = await started(hosts)
    await sent(hosts, who, found, b"first\n", 0)
    assert await printed(hosts, stack) == b"first\n"
    (row,) = await pieces.after(hosts.database, 0, until=1 << 40)
    later = {**vars_of(row), "number": row.number + 2, "begin": 13, "end": 20, "data": sealed(hosts, b"third!\n")}
    between = {**later, "number": row.number + 1, "begin": 6, "end": 13, "data": sealed(hosts, b"second\n")}
    await insert(hosts, later)
    reading = asyncio.create_task(output(hosts, stack, since=row.number))
    await asyncio.sleep(0.05)
    assert not reading.done(), "held at the number that is missing"
    await insert(hosts, between)
    page = await asyncio.wait_for(reading, 1.5)
    assert [piece.data for piece in page.pieces] == [b"second\n", b"third!\n"]
    await insert(hosts, {**later, "number": row.number + 9, "begin": 20, "end": 27, "data": sealed(hosts, b"fourth\n")})
    reading = asyncio.create_task(output(hosts, stack, since=page.next))
    await asyncio.sleep(0.05)
    assert not reading.done()
    world.clock.shift += timedelta(seconds=settling.PATIENCE)
    (piece,) = (await reading).pieces
    assert piece.data == b"fourth\n", "what nobody can be writing any more is not waited for"


def vars_of(row: Any) -> dict[str, Any]:
    return {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}


def sealed(hosts: Any, data: bytes) -> str:
    return str(hosts.orchestrator._tools.sealing.secret(base64.b64encode(data).decode()))


async def insert(hosts: Any, values: dict[str, Any]) -> None:
    await hosts.orchestrator._tools.journal.commit([Insert(OutputPiece, values)])
