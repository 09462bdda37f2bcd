"""OS::Heat::SwiftSignal and OS::Heat::SwiftSignalHandle: a wait condition signalled through the object store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

from calor.server.resources.base import Context, ReferenceId, ResourceFailed, ResourceType
from calor.server.resources.declare import attributes
from calor.server.resources.heat.drops import Drop, ObjectDrop
from calor.server.resources.heat.waiting import Waiting
from calor.server.template.properties import AttributeSchema, Kind, Range, Support


@dataclass(frozen=True, kw_only=True)
class SwiftHandleProps:
    """None."""


class SwiftSignalHandle(ResourceType[SwiftHandleProps]):
    """A TempURL to which an instance puts its signals; ``get_resource`` gives it."""

    name, props = "OS::Heat::SwiftSignalHandle", SwiftHandleProps
    support = Support(since="2014.2")
    reference_id = ReferenceId.OWN
    needs_trust = False
    attributes = attributes(
        token=AttributeSchema(kind=Kind.STRING, cached=False),
        endpoint=AttributeSchema(kind=Kind.STRING, cached=False),
        curl_cli=AttributeSchema(kind=Kind.STRING, cached=False),
    )

    def needs_services(self, properties: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
        return [("", "object-store")]

    async def create(self, at: Context, want: SwiftHandleProps) -> str:
        drop = ObjectDrop(at.stack.id, at.me.physical_name, versioned=True)
        await drop.open(at)
        await at.remember(url=await drop.url(at))
        return at.me.physical_name

    async def delete(self, at: Context, was: SwiftHandleProps | None) -> None:
        if at.me.physical_id:
            await ObjectDrop(at.stack.id, at.me.physical_name).close(at)

    async def reference(self, at: Context) -> Any:
        return at.me.data.get("url")

    async def attribute(self, at: Context, was: SwiftHandleProps, name: str) -> Any:
        known = {
            "token": "",
            "endpoint": at.me.data.get("url"),
            "curl_cli": f"curl -i -X PUT '{at.me.data.get('url')}'",
        }
        return known if name == "show" else known[name]


@dataclass(frozen=True, kw_only=True)
class SwiftSignalProps:
    handle: str
    timeout: Annotated[float, Range(1, 43200)]
    count: Annotated[int, Range(1, 1000)] = 1


class SwiftSignal(Waiting[SwiftSignalProps]):
    """Complete once ``count`` successes were put to its handle."""

    name, props, word = "OS::Heat::SwiftSignal", SwiftSignalProps, "SwiftSignal"
    support = Support(since="2014.2")
    attributes = attributes(data=Kind.STRING)

    def drop(self, at: Context, want: SwiftSignalProps) -> Drop | None:
        """Raises `ResourceFailed` for what is no TempURL of an object."""
        container, _, name = unquote(urlsplit(want.handle).path).partition("/v1/")[2].partition("/")[2].partition("/")
        if not container or not name or "temp_url_sig=" not in want.handle:
            raise ResourceFailed(
                "The handle is not the TempURL of an object: give get_resource of a SwiftSignalHandle."
            )
        return ObjectDrop(container, name, versioned=True)
