"""Who works on which tree: leases with epochs, their renewal, and the take-over from the dead."""

import asyncio
import os
import secrets
import socket
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from calor.server.engine.durable.clock import Clock
from calor.server.engine.durable.journal import Journal
from calor.server.errors import ServiceUnavailable
from calor.server.store import queries
from calor.server.store.database import Database
from calor.server.store.models import Lease
from calor.server.store.writes import Change, Fence, Insert, LeaseLost, Write


@dataclass(frozen=True, slots=True)
class Process:
    """A process, named so that another one on the same machine can tell whether it lives."""

    host: str
    machine: str
    pid: int
    started: str

    @classmethod
    def current(cls) -> "Process":
        pid = os.getpid()
        return cls(socket.gethostname()[:100], _machine(), pid, _start_of(pid))

    def owner(self) -> str:
        return "|".join((self.host, self.machine, str(self.pid), self.started, secrets.token_hex(4)))

    def knows_dead(self, owner: str) -> bool:
        """Certain only for processes of this machine, boot and PID namespace; an unknown one is taken for alive."""
        parts = owner.split("|")
        if len(parts) != 5 or parts[1] != self.machine or not parts[2].isdigit():
            return False
        return _start_of(int(parts[2])) != parts[3]


def _machine() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot[:13]}-{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:  # not Linux: leases then end by their time alone
        return secrets.token_hex(8)


def _start_of(pid: int) -> str:
    """When the process began, in the kernel's ticks; empty when there is no such process or it is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


class Leases:
    """The leases of one engine process."""

    def __init__(self, database: Database, journal: Journal, clock: Clock, ttl: timedelta) -> None:
        self._database = database
        self._journal = journal
        self._clock = clock
        self._ttl = ttl
        self._process = Process.current()
        self.owner = self._process.owner()
        self.held: dict[str, Fence] = {}

    def first(self, root_id: str) -> tuple[Fence, Write]:
        """The lease of a tree that this process is about to store."""
        fence = self.held[root_id] = Fence(root_id, self.owner, 1)
        until = self._clock.now() + self._ttl
        row = {"root_id": root_id, "owner": self.owner, "epoch": 1, "expires_at": until}
        return fence, Insert(Lease, row)

    async def take(self, root_id: str) -> Fence | None:
        """The lease, if it is free, expired, ours or a dead process's; else None."""
        if root_id in self.held:
            return self.held[root_id]
        now = self._clock.now()
        until = now + self._ttl
        row = await queries.acquire(self._database, root_id, self.owner, now=now, until=until)
        if row is None:
            holder = await queries.lease(self._database, root_id)
            if holder is None or not self._process.knows_dead(holder.owner):
                return None
            row = await queries.seize(self._database, root_id, self.owner, holder.owner, until=until)
        if row is None:
            return None
        fence = self.held[root_id] = Fence(root_id, self.owner, row.epoch)
        return fence

    async def wait_for(self, root_id: str) -> Fence:
        """The lease, waiting for the time that a crashed holder's takes to expire."""
        deadline = self._clock.steady() + 2 * self._ttl.total_seconds()
        while True:
            fence = await self.take(root_id)
            if fence is not None:
                return fence
            if self._clock.steady() > deadline:
                raise ServiceUnavailable("Another engine works on this stack. Try again in a few seconds.")
            await asyncio.sleep(0.2)

    async def is_held_elsewhere(self, root_id: str) -> bool:
        """Whether another process, not known to be dead, has the lease."""
        row = await queries.lease(self._database, root_id)
        if row is None or row.owner in ("", self.owner) or row.expires_at <= self._clock.now():
            return False
        return not self._process.knows_dead(row.owner)

    def given_back(self, fence: Fence) -> Write:
        """The write that frees the lease; it goes out with the last write of an operation."""
        return Change(
            Lease,
            {"root_id": fence.root_id, "owner": fence.owner, "epoch": fence.epoch},
            {"owner": "", "expires_at": self._clock.now()},
        )

    def forget(self, fence: Fence) -> None:
        if self.held.get(fence.root_id) == fence:
            del self.held[fence.root_id]

    async def renew(self) -> list[Fence]:
        """Renew all that are held; answers those that are lost."""
        held = list(self.held.values())
        results = await asyncio.gather(
            *(self._journal.commit([], fence=fence) for fence in held), return_exceptions=True
        )
        lost = [fence for fence, result in zip(held, results, strict=True) if isinstance(result, LeaseLost)]
        for fence in lost:
            self.forget(fence)
        return lost
