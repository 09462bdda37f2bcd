"""What is known of each guest: its last contact, its state, what it runs. In memory; written down now and then."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from calor.server.engine.clock import Clock
from calor.server.engine.journal import Journal
from calor.server.engine.reasons import bounded
from calor.server.store.guest_models import Guest
from calor.server.store.rows import GuestRow
from calor.server.store.writes import Change, Write

NEVER = "never contacted"
STATES = frozenset({"booted", "fetched", "running", "idle"})
WRITE_EVERY = timedelta(seconds=60)


@dataclass(frozen=True)
class Contact:
    """``running`` is what the last heartbeat named: run id, deployment id, step, tail of the output."""

    state: str = NEVER
    detail: str = ""
    at: datetime | None = None
    running: Sequence[Mapping[str, Any]] = field(default_factory=tuple)


class Contacts:
    """The guests that this process has heard of."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self._known: dict[str, Contact] = {}
        self._written: dict[str, datetime] = {}
        self._gone: set[str] = set()

    def is_gone(self, resource_id: str) -> bool:
        """Whether the server was deleted while this process ran."""
        return resource_id in self._gone

    def of(self, resource_id: str, row: GuestRow | None = None) -> Contact:
        known = self._known.get(resource_id)
        if known is not None or row is None:
            return known or Contact()
        return Contact(state=row.state, detail=row.detail, at=row.last_contact)

    def seen(self, resource_id: str) -> None:
        """An authenticated request: touches no database."""
        now = self._clock.now()
        known = self._known.get(resource_id, Contact())
        state = "booted" if known.state == NEVER else known.state
        self._known[resource_id] = replace(known, state=state, at=now)

    async def heartbeat(self, resource_id: str, body: Mapping[str, Any]) -> None:
        """A heartbeat; a change of state is durable when it returns."""
        now = self._clock.now()
        state = str(body.get("state", ""))
        running = tuple(item for item in body.get("running") or () if isinstance(item, Mapping))
        former = self._known.get(resource_id, Contact())
        contact = Contact(
            state=state if state in STATES else former.state,
            detail=bounded(str(body.get("detail") or ""), 2000),
            at=now,
            running=running[:50],
        )
        self._known[resource_id] = contact
        if contact.state != former.state or now - self._written.get(resource_id, now - WRITE_EVERY) >= WRITE_EVERY:
            await self._journal.commit([self._write(resource_id, contact)])

    async def write_down(self) -> None:
        """Store the last contacts that polls alone have moved."""
        writes = [
            self._write(resource_id, contact)
            for resource_id, contact in self._known.items()
            if contact.at is not None and contact.at > self._written.get(resource_id, contact.at - WRITE_EVERY)
        ]
        if writes:
            await self._journal.commit(writes)

    def forget(self, resource_id: str) -> None:
        self._gone.add(resource_id)
        self._known.pop(resource_id, None)
        self._written.pop(resource_id, None)

    def _write(self, resource_id: str, contact: Contact) -> Write:
        self._written[resource_id] = contact.at or self._clock.now()
        values = {"state": contact.state, "detail": contact.detail, "last_contact": contact.at}
        return Change(Guest, {"resource_id": resource_id}, values)


def sentence(server: str, contact: Contact, now: datetime) -> str:
    """What is known, for a reason that a user reads (F050)."""
    if contact.at is None or contact.state == NEVER:
        return (
            f"The guest of {server} has never contacted this server: it did not boot, its agent did not start, "
            "or it cannot reach the orchestration endpoint."
        )
    ago = int((now - contact.at).total_seconds())
    text = f"The guest of {server} last made contact at {contact.at:%Y-%m-%dT%H:%M:%SZ} ({ago} s ago), {contact.state}"
    if contact.running:
        steps = "; ".join(_step(item) for item in contact.running[:3])
        return f"{text}: {steps}."
    if contact.state == "idle":
        return f"{text}: its agent has nothing to run, yet no result of this deployment has reached this server."
    return f"{text}{': ' + contact.detail if contact.detail else ''}."


def _step(item: Mapping[str, Any]) -> str:
    step = item.get("step") or "a deployment that has not ended"
    tail = str(item.get("tail") or "").strip()
    return f"running {step}" + (f", last output: {bounded(tail, 600)}" if tail else "")
