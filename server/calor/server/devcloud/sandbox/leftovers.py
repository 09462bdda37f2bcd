"""Removing what a dev cloud's sandboxes hold on this machine when no process of it runs any more."""

import signal
from collections.abc import Mapping
from pathlib import Path

from calor.server.devcloud.driver import GuestDocument
from calor.server.devcloud.sandbox import commands, processes
from calor.server.devcloud.sandbox.driver import SandboxDriver
from calor.server.devcloud.sandbox.processes import Process

_KILL_SECONDS = 5.0


class _Silence:
    """The metadata service of servers that are about to end."""

    def get(self, server_id: str, path: str) -> GuestDocument | None:
        return None


def any_in(state_dir: Path) -> bool:
    """Whether servers or networks of this state directory are on this machine."""
    folders = (state_dir / "servers", state_dir / "run" / "netns")
    return any(next(folder.iterdir(), None) is not None for folder in folders if folder.is_dir())


def servers_in(state_dir: Path) -> int:
    """The number of servers that this state directory has, running or not."""
    servers = state_dir / "servers"
    return sum(1 for _ in servers.iterdir()) if servers.is_dir() else 0


async def remove(state_dir: Path) -> int:
    """End all servers and remove their disks, namespaces, mounts and loop devices; the number of servers.

    Raises `DriverError` where something cannot be removed; what can be is.
    """
    count = servers_in(state_dir)
    driver = SandboxDriver(state_dir)
    nothing: Mapping[int, tuple[str, int]] = {}
    try:
        await driver.start(_Silence(), nothing)
    finally:
        await driver.stop(keep=False)
    await _end_stragglers(state_dir.resolve() / "servers")  # noqa: ASYNC240 - a local folder
    await _detach(state_dir.resolve() / "volumes")  # noqa: ASYNC240 - a local folder
    return count


async def _end_stragglers(servers: Path) -> None:
    for process in _stragglers(servers):
        process.signal(signal.SIGKILL)
        await process.wait(_KILL_SECONDS)


def _stragglers(servers: Path) -> list[Process]:
    """Sandboxes whose record is not there or cannot be read: known by the overlay that they run on."""
    entries = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    inside = [entry for entry in entries if f"upperdir={servers}/" in _mounts(entry)]
    return [process for entry in inside if (process := processes.of_pid(int(entry.name))) is not None]


def _mounts(entry: Path) -> str:
    try:
        return (entry / "mountinfo").read_text()
    except OSError:  # it has ended meanwhile
        return ""


async def _detach(volumes: Path) -> None:
    """Loop devices whose server's record was not yet written when the cloud was killed."""
    listing = await commands.run(["losetup", "--noheadings", "--output", "NAME,BACK-FILE"])
    for line in listing.splitlines():
        name, _, backing = line.strip().partition(" ")
        if Path(backing.strip()).is_relative_to(volumes):
            await commands.run(["losetup", "--detach", name])
