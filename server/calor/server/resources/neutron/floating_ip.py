"""OS::Neutron::FloatingIP and OS::Neutron::FloatingIPAssociation."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from calor.server.cloud.errors import CloudMissing
from calor.server.resources.base import Context, ResourceType
from calor.server.resources.collections import FLOATING_IPS
from calor.server.resources.declare import UPDATABLE, Hidden, Since, attributes
from calor.server.resources.neutron.objects import NetworkObject
from calor.server.resources.unresolved import is_same, resource_named
from calor.server.template.properties import AttributeSchema, Custom, Kind

Others = Mapping[str, tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True, kw_only=True)
class FloatingIpProps:
    floating_network: Annotated[str, Custom("neutron.network"), Since("2014.2")]
    floating_network_id: Annotated[str | None, Custom("neutron.network"), Hidden("5.0.0")] = None
    floating_subnet: Annotated[str | None, Custom("neutron.subnet"), Since("9.0.0")] = None
    value_specs: Mapping[str, Any] = field(default_factory=dict)
    port_id: Annotated[str | None, UPDATABLE, Custom("neutron.port")] = None
    fixed_ip_address: Annotated[str | None, UPDATABLE, Custom("ip_addr")] = None
    floating_ip_address: Annotated[str | None, Custom("ip_addr"), Since("5.0.0")] = None
    dns_name: Annotated[str | None, UPDATABLE, Custom("rel_dns_name"), Since("7.0.0")] = None
    dns_domain: Annotated[str | None, UPDATABLE, Custom("dns_domain"), Since("7.0.0")] = None


class FloatingIp(NetworkObject[FloatingIpProps]):
    """An address of an external network, led to a port."""

    name, props = "OS::Neutron::FloatingIP", FloatingIpProps
    collection = FLOATING_IPS
    moved: ClassVar[Mapping[str, str]] = {"floating_network_id": "floating_network"}
    follows: ClassVar[Mapping[str, frozenset[str]]] = {"fixed_ip_address": frozenset({"port_id"})}
    attributes = attributes(
        router_id=Kind.STRING,
        tenant_id=Kind.STRING,
        floating_network_id=Kind.STRING,
        fixed_ip_address=AttributeSchema(kind=Kind.STRING, cached=False),
        floating_ip_address=Kind.STRING,
        port_id=AttributeSchema(kind=Kind.STRING, cached=False),
    )

    def hidden_dependencies(self, mine: Mapping[str, Any], others: Others) -> frozenset[str]:
        """The way in: routers and gateways on the external network, and the leg on the port's subnet."""
        network = mine.get("floating_network", mine.get("floating_network_id"))
        return frozenset(way_in(others, network)) | legs_of_port(mine.get("port_id"), others)

    async def body(self, at: Context, want: FloatingIpProps) -> dict[str, Any]:
        return {
            "floating_network_id": want.floating_network,
            "subnet_id": want.floating_subnet,
            "port_id": want.port_id,
            "fixed_ip_address": want.fixed_ip_address,
            "floating_ip_address": want.floating_ip_address,
            "dns_name": want.dns_name,
            "dns_domain": want.dns_domain,
            **want.value_specs,
        }

    async def update(self, at: Context, want: FloatingIpProps, was: FloatingIpProps, changed: frozenset[str]) -> None:
        assert at.me.physical_id is not None
        body: dict[str, Any] = {}
        if changed & {"port_id", "fixed_ip_address"}:
            body["port_id"] = want.port_id
            if want.port_id and want.fixed_ip_address:
                body["fixed_ip_address"] = want.fixed_ip_address
        for key in sorted(changed & {"dns_name", "dns_domain"}):
            body[key] = getattr(want, key) or ""
        await at.cloud.update(FLOATING_IPS, at.me.physical_id, **body)


@dataclass(frozen=True, kw_only=True)
class AssociationProps:
    floatingip_id: Annotated[str, UPDATABLE]
    port_id: Annotated[str, UPDATABLE, Custom("neutron.port")]
    fixed_ip_address: Annotated[str | None, UPDATABLE, Custom("ip_addr")] = None


class FloatingIpAssociation(ResourceType[AssociationProps]):
    """Leads a floating IP to a port. Its id is the floating IP's; doing it twice changes nothing."""

    name, props = "OS::Neutron::FloatingIPAssociation", AssociationProps

    def hidden_dependencies(self, mine: Mapping[str, Any], others: Others) -> frozenset[str]:
        return legs_of_port(mine.get("port_id"), others)

    async def create(self, at: Context, want: AssociationProps) -> str:
        body = {"port_id": want.port_id}
        if want.fixed_ip_address:
            body["fixed_ip_address"] = want.fixed_ip_address
        await at.cloud.update(FLOATING_IPS, want.floatingip_id, **body)
        return want.floatingip_id

    async def settle(self, at: Context, want: AssociationProps) -> None:
        """The network service answers when it is done."""

    async def update(self, at: Context, want: AssociationProps, was: AssociationProps, changed: frozenset[str]) -> None:
        if "floatingip_id" in changed:
            await self._release(at, was.floatingip_id, was.port_id)
        await self.create(at, want)
        if "floatingip_id" in changed:
            await at.remember(floatingip_id=want.floatingip_id)

    async def delete(self, at: Context, was: AssociationProps | None) -> None:
        ident = at.me.data.get("floatingip_id") or at.me.physical_id
        if ident:
            await self._release(at, ident, was.port_id if was else None)

    async def attribute(self, at: Context, was: AssociationProps, name: str) -> Any:
        return dict(await at.cloud.get(FLOATING_IPS, was.floatingip_id))

    async def _release(self, at: Context, ident: str, port_id: str | None) -> None:
        """Only where it still leads to our port: another may have taken the address since."""
        try:
            record = await at.cloud.get(FLOATING_IPS, ident)
            if record.get("port_id") and port_id in (None, record["port_id"]):
                await at.cloud.update(FLOATING_IPS, ident, port_id=None)
        except CloudMissing:
            return


def way_in(others: Others, network: Any) -> Iterable[str]:
    for name, (kind, properties) in others.items():
        if kind == "OS::Neutron::RouterGateway":
            joined = properties.get("network", properties.get("network_id"))
        elif kind == "OS::Neutron::Router":
            gateway = properties.get("external_gateway_info")
            joined = gateway.get("network") if isinstance(gateway, Mapping) else None
        else:
            continue
        if is_same(joined, network):
            yield name


def legs_of_port(port: Any, others: Others) -> frozenset[str]:
    """The router interfaces on the subnets that a port of the template names among its fixed addresses."""
    kind, properties = others.get(resource_named(port) or "", ("", {}))
    fixed_ips = properties.get("fixed_ips")
    if kind != "OS::Neutron::Port" or not isinstance(fixed_ips, list):
        return frozenset()
    subnets = [fixed.get("subnet", fixed.get("subnet_id")) for fixed in fixed_ips if isinstance(fixed, Mapping)]
    return frozenset(
        leg
        for leg, (leg_kind, wanted) in others.items()
        if leg_kind == "OS::Neutron::RouterInterface"
        and any(is_same(wanted.get("subnet", wanted.get("subnet_id")), subnet) for subnet in subnets)
    )
