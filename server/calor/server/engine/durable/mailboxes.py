"""A version per server that grows with each change its agent should see, and the one commit in which changes that
came together become visible together. Where several processes serve agents, each looks for what the others deliver."""

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy.exc import IntegrityError

from calor.server.engine.durable.hub import Hub
from calor.server.engine.durable.journal import Journal
from calor.server.store import guest_queries
from calor.server.store.database import Database
from calor.server.store.guest_models import Mailbox
from calor.server.store.writes import Add, Fence, Insert, Write

log = logging.getLogger(__name__)

QUIET = 0.015
"""Seconds without another change after which what has come is delivered: what becomes ready at once goes through the
same few steps, each some milliseconds apart, and an agent is to see it in one poll."""
POSTED = "mailboxes"
"""The hub's topic for any delivery."""
ROUNDS = 8
"""How often a delivery is put off at most for what nobody has announced."""
PATIENCE = 1.0
"""Seconds that a delivery waits at most for what is announced for the same server: a busy machine takes long for the
same few steps, and what takes longer still must not hold up its neighbours."""


@dataclass(frozen=True, eq=False)
class _Post:
    server_id: str
    writes: Sequence[Write]
    fence: Fence | None
    delivered: asyncio.Future[None]
    until: float
    """When it goes out whatever else is announced, on the loop's clock."""


class Mailboxes:
    def __init__(self, database: Database, journal: Journal, hub: Hub) -> None:
        self._database = database
        self._journal = journal
        self._hub = hub
        self._versions: dict[str, int] = {}
        self._waiting: list[_Post] = []
        self._announced: dict[str, set[str]] = {}
        self._round: asyncio.Task[None] | None = None

    async def version(self, server_id: str) -> int:
        """From memory, but for the first time that a server is asked for."""
        known = self._versions.get(server_id)
        if known is None:
            known = await guest_queries.mailbox(self._database, server_id)
            known = self._versions.setdefault(server_id, known)
        return known

    async def look_around(self) -> None:
        """Learn what other processes have delivered to the servers that are asked for here."""
        for server, version in (await guest_queries.mailboxes(self._database, list(self._versions))).items():
            if version > self._versions.get(server, version):
                self._versions[server] = version
                self._hub.wake(("mailbox", server))

    @contextlib.contextmanager
    def announced(self, server_id: str, subject: str) -> Iterator[None]:
        """Meanwhile a post on ``subject`` is being made ready: what else comes for this server waits for it."""
        self._announced.setdefault(server_id, set()).add(subject)
        try:
            yield
        finally:
            self._has_come(server_id, subject)

    def _has_come(self, server_id: str, subject: str) -> None:
        if subjects := self._announced.get(server_id):
            subjects.discard(subject)
            if not subjects:
                del self._announced[server_id]

    async def post(
        self, server_id: str, writes: Sequence[Write], fence: Fence | None = None, *, subject: str = ""
    ) -> None:
        """Write what an agent should see; durable and visible when it returns."""
        loop = asyncio.get_running_loop()
        delivered: asyncio.Future[None] = loop.create_future()
        self._waiting.append(_Post(server_id, writes, fence, delivered, loop.time() + PATIENCE))
        self._has_come(server_id, subject)
        if self._round is None:
            self._round = asyncio.create_task(self._deliver(), name="mailboxes")
        await delivered

    async def _deliver(self) -> None:
        """One delivery after the other, as long as there is something to deliver."""
        try:
            while self._waiting:
                await self._calm()
                posts = self._take_ready()
                if not posts:
                    continue
                try:
                    await self._commit(posts)
                except Exception as error:  # the outermost frame of a task: those who wait are told
                    log.exception("what agents should see could not be delivered")
                    for post in posts:
                        if not post.delivered.done():
                            post.delivered.set_exception(error)
        finally:
            self._round = None

    async def _calm(self) -> None:
        for _ in range(ROUNDS):
            count = len(self._waiting)
            await asyncio.sleep(QUIET)
            if len(self._waiting) == count:
                return

    def _take_ready(self) -> Sequence[_Post]:
        """What waits for nothing announced; once one of a server's posts is out of patience all of them go."""
        now = asyncio.get_running_loop().time()
        due = {post.server_id for post in self._waiting if post.until <= now}
        held = self._announced.keys() - due
        ready = [post for post in self._waiting if post.server_id not in held]
        self._waiting = [post for post in self._waiting if post.server_id in held]
        return ready

    async def _commit(self, posts: Sequence[_Post]) -> None:
        servers = sorted({post.server_id for post in posts})
        known = await guest_queries.mailboxes(self._database, servers)
        await asyncio.gather(*(self._make(server) for server in servers if server not in known))
        commits = [self._journal.commit([*post.writes, _grown(post.server_id)], fence=post.fence) for post in posts]
        results = await asyncio.gather(*commits, return_exceptions=True)
        self._versions |= await guest_queries.mailboxes(self._database, servers)
        for server in servers:
            self._hub.wake(("mailbox", server))
        self._hub.wake(POSTED)
        for post, result in zip(posts, results, strict=True):
            if post.delivered.done():
                continue
            if result is None:
                post.delivered.set_result(None)
            else:
                post.delivered.set_exception(result)

    async def _make(self, server_id: str) -> None:
        try:
            await self._journal.commit([Insert(Mailbox, {"server_id": server_id, "version": 0})])
        except IntegrityError:
            log.info("another process made a mailbox at the same time", extra={"server": server_id})

    def forget(self, server_id: str) -> None:
        self._versions.pop(server_id, None)


def _grown(server_id: str) -> Write:
    """In one commit with what it tells of: who sees the version sees that, in whatever process."""
    return Add(Mailbox, {"server_id": server_id}, {"version": 1})
