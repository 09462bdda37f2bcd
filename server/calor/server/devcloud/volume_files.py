"""Volumes on disk: one sparse file each."""

import errno
import os
from pathlib import Path

from calor.server.devcloud.cloud import Cloud
from calor.server.devcloud.documents import Doc

GIB = 1024**3


def volume_path(cloud: Cloud, volume_id: str) -> Path:
    return cloud.volumes / volume_id


def ensure_volume(cloud: Cloud, volume_id: str) -> None:
    """The file is there with the volume's size; what it holds is kept. A first look copies what it is made from."""
    volume = cloud.docs.get("volume", volume_id)
    if volume is None:
        return
    cloud.volumes.mkdir(parents=True, exist_ok=True)
    path = volume_path(cloud, volume_id)
    if not path.exists():
        partial = path.with_suffix(".partial")
        source = _source(cloud, volume)
        if source is not None and source.is_file():
            _copy_sparse(source, partial)
        else:
            partial.touch(mode=0o600)
        partial.chmod(0o600)
        partial.replace(path)
    if path.stat().st_size < volume["size"] * GIB:
        with path.open("r+b") as file:
            file.truncate(volume["size"] * GIB)


def _source(cloud: Cloud, volume: Doc) -> Path | None:
    if volume["snapshot_id"]:
        return volume_path(cloud, volume["snapshot_id"])
    if volume["source_volid"]:
        return volume_path(cloud, volume["source_volid"])
    ident = (volume["volume_image_metadata"] or {}).get("image_id")
    return cloud.images / ident if ident else None


def snapshot(cloud: Cloud, volume_id: str, snapshot_id: str) -> None:
    ensure_volume(cloud, volume_id)
    partial = volume_path(cloud, snapshot_id).with_suffix(".partial")
    _copy_sparse(volume_path(cloud, volume_id), partial)
    partial.replace(volume_path(cloud, snapshot_id))


def _copy_sparse(source: Path, target: Path) -> None:
    """Copy what is written; holes stay holes, so that an empty volume of any size costs nothing."""
    with source.open("rb") as old, target.open("wb") as new:
        size, at = os.fstat(old.fileno()).st_size, 0
        while at < size:
            try:
                start = os.lseek(old.fileno(), at, os.SEEK_DATA)
            except OSError as exc:
                if exc.errno == errno.ENXIO:  # only a hole is left
                    break
                raise
            at = os.lseek(old.fileno(), start, os.SEEK_HOLE)
            os.lseek(new.fileno(), start, os.SEEK_SET)
            os.lseek(old.fileno(), start, os.SEEK_SET)
            while start < at and (sent := os.sendfile(new.fileno(), old.fileno(), start, at - start)):
                start += sent
        os.ftruncate(new.fileno(), size)


def remove(cloud: Cloud, ident: str) -> None:
    volume_path(cloud, ident).unlink(missing_ok=True)
