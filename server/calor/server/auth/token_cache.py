"""Remembers for a short time what Keystone said of a token, and asks only once for those who come together."""

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from calor.server.errors import Unauthorized
from calor.server.identity.callers import Caller

_REFUSED_SECONDS = 5.0
_INVALID = "The token is not valid or has expired; get a new one and try again."


@dataclass(frozen=True, kw_only=True)
class Validated:
    """A token that Keystone knows. ``expires_at`` is in seconds since the epoch."""

    caller: Caller
    expires_at: float


Ask = Callable[[str], Awaitable[Validated | None]]
"""Ask Keystone; None: it does not know the token."""


class TokenCache:
    """Valid tokens are remembered ``seconds``, never past their expiry; refused ones for five."""

    def __init__(
        self, ask: Ask, *, seconds: float, clock: Callable[[], float] = time.time, capacity: int = 10_000
    ) -> None:
        self._ask = ask
        self._seconds = seconds
        self._clock = clock
        self._capacity = capacity
        self._known: OrderedDict[bytes, tuple[float, Validated | None]] = OrderedDict()
        self._asking: dict[bytes, asyncio.Task[Validated | None]] = {}

    async def caller_of(self, token: str) -> Caller:
        """Raises `Unauthorized` when the token is none, and whatever asking raises when nobody knows."""
        key = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        remembered = self._known.get(key)
        if remembered is not None and remembered[0] > self._clock():
            return self._caller(remembered[1])
        task = self._asking.get(key)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._look(key, token))
            self._asking[key] = task
            task.add_done_callback(lambda _: self._asking.pop(key, None))
        return self._caller(await asyncio.shield(task))

    async def close(self) -> None:
        """End the questions under way."""
        asking = list(self._asking.values())
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    async def _look(self, key: bytes, token: str) -> Validated | None:
        found = await self._ask(token)
        now = self._clock()
        until = now + _REFUSED_SECONDS if found is None else min(now + self._seconds, found.expires_at)
        self._known[key] = (until, found)
        self._known.move_to_end(key)
        while len(self._known) > self._capacity:
            self._known.popitem(last=False)
        return found

    def _caller(self, found: Validated | None) -> Caller:
        if found is None or found.expires_at <= self._clock():
            raise Unauthorized(_INVALID)
        return found.caller
