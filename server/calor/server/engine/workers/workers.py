"""Processes for work whose cost a tenant decides, with limits on CPU, memory and time.

Workers are started when first needed, do one piece of work at a time, and are replaced when they broke a limit.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from calor.server.engine.workers.worker import LENGTH, Outcome, packed, unpacked
from calor.server.errors import RequestLimitExceeded

_ATTEMPTS = 2  # a worker that ended for no fault of the work (killed by an operator) is replaced, once


@dataclass(frozen=True, kw_only=True)
class WorkerLimits:
    """What one piece of work may take, and how many are done at once."""

    cpu_seconds: int = 10
    memory: int = 768 << 20  # bytes of address space, some 150 MB of which the interpreter has from the start
    wall_seconds: float = 60.0
    processes: int = 2


@dataclass(frozen=True, kw_only=True)
class WorkerKind:
    """``preparation`` (``MODULE:FUNCTION``) runs in each process before its first piece of work. ``is_single_use``: a
    process does one piece only, so that nothing of it is left for the next."""

    preparation: str = ""
    is_single_use: bool = False
    kept_variables: Sequence[str] = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "VIRTUAL_ENV")

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in self.kept_variables if name in os.environ}
        return {**kept, "PYTHONHASHSEED": "0"} if self.is_single_use else kept  # the same work gives the same each time

    def command(self, limits: WorkerLimits) -> list[str]:
        command = [
            sys.executable,
            "-m",
            "calor.server.engine.workers.worker",
            str(limits.cpu_seconds),
            str(limits.memory),
        ]
        return [*command, self.preparation] if self.preparation else command


class WorkerGone(Exception):
    """The worker ended before it answered; the number is that of the signal."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the worker ended with {code}")
        self.code = code


class Workers:
    """A pool. `run` may be called from any task of one event loop; `close` ends all processes."""

    def __init__(self, limits: WorkerLimits | None = None, kind: WorkerKind | None = None) -> None:
        self.limits = limits or WorkerLimits()
        self._kind = kind or WorkerKind()
        self._idle: list[asyncio.subprocess.Process] = []
        self._room = asyncio.Semaphore(self.limits.processes)

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The function's value, computed in a worker; what it raises is raised here. The function is found by its
        name, so it stands in a module. Raises `RequestLimitExceeded` that names the limit."""
        message = packed((function, arguments))
        async with self._room:
            for attempt in range(1, _ATTEMPTS + 1):
                worker = self._idle.pop() if self._idle else await self._started()
                try:
                    word, value = await self._asked(worker, message)
                except WorkerGone as gone:
                    if gone.code == -signal.SIGXCPU:
                        raise self._overrun("worker_cpu_seconds", f"{self.limits.cpu_seconds} s of CPU") from None
                    if attempt == _ATTEMPTS:
                        raise RequestLimitExceeded(f"This could not be read: {gone}.") from None
                    continue
                outcome = Outcome(word)
                if outcome is Outcome.OUT_OF_MEMORY:
                    await _ended(worker)
                    raise self._overrun("worker_memory", f"{self.limits.memory >> 20} MiB of memory")
                if self._kind.is_single_use:
                    await _ended(worker)
                else:
                    self._idle.append(worker)
                if outcome is Outcome.RAISED:
                    raise value
                return value
        raise AssertionError  # the last attempt returned or raised

    async def close(self) -> None:
        idle, self._idle = self._idle, []
        for worker in idle:
            await _ended(worker)

    async def _started(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self._kind.command(self.limits),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=self._kind.environment(),
        )

    async def _asked(self, worker: asyncio.subprocess.Process, message: bytes) -> Any:
        """The worker's answer. Whatever else ends the waiting (the caller went away) ends the worker, too."""
        answered = False
        try:
            async with asyncio.timeout(self.limits.wall_seconds):
                answer = await _exchanged(worker, message)
            answered = True
        except TimeoutError:
            raise self._overrun("worker_wall_seconds", f"{self.limits.wall_seconds:g} s") from None
        except (asyncio.IncompleteReadError, ConnectionError):
            raise WorkerGone(await worker.wait()) from None
        finally:
            if not answered:
                await _ended(worker)
        return answer

    def _overrun(self, name: str, most: str) -> RequestLimitExceeded:
        return RequestLimitExceeded(f"{name}: reading this takes more than {most}.")


async def _exchanged(worker: asyncio.subprocess.Process, message: bytes) -> Any:
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(message)
    await worker.stdin.drain()
    (size,) = LENGTH.unpack(await worker.stdout.readexactly(LENGTH.size))
    return unpacked(await worker.stdout.readexactly(size))


async def _ended(worker: asyncio.subprocess.Process) -> None:
    """Kill it, if it has not ended by itself, and take its exit status away."""
    if worker.returncode is None:
        worker.kill()
    await worker.wait()
