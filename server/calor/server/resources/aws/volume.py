"""AWS::EC2::Volume and AWS::EC2::VolumeAttachment: those of the volume service by the words of CloudFormation."""

from dataclasses import dataclass
from typing import Annotated

from calor.server.resources.aws.tags import Pair, as_map
from calor.server.resources.aws.translated import Translated
from calor.server.resources.cinder import attachment, volume
from calor.server.resources.declare import IMMUTABLE, Alias
from calor.server.template.properties import Custom, Pattern, Range


@dataclass(frozen=True, kw_only=True)
class VolumeProps:
    zone: Annotated[str, Alias("AvailabilityZone"), IMMUTABLE]
    size: Annotated[int | None, Alias("Size"), IMMUTABLE, Range(min=1)] = None
    backup: Annotated[str | None, Alias("SnapshotId"), IMMUTABLE, Custom("cinder.backup")] = None
    tags: Annotated[tuple[Pair, ...] | None, Alias("Tags"), IMMUTABLE] = None


class Volume(Translated[VolumeProps, volume.VolumeProps]):
    """A volume, empty or from a backup (``SnapshotId``)."""

    name, props = "AWS::EC2::Volume", VolumeProps
    native = volume.Volume()
    holds_data = True
    collection = volume.Volume.collection
    supports = volume.Volume.supports
    deletion_policies = volume.Volume.deletion_policies

    def translated(self, want: VolumeProps) -> volume.VolumeProps:
        return volume.VolumeProps(
            availability_zone=want.zone, size=want.size, backup_id=want.backup, metadata=as_map(want.tags)
        )


@dataclass(frozen=True, kw_only=True)
class AttachmentProps:
    device: Annotated[str, Alias("Device"), IMMUTABLE, Pattern("/dev/vd[b-z]")]
    instance: Annotated[str, Alias("InstanceId"), IMMUTABLE, Custom("nova.server")]
    volume: Annotated[str, Alias("VolumeId"), IMMUTABLE, Custom("cinder.volume")]


class VolumeAttachment(Translated[AttachmentProps, attachment.VolumeAttachmentProps]):
    """A volume on an instance."""

    name, props = "AWS::EC2::VolumeAttachment", AttachmentProps
    native = attachment.VolumeAttachment()

    def translated(self, want: AttachmentProps) -> attachment.VolumeAttachmentProps:
        return attachment.VolumeAttachmentProps(
            instance_uuid=want.instance, volume_id=want.volume, mountpoint=want.device
        )
