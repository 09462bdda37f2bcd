"""Waiting for signals: what wait conditions and Swift signals share."""

import asyncio
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol, TypeVar

from calor.server.resources.base import Context, ResourceFailed, ResourceType
from calor.server.resources.heat import drops
from calor.server.resources.heat.drops import Drop
from calor.server.resources.heat.signals import FAILURE, SUCCESS, Entry, entries_of, entry_of

SELF_SIGNALLED = "no-signal:"
"""Begins the id of a handle that nobody signals: its condition counts it as signalled once."""


H = TypeVar("H")


class SignalledHandle(ResourceType[H]):
    """Where an instance signals to: what the handles of Heat and of CloudFormation share."""

    supports = frozenset({"signal", "suspend", "resume"})

    def check_signal(self, details: Mapping[str, Any]) -> None:
        entry_of(details, 1)

    async def suspend(self, at: Context, was: H) -> None:
        """Signals are refused by the stack's state."""

    async def resume(self, at: Context, was: H) -> None:
        """Signals are taken again by the stack's state."""

    async def signal(self, at: Context, details: Mapping[str, Any]) -> str:
        entry = entry_of(details, len(await received(at)) or 1)
        return f"status:{entry.status} reason:{entry.reason}"


async def received(at: Context) -> Mapping[str, Entry]:
    """What a handle has been sent."""
    return entries_of([one.details for one in await at.signals()])


class Wanted(Protocol):
    @property
    def handle(self) -> str: ...
    @property
    def timeout(self) -> float: ...
    @property
    def count(self) -> int: ...


P = TypeVar("P", bound=Wanted)


class Waiting(ResourceType[P]):
    """Complete once ``count`` successes have come in; failed at the first failure or when time is up."""

    word = "WaitCondition"

    def drop(self, at: Context, want: P) -> Drop | None:
        """Where signals are left, if they are not sent to us."""
        handle = at.handle(want.handle)
        return None if handle is None else drops.recorded(handle.data.get("drop"))

    async def create(self, at: Context, want: P) -> str:
        await at.remember(began=at.now().isoformat())
        return at.me.physical_name

    async def settle(self, at: Context, want: P) -> None:
        began = datetime.fromisoformat(at.me.data["began"]) if "began" in at.me.data else at.now()
        left = want.timeout - (at.now() - began).total_seconds()
        drop = self.drop(at, want)
        if drop is not None:
            await self._gather(at, drop, fresh=True)
        if await self._is_met(at, want):  # also after time is up: signals that came while no server ran count
            return
        try:
            async with asyncio.timeout(max(0.0, left)):
                await (self._met(at, want) if drop is None else self._left(at, want, drop))
        except TimeoutError:
            got = successes(await entries(at, want.handle))
            reasons = " - " + ";".join(entry.reason for entry in got) if got else ""
            raise ResourceFailed(f"{self.word}Timeout: {len(got)} of {want.count} received{reasons}") from None

    async def update(self, at: Context, want: P, was: P, changed: frozenset[str]) -> None:
        if want.count > was.count:
            await at.remember(began=at.now().isoformat())
        await self.settle(at, want)

    async def attribute(self, at: Context, was: P, name: str) -> Any:
        """``data``, or all of it."""
        found = await entries(at, was.handle)
        if name == "show":
            return metadata_of(found)
        return json.dumps({ident: entry.data for ident, entry in found.items()})

    async def _gather(self, at: Context, drop: Drop, *, fresh: bool) -> None:
        """Keep what was left for the handle: there it may expire."""
        known = at.me.data.get("received") or {}
        new = await drop.arrived(at, known, fresh=fresh)
        if new:
            await at.remember(received={**known, **new})

    async def _left(self, at: Context, want: P, drop: Drop) -> None:
        while not await self._is_met(at, want):
            await self._gather(at, drop, fresh=False)

    async def _met(self, at: Context, want: P) -> None:
        while True:
            signals = [] if want.handle.startswith(SELF_SIGNALLED) else await at.signals_of(want.handle)
            if await self._is_met(at, want):
                return
            await at.another_signal(len(signals), of=want.handle)

    async def _is_met(self, at: Context, want: P) -> bool:
        """Raises `ResourceFailed` at the first failure."""
        found = await entries(at, want.handle)
        failures = [entry.reason for entry in found.values() if entry.status == FAILURE]
        if failures:
            raise ResourceFailed(f"{self.word}Failure: " + ";".join(failures))
        return len(successes(found)) >= want.count


async def entries(at: Context, handle: str) -> Mapping[str, Entry]:
    if handle.startswith(SELF_SIGNALLED):
        return {"1": Entry("1", SUCCESS, "Signal 1 received", None)}
    left = at.me.data.get("received") or {}
    return entries_of([*(one.details for one in await at.signals_of(handle)), *left.values()])


def successes(found: Mapping[str, Entry]) -> list[Entry]:
    return [entry for entry in found.values() if entry.status == SUCCESS]


def metadata_of(found: Mapping[str, Entry]) -> dict[str, dict[str, Any]]:
    """The handle's metadata as Heat shows it."""
    return {
        ident: {"data": entry.data, "reason": entry.reason, "status": entry.status} for ident, entry in found.items()
    }
