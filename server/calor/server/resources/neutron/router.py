"""OS::Neutron::Router and OS::Neutron::RouterInterface."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from calor.server.cloud.errors import CloudConflict, CloudMissing, CloudRefused
from calor.server.resources.base import Context, ResourceType
from calor.server.resources.bodies import id_of
from calor.server.resources.collections import NETWORKS, PORTS, ROUTERS
from calor.server.resources.declare import UNORDERED, UPDATABLE, Hidden, Since, attributes
from calor.server.resources.neutron.agents import place
from calor.server.resources.neutron.objects import NetworkObject, same_network
from calor.server.template.properties import Custom, Kind


@dataclass(frozen=True, kw_only=True)
class ExternalFixedIp:
    ip_address: Annotated[str | None, Custom("ip_addr")] = None
    subnet: Annotated[str | None, Custom("neutron.subnet")] = None


@dataclass(frozen=True, kw_only=True)
class Gateway:
    network: Annotated[str, UPDATABLE]
    enable_snat: Annotated[bool | None, UPDATABLE] = None
    external_fixed_ips: Annotated[tuple[ExternalFixedIp, ...] | None, UPDATABLE, Since("6.0.0")] = None


@dataclass(frozen=True, kw_only=True)
class RouterProps:
    name: Annotated[str | None, UPDATABLE] = None
    external_gateway_info: Annotated[Gateway | None, UPDATABLE] = None
    value_specs: Annotated[Mapping[str, Any], UPDATABLE] = field(default_factory=dict)
    admin_state_up: Annotated[bool, UPDATABLE] = True
    l3_agent_id: Annotated[str | None, UPDATABLE, Hidden("6.0.0")] = None
    l3_agent_ids: Annotated[tuple[str, ...] | None, UPDATABLE, Since("2015.1")] = None
    distributed: Annotated[bool | None, Since("2015.1")] = None
    ha: Annotated[bool | None, Since("2015.1")] = None
    availability_zone_hints: Annotated[tuple[Any, ...] | None, UPDATABLE, Since("19.0.0")] = None
    tags: Annotated[tuple[str, ...] | None, UNORDERED, UPDATABLE, Since("9.0.0")] = None
    tenant_id: Annotated[str | None, Since("24.0.0")] = None


class Router(NetworkObject[RouterProps]):
    """A router, with its way out."""

    name, props = "OS::Neutron::Router", RouterProps
    collection = ROUTERS
    ready = frozenset({"ACTIVE", "DOWN"})
    has_tags = True
    attributes = attributes(
        status=Kind.STRING,
        external_gateway_info=Kind.MAP,
        name=Kind.STRING,
        admin_state_up=Kind.STRING,
        tenant_id=Kind.STRING,
    )

    def validate(self, properties: Mapping[str, Any]) -> Sequence[str]:
        problems = []
        agents = properties.get("l3_agent_ids")
        if properties.get("ha") is True and properties.get("distributed") is True:
            problems.append("A router is distributed or ha, not both.")
        if properties.get("l3_agent_id") is not None and agents is not None:
            problems.append("Give l3_agent_ids only, without l3_agent_id.")
        if isinstance(agents, list) and len(agents) > 1 and properties.get("ha") is not True:
            problems.append("Several l3_agent_ids need ha: true.")
        return problems

    def hidden_dependencies(
        self, mine: Mapping[str, Any], others: Mapping[str, tuple[str, Mapping[str, Any]]]
    ) -> frozenset[str]:
        gateway = mine.get("external_gateway_info")
        return same_network(others, gateway.get("network") if isinstance(gateway, Mapping) else None)

    async def body(self, at: Context, want: RouterProps) -> dict[str, Any]:
        return {
            "name": want.name or at.me.physical_name,
            "admin_state_up": want.admin_state_up,
            "external_gateway_info": await self._gateway(at, want.external_gateway_info),
            "distributed": want.distributed,
            "ha": want.ha,
            "availability_zone_hints": want.availability_zone_hints,
            "tenant_id": want.tenant_id,
            **want.value_specs,
        }

    def request(self, body: dict[str, Any]) -> dict[str, Any]:
        """Without a gateway means the empty map to the service."""
        if body.get("external_gateway_info", {}) is None:
            return {**body, "external_gateway_info": {}}
        return body

    async def settle(self, at: Context, want: RouterProps) -> None:
        await super().settle(at, want)
        await place(at, "l3-routers", "router_id", agents_of(want), ())

    async def update(self, at: Context, want: RouterProps, was: RouterProps, changed: frozenset[str]) -> None:
        await super().update(at, want, was, changed)
        await place(at, "l3-routers", "router_id", agents_of(want), agents_of(was))

    async def _gateway(self, at: Context, want: Gateway | None) -> dict[str, Any] | None:
        if want is None:
            return None
        body: dict[str, Any] = {"network_id": await id_of(at.cloud, NETWORKS, want.network)}
        if want.enable_snat is not None:
            body["enable_snat"] = want.enable_snat
        if want.external_fixed_ips is not None:
            body["external_fixed_ips"] = [
                {
                    **({"ip_address": fixed.ip_address} if fixed.ip_address else {}),
                    **({"subnet_id": fixed.subnet} if fixed.subnet else {}),
                }
                for fixed in want.external_fixed_ips
            ]
        return body


def agents_of(want: RouterProps) -> tuple[str, ...]:
    return want.l3_agent_ids or ((want.l3_agent_id,) if want.l3_agent_id else ())


@dataclass(frozen=True, kw_only=True)
class RouterInterfaceProps:
    router: Annotated[str, Custom("neutron.router")]
    router_id: Annotated[str | None, Custom("neutron.router"), Hidden("6.0.0")] = None
    subnet_id: Annotated[str | None, Custom("neutron.subnet"), Hidden("5.0.0")] = None
    subnet: Annotated[str | None, Custom("neutron.subnet")] = None
    port_id: Annotated[str | None, Custom("neutron.port"), Hidden("6.0.0")] = None
    port: Annotated[str | None, Custom("neutron.port"), Since("2015.1")] = None


class RouterInterface(ResourceType[RouterInterfaceProps]):
    """A router's leg on a subnet. Its id is ROUTER:subnet_id=SUBNET (or port_id); it is its own natural key."""

    name, props = "OS::Neutron::RouterInterface", RouterInterfaceProps
    moved: ClassVar[Mapping[str, str]] = {"router_id": "router", "subnet_id": "subnet", "port_id": "port"}

    def validate(self, properties: Mapping[str, Any]) -> Sequence[str]:
        given = [key for key in ("subnet", "port") if properties.get(key) is not None]
        return () if len(given) == 1 else ["Give either subnet or port."]

    async def create(self, at: Context, want: RouterInterfaceProps) -> str:
        key, value = ("subnet_id", want.subnet) if want.subnet else ("port_id", want.port)
        try:
            await at.cloud.call("network", "put", f"/routers/{want.router}/add_router_interface", json={key: value})
        except (CloudConflict, CloudRefused):
            if not await self._is_there(at, want):
                raise
        return f"{want.router}:{key}={value}"

    async def settle(self, at: Context, want: RouterInterfaceProps) -> None:
        """The network service answers when the leg is there."""

    async def delete(self, at: Context, was: RouterInterfaceProps | None) -> None:
        router, _, leg = (at.me.physical_id or "").partition(":")
        key, _, value = leg.partition("=")
        if not value:
            return
        try:
            path = f"/routers/{router}/remove_router_interface"
            await at.cloud.call("network", "put", path, json={key: value})
        except CloudMissing:
            return

    async def release(self, at: Context, was: RouterInterfaceProps, want: RouterInterfaceProps | None) -> None:
        """The subnet's gateway address, which only one leg can have."""
        if want is not None and (want.subnet, want.port) == (was.subnet, was.port):
            await self.delete(at, was)

    async def reclaim(self, at: Context, was: RouterInterfaceProps) -> None:
        await self.create(at, was)

    async def attribute(self, at: Context, was: RouterInterfaceProps, name: str) -> Any:
        ports = await self._ports(at, was)
        return dict(ports[0]) if ports else None

    async def _is_there(self, at: Context, want: RouterInterfaceProps) -> bool:
        return bool(await self._ports(at, want))

    async def _ports(self, at: Context, want: RouterInterfaceProps) -> list[Any]:
        query = {"id": want.port} if want.port else {"fixed_ips": f"subnet_id={want.subnet}"}
        return await at.cloud.list(PORTS, device_id=want.router, **query)
