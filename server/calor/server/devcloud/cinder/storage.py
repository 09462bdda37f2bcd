"""The volume worker: makes, grows, copies and removes the files behind volumes."""

import asyncio
import logging
from collections.abc import Mapping

from calor.server.devcloud import volume_files
from calor.server.devcloud.calls import now_micro
from calor.server.devcloud.cloud import Cloud
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.tasks import Step

log = logging.getLogger(__name__)


class Storage:
    """One step per kind of task; each is safe to run again."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._docs = cloud.docs

    @property
    def steps(self) -> Mapping[str, Step]:
        return {
            "create_volume": self._create,
            "delete_volume": self._delete,
            "extend_volume": self._extend,
            "create_snapshot": self._create_snapshot,
            "delete_snapshot": self._delete_snapshot,
        }

    def _volume(self, task: Doc) -> Doc | None:
        return self._docs.get("volume", task["subject"].partition(":")[2])

    async def _create(self, task: Doc) -> None:
        volume = self._volume(task)
        if volume is not None and volume["trouble"] == "never_ready":
            return
        is_made = volume is None or await self._is_made(volume["id"])
        with self._docs.transaction():
            self._docs.drop("task", task["id"])
            volume = self._volume(task)
            if volume is not None and volume["status"] == "creating":
                status = "available" if is_made and volume["trouble"] != "broken" else "error"
                self._docs.change("volume", volume["id"], status=status, updated_at=now_micro())

    async def _is_made(self, ident: str) -> bool:
        """Whether the file behind a volume could be made: the disk may be full, a size more than a file can have."""
        try:
            await asyncio.to_thread(volume_files.ensure_volume, self._cloud, ident)
        except (OSError, OverflowError) as exc:
            log.warning("a volume cannot be made", extra={"volume": ident, "error": str(exc)})
            return False
        return True

    async def _delete(self, task: Doc) -> None:
        ident = task["subject"].partition(":")[2]
        volume_files.remove(self._cloud, ident)
        with self._docs.transaction():
            self._docs.drop("volume", ident)
            self._docs.drop("task", task["id"])

    async def _extend(self, task: Doc) -> None:
        arguments = task["arguments"]
        volume = self._volume(task)
        if volume is not None:
            with self._docs.transaction():
                self._docs.change("volume", volume["id"], size=arguments["size"])
            status = arguments["back"] if await self._is_made(volume["id"]) else "error_extending"
        with self._docs.transaction():
            self._docs.drop("task", task["id"])
            if volume is not None:
                self._docs.change("volume", volume["id"], status=status, updated_at=now_micro())

    async def _create_snapshot(self, task: Doc) -> None:
        ident = task["arguments"]["snapshot"]
        volume = self._volume(task)
        if volume is not None:
            await asyncio.to_thread(volume_files.snapshot, self._cloud, volume["id"], ident)
        with self._docs.transaction():
            self._docs.drop("task", task["id"])
            if self._docs.get("snapshot", ident) is not None:
                status = "available" if volume is not None else "error"
                self._docs.change("snapshot", ident, status=status, updated_at=now_micro())

    async def _delete_snapshot(self, task: Doc) -> None:
        ident = task["arguments"]["snapshot"]
        volume_files.remove(self._cloud, ident)
        with self._docs.transaction():
            self._docs.drop("snapshot", ident)
            self._docs.drop("task", task["id"])
