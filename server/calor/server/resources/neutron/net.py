"""OS::Neutron::Net."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from calor.server.resources.base import Context
from calor.server.resources.collections import NETWORKS
from calor.server.resources.declare import UNORDERED, UPDATABLE, Since, attributes
from calor.server.resources.neutron.agents import place
from calor.server.resources.neutron.objects import NetworkObject
from calor.server.template.properties import AttributeSchema, Custom, Kind


@dataclass(frozen=True, kw_only=True)
class NetProps:
    name: Annotated[str | None, UPDATABLE] = None
    value_specs: Annotated[Mapping[str, Any], UPDATABLE] = field(default_factory=dict)
    admin_state_up: Annotated[bool, UPDATABLE] = True
    tenant_id: str | None = None
    shared: Annotated[bool, UPDATABLE] = False
    dhcp_agent_ids: Annotated[tuple[Any, ...] | None, UNORDERED, UPDATABLE] = None
    port_security_enabled: Annotated[bool | None, UPDATABLE, Since("5.0.0")] = None
    qos_policy: Annotated[str | None, UPDATABLE, Since("6.0.0"), Custom("neutron.qos_policy")] = None
    dns_domain: Annotated[str | None, UPDATABLE, Since("7.0.0"), Custom("dns_domain")] = None
    availability_zone_hints: Annotated[tuple[Any, ...] | None, Since("19.0.0")] = None
    tags: Annotated[tuple[str, ...] | None, UNORDERED, UPDATABLE, Since("9.0.0")] = None


class Net(NetworkObject[NetProps]):
    """A network."""

    name, props = "OS::Neutron::Net", NetProps
    collection = NETWORKS
    has_tags = True
    attributes = attributes(
        status=Kind.STRING,
        name=Kind.STRING,
        subnets=Kind.LIST,
        admin_state_up=Kind.STRING,
        tenant_id=Kind.STRING,
        port_security_enabled=AttributeSchema(kind=Kind.BOOLEAN, support=Since("5.0.0")),
        mtu=AttributeSchema(kind=Kind.INTEGER, support=Since("5.0.0")),
        qos_policy_id=AttributeSchema(kind=Kind.STRING, support=Since("6.0.0")),
        l2_adjacency=AttributeSchema(kind=Kind.BOOLEAN, support=Since("9.0.0")),
        segments=AttributeSchema(kind=Kind.LIST, support=Since("11.0.0")),
    )

    async def body(self, at: Context, want: NetProps) -> dict[str, Any]:
        return {
            "name": want.name or at.me.physical_name,
            "admin_state_up": want.admin_state_up,
            "tenant_id": want.tenant_id,
            "shared": want.shared or None,  # only administrators may say it, even to say no
            "port_security_enabled": want.port_security_enabled,
            "qos_policy_id": want.qos_policy,
            "dns_domain": want.dns_domain,
            "availability_zone_hints": want.availability_zone_hints,
            **want.value_specs,
        }

    def request(self, body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "shared": False} if body.get("shared", "") is None else body

    async def settle(self, at: Context, want: NetProps) -> None:
        await super().settle(at, want)
        await place(at, "dhcp-networks", "network_id", want.dhcp_agent_ids or (), ())

    async def update(self, at: Context, want: NetProps, was: NetProps, changed: frozenset[str]) -> None:
        await super().update(at, want, was, changed)
        await place(at, "dhcp-networks", "network_id", want.dhcp_agent_ids or (), was.dhcp_agent_ids or ())

    async def attribute(self, at: Context, was: NetProps, name: str) -> Any:
        if name == "segments":
            answer = await at.cloud.call("network", "get", "/segments", params={"network_id": at.me.physical_id})
            return answer["segments"]
        return await super().attribute(at, was, name)
