"""What agents of a server see together, whatever time each part of it takes."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from engine_world import World

from calor.server import store
from calor.server.engine.durable import mailboxes
from calor.server.engine.durable.clock import SystemClock
from calor.server.engine.durable.hub import Hub
from calor.server.engine.durable.journal import Journal
from calor.server.engine.durable.mailboxes import QUIET, Mailboxes
from calor.server.store import guest_queries

LONG = 8 * QUIET
"""Several quiet times: what is not waited for has gone out by then."""


@pytest.fixture
async def boxes(world: World) -> AsyncIterator[Any]:
    database = await store.open_database(world.url)
    journal = Journal(database, SystemClock(), timedelta(seconds=30))
    journal.start()
    yield Mailboxes(database, journal, Hub())
    await journal.stop()
    await database.close()


async def posted(boxes: Mailboxes, server: str, subject: str) -> int:
    """The version in which the post can be seen."""
    await boxes.post(server, [], subject=subject)
    return await boxes.version(server)


async def test_what_is_announced_for_a_server_is_seen_together_however_long_its_parts_take(boxes: Mailboxes) -> None:
    with boxes.announced("host", "slow"):
        quick = asyncio.create_task(posted(boxes, "host", "quick"))
        await asyncio.sleep(LONG)
        assert not quick.done()
        assert await guest_queries.mailbox(boxes._database, "host") == 0
        slow = await posted(boxes, "host", "slow")
    assert (await quick, slow) == (2, 2)


async def test_what_is_given_up_is_waited_for_no_more(boxes: Mailboxes) -> None:
    with boxes.announced("host", "never"):
        other = asyncio.create_task(posted(boxes, "host", "other"))
        await asyncio.sleep(LONG)
        assert not other.done()
    assert await asyncio.wait_for(other, 20) == 1
    assert boxes._announced == {}


async def test_other_servers_do_not_wait_for_what_is_announced_for_one(boxes: Mailboxes) -> None:
    with boxes.announced("host", "slow"):
        held = asyncio.create_task(posted(boxes, "host", "quick"))
        assert await asyncio.wait_for(posted(boxes, "neighbour", "quick"), 20) == 1
        assert not held.done()
    assert await held == 1


async def test_what_takes_too_long_holds_up_nobody(boxes: Mailboxes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailboxes, "PATIENCE", 0.2)
    with boxes.announced("host", "stuck"):
        assert await asyncio.wait_for(posted(boxes, "host", "other"), 20) == 1
