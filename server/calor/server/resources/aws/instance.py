"""AWS::EC2::Instance: a server of the compute service by the words of CloudFormation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from calor.server.resources.aws.tags import Pair, as_map
from calor.server.resources.aws.translated import Translated
from calor.server.resources.base import Context
from calor.server.resources.collections import SERVERS
from calor.server.resources.declare import NOT_IMPLEMENTED, UPDATABLE, Alias, attributes
from calor.server.resources.nova.server import Server
from calor.server.resources.nova.server_attributes import first_address
from calor.server.resources.nova.server_props import BlockDevice, BlockDeviceV2, ServerNetwork, ServerProps
from calor.server.template.properties import AllowedValues, Custom, Kind

LOGIN = "ec2-user"


@dataclass(frozen=True, kw_only=True)
class Ebs:
    delete_on_termination: Annotated[bool, Alias("DeleteOnTermination")] = True
    iops: Annotated[float | None, Alias("Iops"), NOT_IMPLEMENTED] = None
    snapshot_id: Annotated[str | None, Alias("SnapshotId"), Custom("cinder.snapshot")] = None
    volume_size: Annotated[str | None, Alias("VolumeSize")] = None
    volume_type: Annotated[str | None, Alias("VolumeType"), NOT_IMPLEMENTED] = None


@dataclass(frozen=True, kw_only=True)
class Disk:
    """One entry of BlockDeviceMappings."""

    device_name: Annotated[str, Alias("DeviceName")]
    ebs: Annotated[Ebs | None, Alias("Ebs")] = None
    no_device: Annotated[Mapping[str, Any] | None, Alias("NoDevice"), NOT_IMPLEMENTED] = None
    virtual_name: Annotated[str | None, Alias("VirtualName"), NOT_IMPLEMENTED] = None


@dataclass(frozen=True, kw_only=True)
class AttachedVolume:
    device: Annotated[str, Alias("Device")]
    volume_id: Annotated[str, Alias("VolumeId"), Custom("cinder.volume")]


@dataclass(frozen=True, kw_only=True)
class InstanceProps:
    image_id: Annotated[str, Alias("ImageId"), Custom("glance.image")]
    instance_type: Annotated[str, Alias("InstanceType"), UPDATABLE, Custom("nova.flavor")]
    key_name: Annotated[str | None, Alias("KeyName"), Custom("nova.keypair")] = None
    availability_zone: Annotated[str | None, Alias("AvailabilityZone")] = None
    disable_api_termination: Annotated[str | None, Alias("DisableApiTermination"), NOT_IMPLEMENTED] = None
    kernel_id: Annotated[str | None, Alias("KernelId"), NOT_IMPLEMENTED] = None
    monitoring: Annotated[bool | None, Alias("Monitoring"), NOT_IMPLEMENTED] = None
    placement_group_name: Annotated[str | None, Alias("PlacementGroupName"), NOT_IMPLEMENTED] = None
    private_ip_address: Annotated[str | None, Alias("PrivateIpAddress"), NOT_IMPLEMENTED] = None
    ram_disk_id: Annotated[str | None, Alias("RamDiskId"), NOT_IMPLEMENTED] = None
    security_groups: Annotated[tuple[Any, ...] | None, Alias("SecurityGroups")] = None
    security_group_ids: Annotated[tuple[Any, ...] | None, Alias("SecurityGroupIds")] = None
    network_interfaces: Annotated[tuple[Any, ...] | None, Alias("NetworkInterfaces"), UPDATABLE] = None
    source_dest_check: Annotated[bool | None, Alias("SourceDestCheck"), NOT_IMPLEMENTED] = None
    subnet_id: Annotated[str | None, Alias("SubnetId"), UPDATABLE] = None
    tags: Annotated[tuple[Pair, ...] | None, Alias("Tags"), UPDATABLE] = None
    hints: Annotated[tuple[Pair, ...] | None, Alias("NovaSchedulerHints")] = None
    tenancy: Annotated[str | None, Alias("Tenancy"), AllowedValues("dedicated", "default"), NOT_IMPLEMENTED] = None
    user_data: Annotated[str | None, Alias("UserData")] = None
    volumes: Annotated[tuple[AttachedVolume, ...], Alias("Volumes")] = ()
    disks: Annotated[tuple[Disk, ...] | None, Alias("BlockDeviceMappings")] = None


def _networks(want: InstanceProps) -> tuple[ServerNetwork, ...] | None:
    """Interfaces are ports, by id or as ``{NetworkInterfaceId, DeviceIndex}``; else there is one, on the subnet."""
    entries = list(want.network_interfaces or ())
    if entries and all(isinstance(entry, Mapping) for entry in entries):
        entries.sort(key=lambda entry: int(entry.get("DeviceIndex") or 0))
    ports = [entry.get("NetworkInterfaceId") if isinstance(entry, Mapping) else entry for entry in entries]
    if ports:
        return tuple(ServerNetwork(port=str(port)) for port in ports)
    return (ServerNetwork(subnet=want.subnet_id),) if want.subnet_id else None


def _disk(disk: Disk) -> BlockDeviceV2:
    ebs = disk.ebs or Ebs()
    return BlockDeviceV2(
        device_name=disk.device_name,
        snapshot_id=ebs.snapshot_id,
        volume_size=int(ebs.volume_size) if ebs.volume_size else None,
        delete_on_termination=ebs.delete_on_termination,
    )


class Instance(Translated[InstanceProps, ServerProps]):
    """A server; its user-data is of the HEAT_CFNTOOLS format and makes the login that Amazon's images have."""

    name, props = "AWS::EC2::Instance", InstanceProps
    native = Server()
    holds_data = True
    collection = SERVERS
    supports = Server.supports
    physical_name_limit = Server.physical_name_limit
    name_limit = Server.name_limit
    has_metadata_endpoint = True
    renamed: ClassVar[Mapping[str, str]] = {
        "InstanceType": "flavor",
        "NetworkInterfaces": "networks",
        "SubnetId": "networks",
        "Tags": "metadata",
    }
    attributes = attributes(
        AvailabilityZone=Kind.STRING,
        PrivateDnsName=Kind.STRING,
        PublicDnsName=Kind.STRING,
        PrivateIp=Kind.STRING,
        PublicIp=Kind.STRING,
    )

    def validate(self, properties: Mapping[str, Any]) -> Sequence[str]:
        disks = properties.get("BlockDeviceMappings")
        ebs = [disk.get("Ebs") for disk in disks if isinstance(disk, Mapping)] if isinstance(disks, list) else []
        return [
            f"BlockDeviceMappings.{number}.Ebs needs a SnapshotId or a VolumeSize."
            for number, one in enumerate(ebs)
            if isinstance(one, Mapping) and not one.get("SnapshotId") and not one.get("VolumeSize")
        ]

    def translated(self, want: InstanceProps) -> ServerProps:
        return ServerProps(
            flavor=want.instance_type,
            image=want.image_id,
            key_name=want.key_name,
            availability_zone=want.availability_zone,
            security_groups=(*(want.security_groups or ()), *(want.security_group_ids or ())),
            networks=_networks(want),
            scheduler_hints=as_map(want.hints) or None,
            metadata=as_map(want.tags),
            user_data=want.user_data or "",
            user_data_format="HEAT_CFNTOOLS",
            admin_user=LOGIN,
            block_device_mapping_v2=tuple(map(_disk, want.disks or ())) or None,
            block_device_mapping=tuple(BlockDevice(device_name=v.device, volume_id=v.volume_id) for v in want.volumes),
        )

    async def attribute(self, at: Context, was: InstanceProps, name: str) -> Any:
        if name == "show":
            return await super().attribute(at, was, name)
        if not at.me.physical_id:
            return None
        record = await at.cloud.get(SERVERS, at.me.physical_id)
        if name == "AvailabilityZone":
            return record.get("OS-EXT-AZ:availability_zone") or was.availability_zone
        return first_address(record) or "0.0.0.0"  # noqa: S104 - what Heat answers for a server without an address
