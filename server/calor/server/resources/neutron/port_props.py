"""The properties of a port, which servers' networks take too (``port_extra_properties``)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from calor.server.resources.declare import UNORDERED, UPDATABLE, Alias, Hidden, Since, plain
from calor.server.template.properties import AllowedValues, Custom

VNIC_TYPES = ("normal", "direct", "macvtap", "direct-physical", "baremetal", "virtio-forwarder", "smart-nic")


@dataclass(frozen=True, kw_only=True)
class AddressPair:
    ip_address: Annotated[str, Custom("ip_or_cidr")]
    mac_address: Annotated[str | None, Custom("mac_addr")] = None


@dataclass(frozen=True, kw_only=True)
class PortExtra:
    value_specs: Annotated[Mapping[str, Any], UPDATABLE] = field(default_factory=dict)
    admin_state_up: Annotated[bool, UPDATABLE] = True
    mac_address: Annotated[str | None, Custom("mac_addr")] = None
    allowed_address_pairs: Annotated[tuple[AddressPair, ...] | None, UNORDERED, UPDATABLE] = None
    vnic_type: Annotated[str, Alias("binding:vnic_type"), AllowedValues(*VNIC_TYPES), UPDATABLE, Since("2015.1")] = (
        "normal"
    )
    port_security_enabled: Annotated[bool | None, UPDATABLE, Since("5.0.0")] = None
    qos_policy: Annotated[str | None, UPDATABLE, Since("6.0.0"), Custom("neutron.qos_policy")] = None
    propagate_uplink_status: Annotated[bool | None, UPDATABLE, Since("15.0.0")] = None
    no_fixed_ips: Annotated[bool, UPDATABLE, Since("16.0.0")] = False


@dataclass(frozen=True, kw_only=True)
class FixedIp:
    subnet_id: Annotated[str | None, Custom("neutron.subnet"), Hidden("5.0.0")] = None
    subnet: Annotated[str | None, Custom("neutron.subnet"), Since("2014.2")] = None
    ip_address: Annotated[str | None, Custom("ip_addr")] = None


def extra_body(want: PortExtra) -> dict[str, Any]:
    """The part of a port's request body that both kinds of properties make."""
    return {
        "admin_state_up": want.admin_state_up,
        "mac_address": want.mac_address,
        "allowed_address_pairs": None if want.allowed_address_pairs is None else plain(want.allowed_address_pairs),
        "binding:vnic_type": want.vnic_type,
        "port_security_enabled": want.port_security_enabled,
        "qos_policy_id": want.qos_policy,
        "propagate_uplink_status": want.propagate_uplink_status,
        **want.value_specs,
    }


def fixed_ips_body(wanted: tuple[FixedIp, ...]) -> list[dict[str, str]]:
    return [
        {
            **({"subnet_id": fixed.subnet or fixed.subnet_id or ""} if fixed.subnet or fixed.subnet_id else {}),
            **({"ip_address": fixed.ip_address} if fixed.ip_address else {}),
        }
        for fixed in wanted
    ]
