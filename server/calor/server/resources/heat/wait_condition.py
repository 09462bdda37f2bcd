"""OS::Heat::WaitCondition and OS::Heat::WaitConditionHandle."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from calor.server.resources.base import Context
from calor.server.resources.declare import UPDATABLE, Since, attributes
from calor.server.resources.heat import drops
from calor.server.resources.heat.derived_config import account
from calor.server.resources.heat.drops import ObjectDrop
from calor.server.resources.heat.waiting import SELF_SIGNALLED, SignalledHandle, Waiting, metadata_of, received
from calor.server.template.properties import AllowedValues, AttributeSchema, Kind, Range, Support

TRANSPORTS = ("CFN_SIGNAL", "TEMP_URL_SIGNAL", "HEAT_SIGNAL", "NO_SIGNAL", "ZAQAR_SIGNAL", "TOKEN_SIGNAL")


@dataclass(frozen=True, kw_only=True)
class HandleProps:
    signal_transport: Annotated[str, AllowedValues(*TRANSPORTS), Since("6.0.0")] = "TOKEN_SIGNAL"


class WaitConditionHandle(SignalledHandle[HandleProps]):
    """Where an instance signals to. ``curl_cli`` is a command that takes ``--data-binary`` after it.

    The endpoint's URL is signed: the token that Heat's templates send along opens nothing by itself.
    """

    name, props = "OS::Heat::WaitConditionHandle", HandleProps
    support = Support(since="2014.2")
    attributes = attributes(
        token=AttributeSchema(kind=Kind.STRING, cached=False),
        endpoint=AttributeSchema(kind=Kind.STRING, cached=False),
        curl_cli=AttributeSchema(kind=Kind.STRING, cached=False),
        signal=AttributeSchema(kind=Kind.STRING, cached=False),
    )

    def needs_services(self, properties: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
        return drops.needed(properties)

    async def create(self, at: Context, want: HandleProps) -> str:
        if want.signal_transport == "TEMP_URL_SIGNAL":
            await at.remember(drop={"container": at.stack.id, "object": at.me.physical_name})
        if want.signal_transport == "ZAQAR_SIGNAL":
            await at.remember(drop={"queue": at.me.id})
        drop = drops.recorded(at.me.data.get("drop"))
        if drop is not None:
            await drop.open(at)
        if isinstance(drop, ObjectDrop):
            await at.remember(url=await drop.url(at))
        return (SELF_SIGNALLED if want.signal_transport == "NO_SIGNAL" else "") + at.me.physical_name

    async def delete(self, at: Context, was: HandleProps | None) -> None:
        drop = drops.recorded(at.me.data.get("drop"))
        if drop is not None:
            await drop.close(at)

    async def attribute(self, at: Context, was: HandleProps, name: str) -> Any:
        own = at.me.data.get("url")
        url = str(own or at.urls.signal(at.me.id))
        if name == "token":
            return at.me.id
        if name == "endpoint":
            return url
        if name == "curl_cli" and own:
            return f"curl -i -X PUT '{url}'"
        if name == "curl_cli":
            return f"curl -i -X POST -H 'Content-Type: application/json' -H 'Accept: application/json' '{url}'"
        if name == "signal":
            return json.dumps(await self._signal(at, was, url))
        return metadata_of(await received(at))

    async def _signal(self, at: Context, was: HandleProps, url: str) -> dict[str, str]:
        """What who signals needs, by the transport."""
        if was.signal_transport == "HEAT_SIGNAL":
            return {**await account(at), "stack_id": f"{at.stack.name}/{at.stack.id}", "resource_name": at.me.name}
        if was.signal_transport == "ZAQAR_SIGNAL":
            return {**await account(at), "queue_id": at.me.id}
        return {"alarm_url": url}


@dataclass(frozen=True, kw_only=True)
class ConditionProps:
    handle: str
    timeout: Annotated[float, Range(1, 43200)]
    count: Annotated[int, UPDATABLE, Range(min=1)] = 1


class WaitCondition(Waiting[ConditionProps]):
    """Complete once its handle has had ``count`` successes; failed at the first failure or when time is up."""

    name, props = "OS::Heat::WaitCondition", ConditionProps
    support = Support(since="2014.2")
    attributes = attributes(data=AttributeSchema(kind=Kind.STRING, cached=False))
