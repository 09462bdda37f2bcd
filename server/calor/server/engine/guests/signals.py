"""Received signals: numbered per resource, durable before anybody acts on them, none lost or counted twice."""

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.exc import IntegrityError

from calor.server.engine.durable.clock import Clock
from calor.server.engine.durable.hub import Hub
from calor.server.engine.durable.journal import Journal
from calor.server.engine.durable.sealing import Sealing
from calor.server.resources.base import Signal
from calor.server.store import guest_models, guest_queries
from calor.server.store.database import Database
from calor.server.store.writes import Insert

log = logging.getLogger(__name__)

KEPT = 512
LOOK_AGAIN = 20.0
"""Seconds after which a waiter reads the database though nobody woke it: a signal may have come in elsewhere."""


@dataclass
class _Turn:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


class Signals:
    """The signals of all resources, as one process sees them."""

    def __init__(self, database: Database, journal: Journal, hub: Hub, sealing: Sealing, clock: Clock) -> None:
        self._database = database
        self._journal = journal
        self._hub = hub
        self._sealing = sealing
        self._clock = clock
        self._known: OrderedDict[str, list[Signal]] = OrderedDict()
        self._turns: dict[str, _Turn] = {}

    async def add(self, resource_id: str, details: Mapping[str, Any]) -> Signal:
        """Number and store one signal, then wake who waits."""
        async with self.turn(f"number of {resource_id}"):
            while (stored := await self._store(resource_id, details)) is None:
                log.info("another process numbered a signal at the same time", extra={"resource": resource_id})
        self._hub.wake(("signal", resource_id))
        return stored

    @contextlib.asynccontextmanager
    async def turn(self, subject: str) -> AsyncIterator[None]:
        """One signal of a subject is acted on at a time; its lock lives only while somebody needs it."""
        lock = self._turns.setdefault(subject, _Turn())
        lock.users += 1
        try:
            async with lock.lock:
                yield
        finally:
            lock.users -= 1
            if not lock.users:
                self._turns.pop(subject, None)

    async def _store(self, resource_id: str, details: Mapping[str, Any]) -> Signal | None:
        known = await self._read(resource_id)
        number, at = len(known) + 1, self._clock.now()
        text = self._sealing.text(details)
        row = {"resource_id": resource_id, "number": number, "details": text, "received_at": at}
        try:
            await self._journal.commit([Insert(guest_models.Signal, row)])
        except IntegrityError:
            self._known.pop(resource_id, None)
            return None
        signal = Signal(number=number, details=details, received_at=at)
        known.append(signal)
        return signal

    async def of(self, resource_id: str) -> Sequence[Signal]:
        return tuple(await self._read(resource_id))

    async def more_than(self, resource_id: str, seen: int) -> None:
        """Wait until more than ``seen`` signals are there."""
        with self._hub.listen(("signal", resource_id)) as listener:
            while len(await self._read(resource_id)) <= seen:
                if not await listener.wait(LOOK_AGAIN):
                    self._known.pop(resource_id, None)

    async def _read(self, resource_id: str) -> list[Signal]:
        """The signals of one resource; those last asked for are kept in memory."""
        known = self._known.get(resource_id)
        if known is None:
            known = [
                Signal(number=row.number, details=self._sealing.value(row.details), received_at=row.received_at)
                for row in await guest_queries.signals(self._database, resource_id)
            ]
            known = self._known.setdefault(resource_id, known)
        self._known.move_to_end(resource_id)
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return known
