"""Disks of virtual machines: what a server boots from, and the overlay that takes its writes."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calor.server.devcloud.driver import DriverError, ServerSpec
from calor.server.devcloud.images.catalog import DESCRIPTION, load
from calor.server.devcloud.sandbox import commands

FORMATS = ("qcow2", "raw")
GIB = 1024**3


@dataclass(frozen=True)
class Source:
    """An image's disk file, never written to."""

    path: Path
    format: str


def source(server: ServerSpec) -> Source | None:
    """The disk that the server's image is; None where it is a tree of files for sandboxes or there is no image."""
    path = server.image_path
    if path is None:
        return None
    if path.is_file():
        return Source(path, server.image_format or "")
    if (path / DESCRIPTION).exists() and (image := load(path)).disk is not None:
        return Source(path / image.disk, image.disk_format or "")
    return None


async def overlay(server: ServerSpec, target: Path) -> None:
    """Make the server's own disk, as large as its flavor's, over the image's. Nothing happens where it is there.

    Raises `DriverError` for an image that is no such disk, that is larger than the flavor's disk, or that refers to
    other files: a user's upload must not read this machine's."""
    if target.exists():  # noqa: ASYNC240 - a local file
        return
    found = source(server)
    if found is None:
        raise DriverError(f"Server {server.id} has no image that a VM could boot from.")
    if found.format not in FORMATS:
        raise DriverError(f"Image {server.image_id} has the disk format {found.format!r}; VMs boot from qcow2 and raw.")
    size = await _checked_size(server.image_id, found)
    wanted = server.disk_gb * GIB or size
    if size > wanted:
        raise DriverError(
            f"Flavor's disk is too small for requested image. Flavor disk is {wanted} bytes, image is {size} bytes."
        )
    partial = target.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    await commands.run(
        [
            "qemu-img",
            "create",
            "-q",
            "-f",
            "qcow2",
            "-F",
            found.format,
            "-b",
            str(found.path),
            str(partial),
            str(wanted),
        ]
    )
    partial.replace(target)


async def _checked_size(image_id: str, found: Source) -> int:
    argv = ["qemu-img", "info", "--output=json", "-f", found.format, str(found.path)]
    about: dict[str, Any] = json.loads(await commands.run(argv))
    specific = about.get("format-specific", {}).get("data", {})
    if about.get("backing-filename") or specific.get("data-file"):
        raise DriverError(f"Image {image_id} refers to another file; only images that are complete in themselves boot.")
    return int(about["virtual-size"])
