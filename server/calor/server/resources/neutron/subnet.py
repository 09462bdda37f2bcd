"""OS::Neutron::Subnet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from calor.server.resources.base import Context
from calor.server.resources.bodies import id_of
from calor.server.resources.collections import SEGMENTS, SUBNETS
from calor.server.resources.declare import UNORDERED, UPDATABLE, Hidden, Since, attributes, plain
from calor.server.resources.neutron.objects import NetworkObject
from calor.server.template.properties import AllowedValues, Custom, Kind, Range

IPV6_MODES = ("dhcpv6-stateful", "dhcpv6-stateless", "slaac")


@dataclass(frozen=True, kw_only=True)
class AllocationPool:
    start: Annotated[str, Custom("ip_addr")]
    end: Annotated[str, Custom("ip_addr")]


@dataclass(frozen=True, kw_only=True)
class HostRoute:
    destination: Annotated[str, Custom("net_cidr")]
    nexthop: Annotated[str, Custom("ip_addr")]


@dataclass(frozen=True, kw_only=True)
class SubnetProps:
    network: Annotated[str, Custom("neutron.network"), Since("2014.2")]
    network_id: Annotated[str | None, Custom("neutron.network"), Hidden("5.0.0")] = None
    subnetpool: Annotated[str | None, Custom("neutron.subnetpool"), Since("6.0.0")] = None
    prefixlen: Annotated[int | None, Range(min=0), Since("6.0.0")] = None
    cidr: Annotated[str | None, Custom("net_cidr")] = None
    value_specs: Annotated[Mapping[str, Any], UPDATABLE] = field(default_factory=dict)
    name: Annotated[str | None, UPDATABLE] = None
    ip_version: Annotated[int, AllowedValues(4, 6)] = 4
    dns_nameservers: Annotated[tuple[Any, ...], UPDATABLE] = ()
    gateway_ip: Annotated[str | None, UPDATABLE] = None
    enable_dhcp: Annotated[bool, UPDATABLE] = True
    allocation_pools: Annotated[tuple[AllocationPool, ...] | None, UPDATABLE] = None
    tenant_id: str | None = None
    host_routes: Annotated[tuple[HostRoute, ...] | None, UPDATABLE] = None
    ipv6_ra_mode: Annotated[str | None, AllowedValues(*IPV6_MODES), Since("2015.1")] = None
    ipv6_address_mode: Annotated[str | None, AllowedValues(*IPV6_MODES), Since("2015.1")] = None
    segment: Annotated[str | None, UPDATABLE, Custom("neutron.segment"), Since("11.0.0")] = None
    tags: Annotated[tuple[str, ...] | None, UNORDERED, UPDATABLE, Since("9.0.0")] = None


class Subnet(NetworkObject[SubnetProps]):
    """A range of addresses on a network. An empty ``gateway_ip`` means none."""

    name, props = "OS::Neutron::Subnet", SubnetProps
    collection = SUBNETS
    has_tags = True
    moved: ClassVar[Mapping[str, str]] = {"network_id": "network"}
    attributes = attributes(
        name=Kind.STRING,
        network_id=Kind.STRING,
        tenant_id=Kind.STRING,
        allocation_pools=Kind.LIST,
        gateway_ip=Kind.STRING,
        host_routes=Kind.LIST,
        ip_version=Kind.STRING,
        cidr=Kind.STRING,
        dns_nameservers=Kind.LIST,
        enable_dhcp=Kind.STRING,
    )

    def validate(self, properties: Mapping[str, Any]) -> Sequence[str]:
        problems = []
        has_cidr, has_pool = properties.get("cidr") is not None, properties.get("subnetpool") is not None
        if not has_cidr and not has_pool:
            problems.append("Give either cidr or subnetpool.")
        if has_cidr and (has_pool or properties.get("prefixlen") is not None):
            problems.append("cidr stands alone: leave out subnetpool and prefixlen.")
        modes = {properties.get("ipv6_ra_mode"), properties.get("ipv6_address_mode")} - {None}
        if modes and properties.get("ip_version", 4) == 4:
            problems.append("ipv6_ra_mode and ipv6_address_mode need ip_version 6.")
        if len({mode for mode in modes if isinstance(mode, str)}) > 1:
            problems.append("ipv6_ra_mode and ipv6_address_mode must be the same where both are given.")
        return problems

    async def body(self, at: Context, want: SubnetProps) -> dict[str, Any]:
        return {
            "network_id": want.network,
            "name": want.name or at.me.physical_name,
            "cidr": want.cidr,
            "subnetpool_id": want.subnetpool,
            "prefixlen": want.prefixlen,
            "ip_version": want.ip_version,
            "dns_nameservers": list(want.dns_nameservers),
            "gateway_ip": want.gateway_ip,
            "enable_dhcp": want.enable_dhcp,
            "allocation_pools": None if want.allocation_pools is None else plain(want.allocation_pools),
            "tenant_id": want.tenant_id,
            "host_routes": None if want.host_routes is None else plain(want.host_routes),
            "ipv6_ra_mode": want.ipv6_ra_mode,
            "ipv6_address_mode": want.ipv6_address_mode,
            "segment_id": await id_of(at.cloud, SEGMENTS, want.segment) if want.segment else None,
            **want.value_specs,
        }

    def request(self, body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "gateway_ip": None} if body.get("gateway_ip") == "" else body
