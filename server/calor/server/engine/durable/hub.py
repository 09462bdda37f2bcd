"""Wake-ups inside one process: who waits for a signal, a deployment or a server's mailbox. A wake-up only says
"look again"; what is true stands in the database."""

import asyncio
from collections.abc import Hashable
from types import TracebackType


class Hub:
    """Topics that can be listened to. A topic without listeners costs nothing."""

    def __init__(self) -> None:
        self._listeners: dict[Hashable, set[Listener]] = {}

    def wake(self, topic: Hashable) -> None:
        for listener in self._listeners.get(topic, ()):
            listener.fire()

    def listen(self, topic: Hashable) -> "Listener":
        """Enter it *before* looking at what is true, so that no wake-up falls between looking and waiting."""
        return Listener(self._listeners, topic)


class Listener:
    def __init__(self, listeners: "dict[Hashable, set[Listener]]", topic: Hashable) -> None:
        self._listeners = listeners
        self._topic = topic
        self._fired = False
        self._waiter: asyncio.Future[None] | None = None

    def __enter__(self) -> "Listener":
        self._listeners.setdefault(self._topic, set()).add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        others = self._listeners[self._topic]
        others.discard(self)
        if not others:
            del self._listeners[self._topic]

    def fire(self) -> None:
        self._fired = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self, timeout: float | None) -> bool:
        """True when woken since it was entered or last waited on, False when ``timeout`` seconds passed."""
        if not self._fired:
            loop = asyncio.get_running_loop()
            self._waiter = loop.create_future()
            timer = None if timeout is None else loop.call_later(timeout, _expire, self._waiter)
            try:
                await self._waiter
            finally:
                self._waiter = None
                if timer is not None:
                    timer.cancel()
        woken, self._fired = self._fired, False
        return woken


def _expire(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)
