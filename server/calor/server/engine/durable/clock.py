"""The engine's clock, handed in so that tests can move it."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The moment, in UTC. Who sets the machine's clock moves it."""
        ...

    def steady(self) -> float:
        """Seconds since some moment of this process's life: measures how long something takes; nobody sets it."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def steady(self) -> float:
        return time.monotonic()
