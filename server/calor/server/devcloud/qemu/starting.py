"""Starting QEMU: a process of its own, confined, that outlives the cloud's."""

import asyncio
import contextlib
import signal
from collections.abc import Sequence
from pathlib import Path

from calor.server.devcloud.driver import DriverError
from calor.server.devcloud.qemu import command_line
from calor.server.devcloud.qemu.command_line import Machine
from calor.server.devcloud.qemu.qmp import monitor
from calor.server.devcloud.sandbox import processes
from calor.server.devcloud.sandbox.processes import Process

_START_SECONDS = 60.0
_LOOK_AGAIN = 0.05
_LOG = "qemu.log"


async def start(machine: Machine, namespace: Path | None, files: Sequence[int]) -> Process:
    """Returns once the machine runs; it inherits ``files``. Raises `DriverError` with QEMU's words; nothing is left."""
    command_line.pid_path(machine.folder).unlink(missing_ok=True)
    (machine.folder / command_line.SOCKET).unlink(missing_ok=True)
    inside = ["nsenter", f"--net={namespace}", f"--wd={machine.folder}"] if namespace is not None else []
    with (machine.folder / _LOG).open("wb") as log:
        # QEMU's own way into the background would need the rights that it gives up
        launcher = await asyncio.create_subprocess_exec(
            "setsid", "--fork", *inside, *command_line.argv(machine),
            stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=files, cwd=machine.folder,
        )  # fmt: skip
    await launcher.wait()
    try:
        async with asyncio.timeout(_START_SECONDS):
            return await _until_it_answers(machine.folder)
    except TimeoutError as exc:
        if (process := running_in(machine.folder)) is not None:
            process.signal(signal.SIGKILL)
        raise DriverError(f"QEMU has not started within {_START_SECONDS:.0f} s. {_said(machine.folder)}") from exc


async def _until_it_answers(folder: Path) -> Process:
    socket, seen = folder / command_line.SOCKET, None
    while True:
        process = running_in(folder)
        if seen is not None and process is None:
            raise DriverError(f"QEMU could not start the machine: {_said(folder)}")
        seen = process
        if process is not None and socket.exists():
            with contextlib.suppress(DriverError):  # it has ended this moment: the next look tells
                async with monitor(folder):
                    return process
        if seen is None and (words := _said(folder)):
            raise DriverError(f"QEMU could not start the machine: {words}")
        await asyncio.sleep(_LOOK_AGAIN)


def running_in(folder: Path) -> Process | None:
    """The QEMU of this folder that runs, if any."""
    try:
        process = processes.of_pid(int(command_line.pid_path(folder).read_text()))
    except (FileNotFoundError, ValueError):
        return None
    if process is None or not process.is_alive:
        return None
    try:
        is_ours = str(folder).encode() in Path(f"/proc/{process.pid}/cmdline").read_bytes()
    except OSError:
        return None
    return process if is_ours else None


def _said(folder: Path) -> str:
    return (folder / _LOG).read_text(errors="replace").strip()[-500:]
