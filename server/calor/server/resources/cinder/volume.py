"""OS::Cinder::Volume."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from calor.server.resources.base import Context, ResourceFailed, ResourceType
from calor.server.resources.bodies import id_of, present
from calor.server.resources.cinder.attached import while_detached
from calor.server.resources.collections import IMAGES, VOLUMES
from calor.server.resources.declare import UPDATABLE, Alias, Deprecated, Hidden, Since, attributes
from calor.server.template.properties import AttributeSchema, Custom, Kind, Range

MARK = "calor_resource"
KEYS: Mapping[str, str] = {"display_name": "name", "display_description": "description", "metadata_values": "metadata"}


@dataclass(frozen=True, kw_only=True)
class VolumeProps:
    availability_zone: str | None = None
    size: Annotated[int | None, UPDATABLE, Range(min=1)] = None
    snapshot_id: Annotated[str | None, Custom("cinder.snapshot")] = None
    backup_id: Annotated[str | None, UPDATABLE, Custom("cinder.backup")] = None
    name: Annotated[str | None, UPDATABLE] = None
    description: Annotated[str | None, UPDATABLE] = None
    volume_type: Annotated[str | None, UPDATABLE, Custom("cinder.vtype")] = None
    metadata: Annotated[Mapping[str, Any], UPDATABLE] = field(default_factory=dict)
    image_ref: Annotated[str | None, Alias("imageRef"), Hidden("5.0.0")] = None
    image: Annotated[str | None, Custom("glance.image")] = None
    source_volid: Annotated[str | None, Custom("cinder.volume")] = None
    scheduler_hints: Annotated[Mapping[str, Any] | None, Since("2015.1")] = None
    read_only: Annotated[bool | None, UPDATABLE, Since("5.0.0")] = None
    multiattach: Annotated[bool, Hidden("13.0.0")] = False


class Volume(ResourceType[VolumeProps]):
    """A volume. After a crash it is found by a metadata item that holds the row's id."""

    name, props = "OS::Cinder::Volume", VolumeProps
    holds_data = True
    collection = VOLUMES
    ready = frozenset({"AVAILABLE"})
    failed = frozenset({"ERROR", "ERROR_RESTORING"})
    supports = frozenset({"check"})
    deletion_policies = ("Delete", "Retain", "Snapshot")
    moved: ClassVar[Mapping[str, str]] = {"imageRef": "image"}
    follows: ClassVar[Mapping[str, frozenset[str]]] = {
        "display_description": frozenset({"description"}),
        "display_name": frozenset({"name"}),
        "metadata_values": frozenset({"metadata"}),
    }
    attributes = attributes(
        availability_zone=Kind.STRING,
        size=Kind.STRING,
        snapshot_id=Kind.STRING,
        display_name=Kind.STRING,
        display_description=Kind.STRING,
        volume_type=Kind.STRING,
        metadata=Kind.STRING,
        source_volid=Kind.STRING,
        status=AttributeSchema(kind=Kind.STRING, cached=False),
        created_at=Kind.STRING,
        bootable=Kind.STRING,
        metadata_values=Kind.MAP,
        encrypted=Kind.STRING,
        attachments=AttributeSchema(kind=Kind.STRING, cached=False, support=Deprecated("9.0.0")),
        attachments_list=AttributeSchema(kind=Kind.LIST, cached=False, support=Since("9.0.0")),
        multiattach=AttributeSchema(kind=Kind.BOOLEAN, support=Since("6.0.0")),
    )

    def validate(self, properties: Mapping[str, Any]) -> Sequence[str]:
        sources = [key for key in ("snapshot_id", "image", "source_volid", "backup_id") if properties.get(key)]
        if not sources and properties.get("size") is None:
            return ["Give size, or something to make the volume from."]
        if len(sources) > 1:
            return [f"{' and '.join(sources)} exclude each other."]
        if sources and sources[0] == "image" and properties.get("size") is None:
            return ["A volume made from an image needs its size."]
        return ()

    async def create(self, at: Context, want: VolumeProps) -> str:
        image = want.image or want.image_ref
        body = {
            "name": want.name or at.me.physical_name,
            "description": want.description,
            "size": want.size if want.size is not None else await self._backup_size(at, want),
            "availability_zone": want.availability_zone,
            "snapshot_id": want.snapshot_id,
            "source_volid": want.source_volid,
            "imageRef": await id_of(at.cloud, IMAGES, image) if image else None,
            "volume_type": want.volume_type,
            "metadata": self.metadata(at, want),
            "multiattach": want.multiattach or None,
            ":OS-SCH-HNT:scheduler_hints": want.scheduler_hints,
        }
        return str((await at.cloud.create(VOLUMES, **present(body)))["id"])

    def metadata(self, at: Context, want: VolumeProps) -> dict[str, str]:
        return {**{key: str(value) for key, value in want.metadata.items()}, MARK: at.me.id}

    async def find_twin(self, at: Context, want: VolumeProps) -> str | None:
        for record in await at.cloud.list(VOLUMES, name=want.name or at.me.physical_name):
            if (record.get("metadata") or {}).get(MARK) == at.me.id:
                return str(record["id"])
        return None

    async def settle(self, at: Context, want: VolumeProps) -> None:
        await super().settle(at, want)
        if want.backup_id and not at.me.data.get("restored"):
            await self._restore(at, want.backup_id)
        if want.read_only is not None:
            await self._act(at, {"os-update_readonly_flag": {"readonly": want.read_only}})

    async def update(self, at: Context, want: VolumeProps, was: VolumeProps, changed: frozenset[str]) -> None:
        ident = str(at.me.physical_id)
        if changed & {"name", "description"}:
            name = want.name or at.me.physical_name
            await at.cloud.update(VOLUMES, ident, name=name, description=want.description or "")
        if "metadata" in changed:
            path = f"/volumes/{ident}/metadata"
            await at.cloud.call("block_storage", "put", path, json={"metadata": self.metadata(at, want)})
        if "volume_type" in changed:
            await self._act(at, {"os-retype": {"new_type": want.volume_type, "migration_policy": "on-demand"}})
            await self._steady(at)
        if "size" in changed and want.size is not None:
            await self._grow(at, want.size)
        if "read_only" in changed:
            await self._act(at, {"os-update_readonly_flag": {"readonly": bool(want.read_only)}})
        if "backup_id" in changed and want.backup_id:
            await at.remember(restored=None)
            await self._restore(at, want.backup_id)

    def must_replace(self, was: Mapping[str, Any], want: Mapping[str, Any], changed: frozenset[str]) -> str | None:
        if "backup_id" in changed and not want.get("backup_id"):
            return "backup_id is left out"
        return None

    def overwrites(self, was: Mapping[str, Any], want: Mapping[str, Any], changed: frozenset[str]) -> str | None:
        return "the backup is restored over what is in it" if "backup_id" in changed else None

    async def settle_delete(self, at: Context) -> None:
        if at.me.physical_id:
            await at.cloud.gone(VOLUMES, at.me.physical_id, failed=frozenset({"ERROR_DELETING"}))

    async def check(self, at: Context, was: VolumeProps) -> None:
        status = (await at.cloud.get(VOLUMES, str(at.me.physical_id)))["status"]
        if status not in ("available", "in-use"):
            raise ResourceFailed(f"The volume has the status {status}.")

    async def attribute(self, at: Context, was: VolumeProps, name: str) -> Any:
        record = await at.cloud.get(VOLUMES, str(at.me.physical_id))
        if name == "show":
            return dict(record)
        if name in ("metadata", "metadata_values"):
            metadata = {key: value for key, value in (record.get("metadata") or {}).items() if key != MARK}
            return metadata if name == "metadata_values" else self.text(metadata)
        if name in ("attachments", "attachments_list"):
            attached = record.get("attachments") or []
            return attached if name == "attachments_list" else self.text(attached)
        value = record.get(KEYS.get(name, name))
        return value if name == "multiattach" or value is None else str(value)

    @staticmethod
    def text(value: Any) -> str:
        return json.dumps(value)

    async def _grow(self, at: Context, size: int) -> None:
        record = await at.cloud.get(VOLUMES, str(at.me.physical_id))
        if int(record["size"]) == size:
            return
        if int(record["size"]) > size:
            raise ResourceFailed(f"A volume cannot shrink: it has {record['size']} GB, {size} GB are asked for.")
        async with while_detached(at, record):
            await self._act(at, {"os-extend": {"new_size": size}})
            await self._steady(at)

    async def _restore(self, at: Context, backup: str) -> None:
        path = f"/backups/{backup}/restore"
        await at.cloud.call("block_storage", "post", path, json={"restore": {"volume_id": at.me.physical_id}})
        await self._steady(at)
        await at.remember(restored=backup)

    async def _backup_size(self, at: Context, want: VolumeProps) -> int | None:
        if not want.backup_id:
            return None
        answer = await at.cloud.call("block_storage", "get", f"/backups/{want.backup_id}")
        return int(answer["backup"]["size"])

    async def _act(self, at: Context, body: Mapping[str, Any]) -> None:
        await at.cloud.call("block_storage", "post", f"/volumes/{at.me.physical_id}/action", json=body)

    async def _steady(self, at: Context) -> None:
        failed = self.failed | {"ERROR_EXTENDING"}
        await at.cloud.settled(VOLUMES, str(at.me.physical_id), ready=frozenset({"AVAILABLE", "IN-USE"}), failed=failed)
