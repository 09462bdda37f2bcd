"""What is known of each guest: its last contact, its state, what it runs. In memory; written down now and then."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from calor.server.engine.durable.clock import Clock
from calor.server.engine.durable.journal import Journal
from calor.server.engine.durable.reasons import bounded
from calor.server.store.guest_models import Guest
from calor.server.store.rows import GuestRow
from calor.server.store.writes import Change, Write

NEVER = "never contacted"
SUBJECT = "The guest of "
STATES = frozenset({"booted", "fetched", "running", "idle"})
MOST_RUNNING = 50
UNREACHABLE = "unreachable"
MISSED = 3
SHORTEST_INTERVAL = 5.0
WRITE_EVERY = timedelta(seconds=60)


@dataclass(frozen=True)
class Contact:
    """``running`` is what the last heartbeat named: run id, deployment id, step, tail of the output; ``fetched`` are
    the runs that the guest was told of; ``interval`` is how often it means to call; ``heard`` is ``at`` by the
    steady clock of this process, ``stuck`` since when by that clock the guest says that it cannot go on."""

    state: str = NEVER
    detail: str = ""
    at: datetime | None = None
    running: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    fetched: frozenset[str] = frozenset()
    interval: float = 60.0
    agent: str = ""
    heard: float | None = None
    stuck: float | None = None

    def silence(self, now: float, since: float) -> timedelta:
        """How long nothing has been heard, as seen from ``since``; both of the steady clock."""
        return timedelta(seconds=now - max(since, since if self.heard is None else self.heard))

    def is_stuck(self, now: float, limit: timedelta) -> bool:
        """Whether the guest has said for so long that it cannot go on."""
        return self.stuck is not None and now - self.stuck >= limit.total_seconds()

    def is_unreachable(self, now: datetime) -> bool:
        """Silent for three intervals (F190)."""
        return self.at is not None and (now - self.at).total_seconds() > MISSED * max(self.interval, SHORTEST_INTERVAL)


class Contacts:
    """The guests that this process has heard of."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self._known: dict[str, Contact] = {}
        self._written: dict[str, datetime] = {}
        self._gone: set[str] = set()
        self._rows: dict[str, tuple[datetime | None, float | None]] = {}

    def is_gone(self, resource_id: str) -> bool:
        """Whether the server was deleted while this process ran."""
        return resource_id in self._gone

    def of(self, resource_id: str, row: GuestRow | None = None) -> Contact:
        known = self._known.get(resource_id)
        if row is None or row.last_contact is None:
            return known or Contact()
        elsewhere = self._elsewhere(resource_id, row)
        if known is None or known.at is None or (elsewhere.heard is not None and row.last_contact > known.at):
            return elsewhere
        return known

    def _elsewhere(self, resource_id: str, row: GuestRow) -> Contact:
        """What another process has written down of a guest, and when by our own clock that was seen to be new."""
        seen = self._rows.get(resource_id)
        if seen is None or seen[0] != row.last_contact:
            seen = self._rows[resource_id] = (row.last_contact, None if seen is None else self._clock.steady())
        return Contact(state=row.state, detail=row.detail, at=row.last_contact, heard=seen[1])

    def seen(self, resource_id: str) -> None:
        """An authenticated request: touches no database."""
        now = self._clock.now()
        known = self._known.get(resource_id, Contact())
        state = "booted" if known.state == NEVER else known.state
        self._known[resource_id] = replace(known, state=state, at=now, heard=self._clock.steady())

    def told(self, resource_id: str, runs: Iterable[str]) -> None:
        """The guest has been told of these runs."""
        known = self._known.get(resource_id, Contact())
        self._known[resource_id] = replace(known, fetched=frozenset(runs))

    async def heartbeat(self, resource_id: str, body: Mapping[str, Any], running: Sequence[Mapping[str, Any]]) -> None:
        """A heartbeat, with what runs as it may be shown; a change of state is durable when it returns."""
        now = self._clock.now()
        state = str(body.get("state", ""))
        former = self._known.get(resource_id, Contact())
        steady = self._clock.steady()
        contact = Contact(
            state=state if state in STATES else former.state,
            detail=bounded(str(body.get("detail") or ""), 2000),
            at=now,
            running=running[:MOST_RUNNING],
            fetched=former.fetched,
            interval=_seconds(body.get("interval")),
            agent=str(body.get("agent") or "")[:100],
            heard=steady,
            stuck=(former.stuck or steady) if body.get("stuck") is True else None,
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
        self._rows.pop(resource_id, None)

    def _write(self, resource_id: str, contact: Contact) -> Write:
        self._written[resource_id] = contact.at or self._clock.now()
        values = {"state": contact.state, "detail": contact.detail, "last_contact": contact.at}
        return Change(Guest, {"resource_id": resource_id}, values)


def _seconds(given: Any) -> float:
    return min(max(float(given), 1.0), 3600.0) if isinstance(given, int | float) else Contact.interval


def sentence(server: str, contact: Contact, now: datetime, ahead: Sequence[str] = ()) -> str:
    """What is known, for a reason that a user reads (F050). ``ahead``: what runs there before what is waited for."""
    if contact.at is None or contact.state == NEVER:
        return (
            f"{SUBJECT}{server} has never contacted this server: it did not boot, its agent did not start, "
            "or it cannot reach the orchestration endpoint."
        )
    ago = int((now - contact.at).total_seconds())
    text = f"{SUBJECT}{server} last made contact at {contact.at:%Y-%m-%dT%H:%M:%SZ} ({ago} s ago), {contact.state}"
    trouble = f"; it says: {contact.detail}" if contact.detail else ""
    if contact.running:
        steps = "; ".join(_step(item) for item in contact.running[:3])
        return f"{text}: {steps}{trouble}."
    if ahead:
        return f"{text}: this deployment waits behind {', '.join(ahead)}{trouble}."
    if contact.state == "idle" and not trouble:
        return f"{text}: its agent has nothing to run, yet no result of this deployment has reached this server."
    return f"{text}{trouble}."


def _step(item: Mapping[str, Any]) -> str:
    step = item.get("step") or "a deployment that has not ended"
    tail = str(item.get("tail") or "").strip()
    return f"running {step}" + (f", last output: {bounded(tail, 600)}" if tail else "")
