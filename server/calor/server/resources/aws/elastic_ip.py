"""AWS::EC2::EIP and AWS::EC2::EIPAssociation: floating IPs by the words of CloudFormation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from calor.server.resources.base import Context, ReferenceId, ResourceFailed, ResourceType
from calor.server.resources.collections import FLOATING_IPS, NETWORKS, PORTS
from calor.server.resources.declare import UPDATABLE, Alias, Deprecated, attributes
from calor.server.resources.neutron.floating_ip import (
    AssociationProps,
    FloatingIp,
    FloatingIpAssociation,
    FloatingIpProps,
)
from calor.server.template.properties import AllowedValues, Custom, Kind


@dataclass(frozen=True, kw_only=True)
class ElasticIpProps:
    domain: Annotated[str | None, Alias("Domain"), AllowedValues("vpc"), Deprecated("9.0.0")] = None
    instance: Annotated[str | None, Alias("InstanceId"), UPDATABLE, Custom("nova.server")] = None


class ElasticIp(ResourceType[ElasticIpProps]):
    """An address of the project's external network, led to an instance; ``Ref`` gives the address."""

    name, props = "AWS::EC2::EIP", ElasticIpProps
    collection = FLOATING_IPS
    reference_id = ReferenceId.OWN
    attributes = attributes(AllocationId=Kind.STRING)
    native = FloatingIp()

    async def create(self, at: Context, want: ElasticIpProps) -> str:
        return await self.native.create(at, await self._translated(at, want))

    async def find_twin(self, at: Context, want: ElasticIpProps) -> str | None:
        return await self.native.find_twin(at, await self._translated(at, want))

    async def settle(self, at: Context, want: ElasticIpProps) -> None:
        """The network service answers when it is done."""

    async def update(self, at: Context, want: ElasticIpProps, was: ElasticIpProps, changed: frozenset[str]) -> None:
        port = await port_of(at, want.instance) if want.instance else None
        await at.cloud.update(FLOATING_IPS, str(at.me.physical_id), port_id=port)

    async def reference(self, at: Context) -> Any:
        if not at.me.physical_id:
            return None
        return (await at.cloud.get(FLOATING_IPS, at.me.physical_id)).get("floating_ip_address")

    async def attribute(self, at: Context, was: ElasticIpProps, name: str) -> Any:
        return at.me.physical_id if name == "AllocationId" else await super().attribute(at, was, name)

    async def _translated(self, at: Context, want: ElasticIpProps) -> FloatingIpProps:
        port = await port_of(at, want.instance) if want.instance else None
        return FloatingIpProps(floating_network=await external_network(at), port_id=port)


async def external_network(at: Context) -> str:
    """The first one, by name, as templates of CloudFormation name none."""
    found = await at.cloud.list(NETWORKS, **{"router:external": True})
    if not found:
        raise ResourceFailed("The cloud has no external network to take an address from.")
    return str(min(found, key=lambda network: str(network.get("name")))["id"])


async def port_of(at: Context, server: str) -> str:
    """The port of an instance's first interface."""
    found = await at.cloud.list(PORTS, device_id=server)
    if not found:
        raise ResourceFailed(f"The instance {server} has no interface to lead an address to.")
    return str(found[0]["id"])


@dataclass(frozen=True, kw_only=True)
class EipAssociationProps:
    address: Annotated[str | None, Alias("EIP"), UPDATABLE, Custom("ip_addr")] = None
    allocation: Annotated[str | None, Alias("AllocationId"), UPDATABLE] = None
    instance: Annotated[str | None, Alias("InstanceId"), UPDATABLE, Custom("nova.server")] = None
    interface: Annotated[str | None, Alias("NetworkInterfaceId"), UPDATABLE] = None


class ElasticIpAssociation(ResourceType[EipAssociationProps]):
    """Leads an address to an instance or to one of its interfaces. What it led where is remembered."""

    name, props = "AWS::EC2::EIPAssociation", EipAssociationProps
    native = FloatingIpAssociation()

    def validate(self, properties: Mapping[str, Any]) -> Sequence[str]:
        pairs = (("EIP", "AllocationId"), ("InstanceId", "NetworkInterfaceId"))
        return [
            f"Give {one} or {other}, one of them."
            for one, other in pairs
            if properties.get(one) is None and properties.get(other) is None
        ]

    async def create(self, at: Context, want: EipAssociationProps) -> str:
        found = AssociationProps(floatingip_id=await self._address(at, want), port_id=await self._port(at, want))
        await at.remember(floatingip_id=found.floatingip_id, port=found.port_id)
        return await self.native.create(at, found)

    async def settle(self, at: Context, want: EipAssociationProps) -> None:
        """The network service answers when it is done."""

    async def update(
        self, at: Context, want: EipAssociationProps, was: EipAssociationProps, changed: frozenset[str]
    ) -> None:
        await self.delete(at, was)
        await self.create(at, want)

    async def delete(self, at: Context, was: EipAssociationProps | None) -> None:
        if "floatingip_id" in at.me.data:
            known = AssociationProps(floatingip_id=at.me.data["floatingip_id"], port_id=at.me.data["port"])
            await self.native.delete(at, known)

    async def attribute(self, at: Context, was: EipAssociationProps, name: str) -> Any:
        return dict(await at.cloud.get(FLOATING_IPS, at.me.data["floatingip_id"]))

    async def _address(self, at: Context, want: EipAssociationProps) -> str:
        if want.allocation:
            return want.allocation
        found = await at.cloud.list(FLOATING_IPS, floating_ip_address=want.address)
        if not found:
            raise ResourceFailed(f"The project has no address {want.address}.")
        return str(found[0]["id"])

    async def _port(self, at: Context, want: EipAssociationProps) -> str:
        return want.interface or await port_of(at, str(want.instance))
