"""Waits that grow while nothing works and fall back at once when something does."""

import os


class Backoff:
    """Seconds to wait: ``shortest``, then twice as long each time up to ``longest``, with up to a quarter of jitter."""

    def __init__(self, shortest: float, longest: float) -> None:
        self._shortest = shortest
        self._longest = longest
        self._next = shortest

    def reset(self) -> None:
        self._next = self._shortest

    def limit(self, longest: float) -> None:
        """From now on wait so long at most."""
        self._longest = longest
        self._next = min(self._next, longest)

    def next(self) -> float:
        wait = min(self._next, self._longest)
        self._next = min(self._next * 2, self._longest)
        return wait * (0.75 + 0.25 * os.urandom(1)[0] / 255)
