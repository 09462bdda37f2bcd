"""OS::Neutron::Port."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from calor.server.resources.base import Context
from calor.server.resources.bodies import id_of
from calor.server.resources.collections import NETWORKS, PORTS, SECURITY_GROUPS, SUBNETS
from calor.server.resources.declare import UNORDERED, UPDATABLE, Hidden, Since, attributes
from calor.server.resources.neutron.objects import NetworkObject, same_network
from calor.server.resources.neutron.port_props import FixedIp, PortExtra, extra_body, fixed_ips_body
from calor.server.template.properties import AllowedValues, AttributeSchema, Custom, Kind


@dataclass(frozen=True, kw_only=True)
class PortProps(PortExtra):
    network: Annotated[str, Custom("neutron.network"), Since("2014.2")]
    network_id: Annotated[str | None, Custom("neutron.network"), Hidden("5.0.0")] = None
    name: Annotated[str | None, UPDATABLE] = None
    fixed_ips: Annotated[tuple[FixedIp, ...] | None, UPDATABLE] = None
    security_groups: Annotated[tuple[Any, ...] | None, UNORDERED, UPDATABLE] = None
    device_id: Annotated[str, UPDATABLE] = ""
    device_owner: Annotated[str, UPDATABLE] = ""
    dns_name: Annotated[str | None, UPDATABLE, Since("7.0.0"), Custom("dns_name")] = None
    replacement_policy: Annotated[str, AllowedValues("REPLACE_ALWAYS", "AUTO"), UPDATABLE, Hidden("9.0.0")] = "AUTO"
    tags: Annotated[tuple[str, ...] | None, UNORDERED, UPDATABLE, Since("9.0.0")] = None


class Port(NetworkObject[PortProps]):
    """A port on a network."""

    name, props = "OS::Neutron::Port", PortProps
    collection = PORTS
    has_tags = True
    moved: ClassVar[Mapping[str, str]] = {"network_id": "network", "fixed_ips.subnet_id": "fixed_ips.subnet"}
    follows: ClassVar[Mapping[str, frozenset[str]]] = {
        "dns_assignment": frozenset({"dns_name", "fixed_ips", "name"}),
        "subnets": frozenset({"fixed_ips"}),
    }
    attributes = attributes(
        admin_state_up=Kind.STRING,
        device_id=Kind.STRING,
        device_owner=Kind.STRING,
        fixed_ips=Kind.LIST,
        mac_address=Kind.STRING,
        name=Kind.STRING,
        network_id=Kind.STRING,
        security_groups=Kind.LIST,
        status=Kind.STRING,
        tenant_id=Kind.STRING,
        allowed_address_pairs=Kind.LIST,
        subnets=Kind.LIST,
        port_security_enabled=AttributeSchema(kind=Kind.BOOLEAN, support=Since("5.0.0")),
        qos_policy_id=AttributeSchema(kind=Kind.STRING, support=Since("6.0.0")),
        dns_assignment=AttributeSchema(kind=Kind.MAP, support=Since("7.0.0")),
        network=AttributeSchema(kind=Kind.MAP, support=Since("11.0.0")),
        propagate_uplink_status=AttributeSchema(kind=Kind.BOOLEAN, support=Since("15.0.0")),
    )

    def hidden_dependencies(
        self, mine: Mapping[str, Any], others: Mapping[str, tuple[str, Mapping[str, Any]]]
    ) -> frozenset[str]:
        return same_network(others, mine.get("network", mine.get("network_id")))

    async def body(self, at: Context, want: PortProps) -> dict[str, Any]:
        groups = want.security_groups
        return {
            "network_id": want.network,
            "name": want.name or at.me.physical_name,
            "fixed_ips": [] if want.no_fixed_ips else fixed_ips_body(want.fixed_ips) if want.fixed_ips else None,
            "security_groups": None
            if groups is None
            else [await id_of(at.cloud, SECURITY_GROUPS, str(group)) for group in groups],
            "device_id": want.device_id or None,
            "device_owner": want.device_owner or None,
            "dns_name": want.dns_name,
            **extra_body(want),
        }

    def request(self, body: dict[str, Any]) -> dict[str, Any]:
        """What is no longer wanted has its own word for each key: texts become empty; fixed addresses stay."""
        emptied = {key: "" for key in ("device_id", "device_owner", "dns_name") if body.get(key, "") is None}
        kept = {key: value for key, value in body.items() if not (key == "fixed_ips" and value is None)}
        return {**kept, **emptied}

    async def release(self, at: Context, was: PortProps, want: PortProps | None) -> None:
        """Its addresses, where the replacement asks for one of them by number."""
        mine = {fixed.ip_address for fixed in was.fixed_ips or () if fixed.ip_address}
        asked = {fixed.ip_address for fixed in (want.fixed_ips or () if want is not None else ())}
        if not mine & asked or at.me.physical_id is None:
            return
        held = [
            {key: one[key] for key in ("subnet_id", "ip_address") if key in one}
            for one in (await self.record(at)).get("fixed_ips") or ()
        ]
        if held:
            await at.remember(addresses=held)
            await at.cloud.update(PORTS, at.me.physical_id, fixed_ips=[])

    async def reclaim(self, at: Context, was: PortProps) -> None:
        if at.me.data.get("addresses") and at.me.physical_id:
            await at.cloud.update(PORTS, at.me.physical_id, fixed_ips=at.me.data["addresses"])
            await at.remember(addresses=None)

    async def attribute(self, at: Context, was: PortProps, name: str) -> Any:
        if name == "subnets":
            record = await self.record(at)
            idents = dict.fromkeys(fixed["subnet_id"] for fixed in record.get("fixed_ips") or ())
            return [dict(await at.cloud.get(SUBNETS, ident)) for ident in idents]
        if name == "network":
            return dict(await at.cloud.get(NETWORKS, was.network))
        return await super().attribute(at, was, name)
