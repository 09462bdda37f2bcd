"""When a call is tried again, and how long before: with jitter, as the service asks, never after a possible effect."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from calor.server.cloud.errors import CloudError, CloudQuota, CloudUncertain
from calor.server.cloud.faults import Answer, ConnectionLost, NotSent, fault_of

FIRST_WAIT, LONGEST_WAIT = 0.3, 15.0


@dataclass
class Throttle:
    """How many calls of one service run at once: halved when it says 429, growing by one with each full round."""

    most: int
    _limit: float = field(init=False)
    _running: int = 0
    _open: asyncio.Condition = field(default_factory=asyncio.Condition)
    _not_before: float = 0.0

    def __post_init__(self) -> None:
        self._limit = float(self.most)

    @property
    def limit(self) -> int:
        return int(self._limit)

    async def run(self, send: Callable[[], Awaitable[Answer]]) -> Answer:
        """Wait for a turn and for the end of a pause the service asked for; then send."""
        async with self._open:
            await self._open.wait_for(lambda: self._running < self.limit)
            self._running += 1
        try:
            pause = self._not_before - asyncio.get_running_loop().time()
            if pause > 0:
                await asyncio.sleep(pause + random.uniform(0, 0.2 * pause))
            answer = await send()
            if answer.status == 429:
                self._slow_down(answer.retry_after)
            else:
                self._limit = min(self._limit + 1 / self._limit, float(self.most))
            return answer
        finally:
            async with self._open:
                self._running -= 1
                self._open.notify_all()

    def _slow_down(self, seconds: float | None) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._not_before:  # one halving per pause, not one per call that met it
            self._limit = max(1.0, self._limit / 2)
        self._not_before = max(self._not_before, now + (seconds or FIRST_WAIT))


@dataclass(frozen=True, kw_only=True)
class Retries:
    """The rules of one door."""

    attempts: int
    patience: float
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def run(
        self, send: Callable[[], Awaitable[Answer]], *, service: str, repeatable: bool, throttle: Throttle
    ) -> Answer:
        """The first good answer. Raises `CloudError`s: `CloudUncertain` where a call that must not be repeated may
        have had its effect."""
        failures, waited = 0, 0.0
        while True:
            asked: float | None = None
            try:
                answer = await throttle.run(send)
                if answer.status < 400:
                    return answer
                error = fault_of(answer, service)
                asked = answer.retry_after
                waits = is_asked_to_wait(answer, error)
                if not waits and not (repeatable and answer.status >= 500):
                    raise settled_fault(error, repeatable)
            except (NotSent, ConnectionLost) as exc:
                if isinstance(exc, ConnectionLost) and not repeatable:
                    raise
                error, waits = exc, False
            failures += 0 if waits else 1
            delay = wait_before(failures + (1 if waits else 0), asked)
            if failures > self.attempts or (waits and waited + delay > self.patience):
                raise settled_fault(error, repeatable)
            waited += delay
            await self.sleep(delay)


def is_asked_to_wait(answer: Answer, error: CloudError) -> bool:
    """Did the service surely not carry out the call, and will it later?"""
    if isinstance(error, CloudQuota):
        return False
    return answer.status == 429 or (answer.status in {413, 503} and answer.retry_after is not None)


def settled_fault(error: CloudError, repeatable: bool) -> CloudError:
    """The error to raise: a service's failure on what must not be repeated leaves its effect unknown."""
    if error.code >= 500 and not repeatable:
        return CloudUncertain(error.detail, code=error.code)
    return error


def wait_before(failures: int, asked: float | None) -> float:
    """Seconds, with jitter; never less than the service asked for."""
    if asked is not None:
        return asked + random.uniform(0, 0.1 * asked + 0.1)
    return random.uniform(0.5, 1.0) * min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** max(0, failures - 1))
