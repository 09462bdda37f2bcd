"""Ending work in flight: a request to stop, and waits that heed it."""

import asyncio
import enum
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


class StopKind(enum.Enum):
    CANCEL = "cancel"
    TIMEOUT = "timeout"
    SHUTDOWN = "shutdown"


@dataclass(frozen=True)
class StopReason:
    kind: StopKind
    text: str


class Stopped(Exception):
    """The work was told to stop and did."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason.text)
        self.reason = reason


class Stop:
    """One piece of work's request to end. The first reason stands."""

    def __init__(self) -> None:
        self.reason: StopReason | None = None
        self._asked = asyncio.Event()
        self._listeners: list[Callable[[StopReason], None]] = []

    def tell(self, listener: Callable[[StopReason], None]) -> None:
        """Pass the request on, to a child stack; also one that was made already."""
        self._listeners.append(listener)
        if self.reason is not None:
            listener(self.reason)

    def ask(self, reason: StopReason) -> None:
        if self.reason is None or reason.kind is StopKind.SHUTDOWN:
            self.reason = reason
            for listener in self._listeners:
                listener(reason)
        self._asked.set()

    def heed(self) -> None:
        if self.reason is not None:
            raise Stopped(self.reason)

    async def run(self, work: Coroutine[Any, Any, T], *, grace: float = 0.0) -> T:
        """Await ``work``, but not for longer than ``grace`` seconds after the request to stop. A call that creates
        something outside gets a grace, so that its answer is not lost."""
        task = asyncio.ensure_future(work)
        asked = asyncio.ensure_future(self._asked.wait())
        try:
            await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done() and grace:
                await asyncio.wait({task}, timeout=grace)
        finally:
            asked.cancel()
            if not task.done():
                await _ended(task)
        if task.cancelled():
            self.heed()
            raise InterruptedError("it was cancelled from outside")
        return task.result()


async def _ended(task: "asyncio.Future[Any]") -> None:
    """Cancel and wait till it has gone; what it raises on its way out is nobody's any more."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()
