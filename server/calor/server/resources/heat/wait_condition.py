"""OS::Heat::WaitCondition and OS::Heat::WaitConditionHandle."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from calor.server.resources.base import Context, ResourceFailed, ResourceType
from calor.server.resources.declare import UPDATABLE, Since, attributes
from calor.server.resources.heat.signals import FAILURE, SUCCESS, Entry, entries_of, entry_of
from calor.server.template.properties import AllowedValues, AttributeSchema, Kind, Range, Support

TRANSPORTS = ("CFN_SIGNAL", "TEMP_URL_SIGNAL", "HEAT_SIGNAL", "NO_SIGNAL", "ZAQAR_SIGNAL", "TOKEN_SIGNAL")
UNSERVED = frozenset({"TEMP_URL_SIGNAL", "ZAQAR_SIGNAL"})
SELF_SIGNALLED = "no-signal:"
"""Begins the id of a handle that nobody signals: its condition counts it as signalled once."""


@dataclass(frozen=True, kw_only=True)
class HandleProps:
    signal_transport: Annotated[str, AllowedValues(*TRANSPORTS), Since("6.0.0")] = "TOKEN_SIGNAL"


class WaitConditionHandle(ResourceType[HandleProps]):
    """Where an instance signals to. ``curl_cli`` is a command that takes ``--data-binary`` after it.

    The endpoint's URL is signed: the token that Heat's templates send along opens nothing by itself.
    """

    name, props = "OS::Heat::WaitConditionHandle", HandleProps
    support = Support(since="2014.2")
    supports = frozenset({"signal", "suspend", "resume"})
    attributes = attributes(
        token=AttributeSchema(kind=Kind.STRING, cached=False),
        endpoint=AttributeSchema(kind=Kind.STRING, cached=False),
        curl_cli=AttributeSchema(kind=Kind.STRING, cached=False),
        signal=AttributeSchema(kind=Kind.STRING, cached=False),
    )

    async def create(self, at: Context, want: HandleProps) -> str:
        if want.signal_transport in UNSERVED:
            raise ResourceFailed(f"signal_transport {want.signal_transport} is not served here; use TOKEN_SIGNAL.")
        return (SELF_SIGNALLED if want.signal_transport == "NO_SIGNAL" else "") + at.me.physical_name

    async def suspend(self, at: Context, was: HandleProps) -> None:
        """Signals are refused by the stack's state."""

    async def resume(self, at: Context, was: HandleProps) -> None:
        """Signals are taken again by the stack's state."""

    async def signal(self, at: Context, details: Mapping[str, Any]) -> str:
        entry = entry_of(details, len(entries_of(await at.signals())) or 1)
        return f"status:{entry.status} reason:{entry.reason}"

    async def attribute(self, at: Context, was: HandleProps, name: str) -> Any:
        url = at.urls.signal(at.me.id)
        if name == "token":
            return at.me.id
        if name == "endpoint":
            return url
        if name == "curl_cli":
            return f"curl -i -X POST -H 'Content-Type: application/json' -H 'Accept: application/json' '{url}'"
        if name == "signal":
            return json.dumps({"alarm_url": url})
        return metadata_of(entries_of(await at.signals()))


@dataclass(frozen=True, kw_only=True)
class ConditionProps:
    handle: str
    timeout: Annotated[float, Range(1, 43200)]
    count: Annotated[int, UPDATABLE, Range(min=1)] = 1


class WaitCondition(ResourceType[ConditionProps]):
    """Complete once its handle has had ``count`` successes; failed at the first failure or when time is up."""

    name, props = "OS::Heat::WaitCondition", ConditionProps
    support = Support(since="2014.2")
    attributes = attributes(data=AttributeSchema(kind=Kind.STRING, cached=False))

    async def create(self, at: Context, want: ConditionProps) -> str:
        await at.remember(began=at.now().isoformat())
        return at.me.physical_name

    async def settle(self, at: Context, want: ConditionProps) -> None:
        began = datetime.fromisoformat(at.me.data["began"]) if "began" in at.me.data else at.now()
        left = want.timeout - (at.now() - began).total_seconds()
        if await self._is_met(at, want):  # also after time is up: signals that came while no server ran count
            return
        try:
            async with asyncio.timeout(max(0.0, left)):
                await self._met(at, want)
        except TimeoutError:
            got = len(successes(await entries(at, want.handle)))
            raise ResourceFailed(f"WaitConditionTimeout: {got} of {want.count} received") from None

    async def update(self, at: Context, want: ConditionProps, was: ConditionProps, changed: frozenset[str]) -> None:
        if want.count > was.count:
            await at.remember(began=at.now().isoformat())
        await self.settle(at, want)

    async def attribute(self, at: Context, was: ConditionProps, name: str) -> Any:
        found = await entries(at, was.handle)
        if name == "data":
            return json.dumps({ident: entry.data for ident, entry in found.items()})
        return metadata_of(found)

    async def _met(self, at: Context, want: ConditionProps) -> None:
        while True:
            signals = [] if want.handle.startswith(SELF_SIGNALLED) else await at.signals_of(want.handle)
            if await self._is_met(at, want):
                return
            await at.another_signal(len(signals), of=want.handle)

    async def _is_met(self, at: Context, want: ConditionProps) -> bool:
        """Raises `ResourceFailed` at the first failure."""
        found = await entries(at, want.handle)
        failures = [entry.reason for entry in found.values() if entry.status == FAILURE]
        if failures:
            raise ResourceFailed("WaitConditionFailure: " + ";".join(failures))
        return len(successes(found)) >= want.count


async def entries(at: Context, handle: str) -> Mapping[str, Entry]:
    if handle.startswith(SELF_SIGNALLED):
        return {"1": Entry("1", SUCCESS, "Signal 1 received", None)}
    return entries_of(await at.signals_of(handle))


def successes(found: Mapping[str, Entry]) -> list[Entry]:
    return [entry for entry in found.values() if entry.status == SUCCESS]


def metadata_of(found: Mapping[str, Entry]) -> dict[str, dict[str, Any]]:
    """The handle's metadata as Heat shows it."""
    return {
        ident: {"data": entry.data, "reason": entry.reason, "status": entry.status} for ident, entry in found.items()
    }
