"""Talking to a running QEMU by its monitor socket (QMP): commands, files handed over, events waited for."""

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from calor.server.devcloud.driver import DriverError
from calor.server.devcloud.qemu.command_line import SOCKET

_ANSWER_SECONDS = 30.0


class Monitor:
    """One conversation; commands one after the other."""

    def __init__(self, sock: socket.socket, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._socket = sock
        self._reader = reader
        self._writer = writer
        self._events: list[dict[str, Any]] = []

    async def run(self, command: str, arguments: Mapping[str, Any] | None = None, *, fd: int | None = None) -> Any:
        """The command's answer; ``fd`` goes with it. Raises `DriverError` with QEMU's words."""
        line = json.dumps({"execute": command, "arguments": arguments or {}}).encode() + b"\n"
        if fd is None:
            self._writer.write(line)
            await self._writer.drain()
        else:
            socket.send_fds(self._socket, [line], [fd])
        while True:
            answer = await self._next()
            if "error" in answer:
                raise DriverError(f"QEMU refused {command}: {answer['error'].get('desc', answer['error'])}")
            if "return" in answer:
                return answer["return"]

    async def event(self, is_it: Callable[[dict[str, Any]], bool], timeout: float) -> bool:
        """Whether such an event came, since the conversation began or within the time."""
        if any(is_it(each) for each in self._events):
            return True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while True:
                    if is_it(await self._next()):
                        return True
        return False

    async def _next(self) -> dict[str, Any]:
        try:
            line = await self._reader.readline()
        except OSError as exc:
            raise DriverError(f"QEMU has ended meanwhile: {exc.strerror}.") from exc
        if not line:
            raise DriverError("QEMU has ended meanwhile.")
        answer: dict[str, Any] = json.loads(line)
        if "event" in answer:
            self._events.append(answer)
        return answer


@asynccontextmanager
async def monitor(folder: Path) -> AsyncIterator[Monitor]:
    """To the QEMU of that folder. Raises `DriverError` where nobody listens, or answers within 30 s."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.setblocking(False)
    try:
        await _connect(sock, folder)
        reader, writer = await asyncio.open_unix_connection(sock=sock)
    except OSError as exc:
        sock.close()
        raise DriverError(f"QEMU does not listen in {folder}: {exc.strerror}") from exc
    try:
        async with asyncio.timeout(_ANSWER_SECONDS) as patience:
            one = Monitor(sock, reader, writer)
            await one.run("qmp_capabilities")  # its greeting is neither an answer nor an event
            patience.reschedule(None)
        yield one
    except TimeoutError as exc:
        raise DriverError(f"The QEMU of {folder} does not answer.") from exc
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def _connect(sock: socket.socket, folder: Path) -> None:
    """By a descriptor of the folder: its own path may be longer than a socket's may be."""
    fd = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        await asyncio.get_running_loop().sock_connect(sock, f"/proc/self/fd/{fd}/{SOCKET}")
    finally:
        os.close(fd)
