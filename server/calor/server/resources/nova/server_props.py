"""The properties of OS::Nova::Server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from calor.server.resources.declare import UNORDERED, UPDATABLE, Alias, Deprecated, Hidden, Since
from calor.server.resources.neutron.port_props import PortExtra
from calor.server.template.properties import AllowedValues, Custom, Length, Range

BUSES = ("ide", "lame_bus", "sata", "scsi", "usb", "virtio")
FILE_SYSTEMS = ("ext2", "ext3", "ext4", "xfs", "ntfs")
FORMATS = ("HEAT_CFNTOOLS", "RAW", "SOFTWARE_CONFIG")
TRANSPORTS = ("POLL_SERVER_CFN", "POLL_SERVER_HEAT", "POLL_TEMP_URL", "ZAQAR_MESSAGE")


@dataclass(frozen=True, kw_only=True)
class BlockDevice:
    """One entry of block_device_mapping."""

    device_name: str
    volume_id: Annotated[str | None, Custom("cinder.volume")] = None
    snapshot_id: Annotated[str | None, Custom("cinder.snapshot")] = None
    volume_size: int | None = None
    delete_on_termination: bool | None = None


@dataclass(frozen=True, kw_only=True)
class BlockDeviceV2:
    """One entry of block_device_mapping_v2."""

    device_name: str | None = None
    volume_id: Annotated[str | None, Custom("cinder.volume")] = None
    image_id: Annotated[str | None, Custom("glance.image"), Hidden("9.0.0")] = None
    image: Annotated[str | None, Custom("glance.image"), Since("7.0.0")] = None
    snapshot_id: Annotated[str | None, Custom("cinder.snapshot")] = None
    swap_size: int | None = None
    ephemeral_size: Annotated[int | None, Range(min=1), Since("8.0.0")] = None
    ephemeral_format: Annotated[str | None, AllowedValues(*FILE_SYSTEMS), Since("8.0.0")] = None
    device_type: Annotated[str | None, AllowedValues("cdrom", "disk")] = None
    disk_bus: Annotated[str | None, AllowedValues(*BUSES)] = None
    boot_index: int | None = None
    volume_size: int | None = None
    volume_type: Annotated[str | None, Custom("cinder.vtype"), Since("26.0.0")] = None
    delete_on_termination: bool | None = None


@dataclass(frozen=True, kw_only=True)
class ServerNetwork:
    """One entry of networks."""

    uuid: Annotated[str | None, Custom("neutron.network"), Hidden("5.0.0")] = None
    network: Annotated[str | None, Custom("neutron.network")] = None
    allocate_network: Annotated[str | None, AllowedValues("none", "auto"), UPDATABLE, Since("9.0.0")] = None
    fixed_ip: Annotated[str | None, Custom("ip_addr")] = None
    port: Annotated[str | None, Custom("neutron.port")] = None
    port_extra_properties: Annotated[PortExtra | None, UPDATABLE, Since("6.0.0")] = None
    floating_ip: Annotated[str | None, Since("6.0.0")] = None
    subnet: Annotated[str | None, Since("5.0.0")] = None
    tag: Annotated[str | None, Since("9.0.0")] = None


@dataclass(frozen=True, kw_only=True)
class SwiftData:
    container: Annotated[str | None, Length(min=1)] = None
    object: Annotated[str | None, Length(min=1)] = None


@dataclass(frozen=True, kw_only=True)
class ServerProps:
    flavor: Annotated[str, UPDATABLE, Custom("nova.flavor")]
    name: Annotated[str | None, UPDATABLE] = None
    image: Annotated[str | None, UPDATABLE, Custom("glance.image")] = None
    block_device_mapping: tuple[BlockDevice, ...] | None = None
    block_device_mapping_v2: Annotated[tuple[BlockDeviceV2, ...] | None, Since("2015.1")] = None
    flavor_update_policy: Annotated[str, AllowedValues("RESIZE", "REPLACE"), UPDATABLE] = "RESIZE"
    image_update_policy: Annotated[
        str, AllowedValues("REBUILD", "REPLACE", "REBUILD_PRESERVE_EPHEMERAL"), UPDATABLE
    ] = "REBUILD"
    key_name: Annotated[str | None, Custom("nova.keypair")] = None
    admin_user: Annotated[str | None, Hidden("5.0.0")] = None
    availability_zone: str | None = None
    security_groups: Annotated[tuple[Any, ...], UNORDERED] = ()
    networks: Annotated[tuple[ServerNetwork, ...] | None, UPDATABLE] = None
    scheduler_hints: Mapping[str, Any] | None = None
    metadata: Annotated[Mapping[str, Any], UPDATABLE] = field(default_factory=dict)
    user_data_format: Annotated[str, AllowedValues(*FORMATS)] = "HEAT_CFNTOOLS"
    user_data_update_policy: Annotated[
        str, AllowedValues("REPLACE", "IGNORE", "REBUILD"), UPDATABLE, Since("6.0.0")
    ] = "REPLACE"
    software_config_transport: Annotated[str, AllowedValues(*TRANSPORTS), UPDATABLE] = "POLL_SERVER_CFN"
    user_data: Annotated[str, UPDATABLE] = ""
    reservation_id: str | None = None
    config_drive: bool | None = None
    disk_config: Annotated[str | None, Alias("diskConfig"), AllowedValues("AUTO", "MANUAL")] = None
    personality: Annotated[Mapping[str, Any], Deprecated("12.0.0")] = field(default_factory=dict)
    admin_pass: Annotated[str | None, UPDATABLE] = None
    tags: Annotated[tuple[str, ...] | None, UNORDERED, UPDATABLE, Since("8.0.0")] = None
    deployment_swift_data: Annotated[SwiftData, UPDATABLE, Since("9.0.0")] = field(default_factory=SwiftData)
