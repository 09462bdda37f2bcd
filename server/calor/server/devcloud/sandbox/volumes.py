"""Volumes of sandboxes: loop devices on sparse files, shown inside as nodes in /dev."""

import contextlib
import os
import stat
from pathlib import Path

from calor.server.devcloud.driver import DriverError, VolumeWiring
from calor.server.devcloud.sandbox import commands
from calor.server.devcloud.sandbox.launch_plan import Device
from calor.server.devcloud.sandbox.processes import Process


async def connect(volume: VolumeWiring) -> tuple[str, Device]:
    """A loop device for the volume's file; returns its path on this machine and the node for the server."""
    try:
        loop = (await commands.run(["losetup", "--find", "--show", str(volume.path)])).strip()
    except DriverError as exc:
        raise DriverError(
            f"Volume {volume.volume_id} cannot be attached: this machine gives no loop device ({exc})."
        ) from exc
    number = os.stat(loop).st_rdev  # noqa: PTH116 - a node in /dev does not block
    return loop, Device(name=Path(volume.device).name, major=os.major(number), minor=os.minor(number))


async def disconnect(loop: str, backing: Path) -> None:
    """Let the loop device go, if it still is the one of that file."""
    attached = await loop_devices(backing)
    if loop in attached:
        await commands.run(["losetup", "--detach", loop])


async def loop_devices(backing: Path) -> list[str]:
    listing = await commands.run(["losetup", "--noheadings", "--output", "NAME", "--associated", str(backing)])
    return listing.split()


def show(server: Process, device: Device) -> None:
    """Make the node in a running server. Its /dev is a mount that nothing inside can move: the path is safe."""
    node = _node(server, device.name)
    with contextlib.suppress(FileExistsError):
        os.mknod(node, stat.S_IFBLK | 0o660, os.makedev(device.major, device.minor))


def hide(server: Process, name: str) -> None:
    _node(server, name).unlink(missing_ok=True)


def _node(server: Process, name: str) -> Path:
    return Path(f"/proc/{server.pid}/root/dev") / Path(name).name
