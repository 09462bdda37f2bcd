"""OS::Cinder::VolumeAttachment."""

from dataclasses import dataclass
from typing import Annotated, Any

from calor.server.resources.base import Context, ResourceType
from calor.server.resources.cinder.attached import attach, attached, attachment, detach, detached
from calor.server.resources.declare import UPDATABLE
from calor.server.template.properties import Custom


@dataclass(frozen=True, kw_only=True)
class VolumeAttachmentProps:
    instance_uuid: Annotated[str, UPDATABLE]
    volume_id: Annotated[str, UPDATABLE, Custom("cinder.volume")]
    mountpoint: Annotated[str | None, UPDATABLE] = None


class VolumeAttachment(ResourceType[VolumeAttachmentProps]):
    """A volume on a server. The pair is remembered, since a change of either moves the attachment."""

    name, props = "OS::Cinder::VolumeAttachment", VolumeAttachmentProps

    async def create(self, at: Context, want: VolumeAttachmentProps) -> str:
        return await attach(at, want.instance_uuid, want.volume_id, want.mountpoint)

    async def find_twin(self, at: Context, want: VolumeAttachmentProps) -> str | None:
        found = await attachment(at, want.instance_uuid, want.volume_id)
        return None if found is None else str(found["id"])

    async def settle(self, at: Context, want: VolumeAttachmentProps) -> None:
        await attached(at, want.volume_id)

    async def update(
        self, at: Context, want: VolumeAttachmentProps, was: VolumeAttachmentProps, changed: frozenset[str]
    ) -> None:
        await detach(at, was.instance_uuid, was.volume_id)
        await detached(at, was.instance_uuid, was.volume_id)
        await self.create(at, want)
        await attached(at, want.volume_id)

    async def delete(self, at: Context, was: VolumeAttachmentProps | None) -> None:
        if was is not None and at.me.physical_id:
            await at.remember(leaving=[was.instance_uuid, was.volume_id])
            await detach(at, was.instance_uuid, was.volume_id)

    async def settle_delete(self, at: Context) -> None:
        if at.me.data.get("leaving"):
            server, volume = at.me.data["leaving"]
            await detached(at, server, volume)

    async def attribute(self, at: Context, was: VolumeAttachmentProps, name: str) -> Any:
        found = await attachment(at, was.instance_uuid, was.volume_id)
        return None if found is None else dict(found)
