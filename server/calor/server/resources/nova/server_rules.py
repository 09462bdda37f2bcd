"""What a server's properties must meet beyond their schema."""

from collections.abc import Iterator, Mapping
from typing import Any

SOURCES = ("volume_id", "snapshot_id", "image", "image_id", "swap_size", "ephemeral_size", "ephemeral_format")


def problems(properties: Mapping[str, Any]) -> Iterator[str]:
    yield from _boot_problems(properties)
    networks = properties.get("networks")
    if isinstance(networks, list):
        yield from _network_problems(networks, bool(properties.get("security_groups")))


def _boot_problems(properties: Mapping[str, Any]) -> Iterator[str]:
    older, newer = properties.get("block_device_mapping"), properties.get("block_device_mapping_v2")
    if older and newer:
        yield "Give block_device_mapping_v2 only, without block_device_mapping."
    if not properties.get("image") and not older and not newer:
        yield "There is nothing to boot from: give image, or a boot disk in block_device_mapping_v2."
    for number, device in enumerate(newer if isinstance(newer, list) else ()):
        if not isinstance(device, Mapping):
            continue
        given = [key for key in SOURCES if device.get(key) is not None and key != "ephemeral_format"]
        if len(given) > 1:
            yield f"block_device_mapping_v2.{number}: {' and '.join(given)} exclude each other."


def _network_problems(networks: list[Any], has_groups: bool) -> Iterator[str]:
    entries = [entry for entry in networks if isinstance(entry, Mapping)]
    allocated = [entry for entry in entries if entry.get("allocate_network") is not None]
    if allocated and len(networks) > 1:
        yield "networks: allocate_network stands alone."
    for number, entry in enumerate(networks):
        if not isinstance(entry, Mapping):
            continue
        has_port = entry.get("port") is not None
        if not any(entry.get(key) is not None for key in ("network", "uuid", "port", "subnet", "allocate_network")):
            yield f"networks.{number}: give network, subnet, port or allocate_network."
        if has_port and entry.get("fixed_ip") is not None:
            yield f"networks.{number}: a port has its own addresses; leave out fixed_ip."
        if has_port and entry.get("port_extra_properties") is not None:
            yield f"networks.{number}: port_extra_properties make a port; leave out port."
        if has_port and has_groups:
            yield f"networks.{number}: a port has its own security groups; leave out security_groups of the server."
