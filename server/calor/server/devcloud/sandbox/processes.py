"""Processes that outlive the cloud's own: known by id *and* start time, so that a reused id is never taken for them."""

import asyncio
import os
import signal
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    pid: int
    started: int  # clock ticks since the machine's boot

    @property
    def is_alive(self) -> bool:
        """False for a zombie too: its namespaces are gone."""
        stat = _stat(self.pid)
        return stat is not None and stat.state not in ("Z", "X") and stat.started == self.started

    def namespace(self, kind: str) -> Path:
        return Path(f"/proc/{self.pid}/ns/{kind}")

    async def wait(self, timeout: float | None = None) -> bool:
        """True once it has ended; False when time is up first."""
        try:
            fd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return True
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        loop.add_reader(fd, ended.set)
        try:
            if not self.is_alive:
                return True
            async with asyncio.timeout(timeout):
                await ended.wait()
        except TimeoutError:
            return False
        finally:
            loop.remove_reader(fd)
            os.close(fd)
        return True

    def signal(self, number: signal.Signals) -> None:
        """Nothing happens where it has ended already."""
        try:
            fd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            if self.is_alive:
                signal.pidfd_send_signal(fd, number)
        except ProcessLookupError:
            return
        finally:
            os.close(fd)

    def same_namespace(self) -> list["Process"]:
        """Every process of this one's pid namespace, itself included."""
        mine = _namespace_of(self.pid)
        pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
        found = (of_pid(pid) for pid in pids if mine is not None and _namespace_of(pid) == mine)
        return [process for process in found if process is not None]


def _namespace_of(pid: int) -> int | None:
    try:
        return Path(f"/proc/{pid}/ns/pid").stat().st_ino
    except OSError:
        return None


@dataclass(frozen=True)
class _Stat:
    state: str
    started: int


def of_pid(pid: int) -> Process | None:
    """The process that has this id now."""
    stat = _stat(pid)
    return None if stat is None else Process(pid, stat.started)


def _stat(pid: int) -> _Stat | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return _Stat(state=fields[0], started=int(fields[19]))
