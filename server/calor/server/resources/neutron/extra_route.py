"""OS::Neutron::ExtraRouteSet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from calor.server.cloud.errors import CloudMissing
from calor.server.resources.base import Context, ResourceFailed, ResourceType
from calor.server.resources.collections import ROUTERS
from calor.server.resources.declare import UPDATABLE
from calor.server.resources.unresolved import is_same
from calor.server.template.properties import Custom, Support


@dataclass(frozen=True, kw_only=True)
class Route:
    destination: Annotated[str, Custom("net_cidr")]
    nexthop: Annotated[str, Custom("ip_addr")]


@dataclass(frozen=True, kw_only=True)
class ExtraRouteSetProps:
    router: Annotated[str, Custom("neutron.router")]
    routes: Annotated[tuple[Route, ...], UPDATABLE] = ()


class ExtraRouteSet(ResourceType[ExtraRouteSetProps]):
    """Routes of a router beside those of others, added and taken away without touching theirs. It has no object of its
    own; its id is the router's and its own."""

    name, props = "OS::Neutron::ExtraRouteSet", ExtraRouteSetProps
    support = Support(since="14.0.0")
    hidden_types: ClassVar[frozenset[str]] = frozenset({"OS::Neutron::RouterInterface"})

    def hidden_dependencies(
        self, mine: Mapping[str, Any], others: Mapping[str, tuple[str, Mapping[str, Any]]]
    ) -> frozenset[str]:
        """The legs of its router: a next hop must lie on the subnet of one."""
        router = mine.get("router")
        return frozenset(
            name
            for name, (kind, wanted) in others.items()
            if kind == "OS::Neutron::RouterInterface" and is_same(wanted.get("router", wanted.get("router_id")), router)
        )

    async def create(self, at: Context, want: ExtraRouteSetProps) -> str:
        taken = [route for route in want.routes if body_of(route) in await self._routes(at, want.router)]
        if taken:
            shown = ", ".join(f"{route.destination} by {route.nexthop}" for route in taken)
            raise ResourceFailed(f"The router {want.router} has these routes already: {shown}.")
        await self._call(at, want.router, "add_extraroutes", want.routes)
        return f"{want.router}:{at.me.id}"

    async def settle(self, at: Context, want: ExtraRouteSetProps) -> None:
        """The network service answers when the routes are there."""

    async def find_twin(self, at: Context, want: ExtraRouteSetProps) -> str | None:
        """They are added all at once: where one is, an interrupted creation of ours added it."""
        there = await self._routes(at, want.router)
        done = bool(want.routes) and all(body_of(route) in there for route in want.routes)
        return f"{want.router}:{at.me.id}" if done else None

    async def update(
        self, at: Context, want: ExtraRouteSetProps, was: ExtraRouteSetProps, changed: frozenset[str]
    ) -> None:
        await self._call(at, want.router, "remove_extraroutes", [one for one in was.routes if one not in want.routes])
        await self._call(at, want.router, "add_extraroutes", [one for one in want.routes if one not in was.routes])

    async def delete(self, at: Context, was: ExtraRouteSetProps | None) -> None:
        if was is None or at.me.physical_id is None:
            return
        try:
            await self._call(at, was.router, "remove_extraroutes", was.routes)
        except CloudMissing:
            return

    async def attribute(self, at: Context, was: ExtraRouteSetProps, name: str) -> Any:
        return dict(await at.cloud.get(ROUTERS, was.router))

    async def _routes(self, at: Context, router: str) -> list[Any]:
        return list((await at.cloud.get(ROUTERS, router)).get("routes") or ())

    async def _call(self, at: Context, router: str, what: str, routes: Sequence[Route]) -> None:
        if routes:
            body = {"router": {"routes": [body_of(route) for route in routes]}}
            await at.cloud.call("network", "put", f"/routers/{router}/{what}", json=body)


def body_of(route: Route) -> dict[str, str]:
    return {"destination": route.destination, "nexthop": route.nexthop}
