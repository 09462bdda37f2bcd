"""What every server on this machine has: a folder, a disk in it, and at most one boot, watched and recorded there."""

import asyncio
import logging
import shutil
from abc import ABC, abstractmethod
from pathlib import Path

from calor.server.devcloud.sandbox import console
from calor.server.devcloud.sandbox.guest_services import GuestServices
from calor.server.devcloud.sandbox.networks import Networks
from calor.server.devcloud.sandbox.records import Running

KILL_TIME = 10.0
"""Seconds after which a process that was killed is taken for one that cannot be."""
log = logging.getLogger(__name__)


class Hosted(ABC):
    """Calls are serialised by the driver."""

    def __init__(self, server_id: str, folder: Path, networks: Networks, services: GuestServices) -> None:
        self.id = server_id
        self.lock = asyncio.Lock()
        self._folder = folder
        self._networks = networks
        self._services = services
        self._running: Running | None = None
        self._watch: asyncio.Task[None] | None = None

    @property
    def running(self) -> Running | None:
        """The present boot; None when its process has ended, whoever ended it."""
        return self._running if self._running is not None and self._running.process.is_alive else None

    @abstractmethod
    async def end(self, timeout: float) -> None:
        """Power-off: ask, wait, then force. Returns when everything of this boot is gone."""

    @property
    @abstractmethod
    def _console(self) -> Path: ...

    @abstractmethod
    async def _clean_up(self) -> None:
        """Remove what a boot left outside the server; safe to repeat."""

    async def forget_disk(self) -> None:
        """Back to the image: for a rebuild, and before the end."""
        await asyncio.to_thread(shutil.rmtree, self._folder / "disk", ignore_errors=True)

    async def destroy(self) -> None:
        await self.end(0)
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    def console(self, lines: int | None) -> str:
        return console.read(self._console, lines)

    def trim_console(self) -> None:
        console.trim(self._console)

    async def let_go(self) -> None:
        """The cloud's process ends, the server runs on."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
            self._watch = None

    @property
    def _record(self) -> Path:
        return self._folder / "running.json"

    def _keep(self, running: Running) -> None:
        self._running = running
        running.save(self._record)

    def _watch_end(self) -> None:
        assert self._running is not None
        self._watch = asyncio.create_task(self._clean_up_at_end(self._running))

    async def _clean_up_at_end(self, running: Running) -> None:
        await running.process.wait()
        async with self.lock:
            if self._running is not None and self._running.process == running.process:
                log.info("a server has ended", extra={"server": self.id})
                self._watch = None
                await self._clean_up()
