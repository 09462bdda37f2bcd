"""How far what runs print can be read without missing a piece.

Pieces are numbered when they are written and seen once they are committed. With several processes of the server a
smaller number may be seen after a larger one; who has read on by then would never read it. So whoever follows is held
at a number that is missing until it is there, or until nobody can be writing it any more (a write that failed, an old
piece that was removed; a Galera cluster leaves out numbers all the time).
"""

from calor.server.engine.durable.clock import Clock
from calor.server.store import pieces
from calor.server.store.database import Database

PATIENCE = 2.0
"""Seconds within which a piece that was given a number is committed."""
LOOK_BACK = 64
"""Numbers before the newest one that may still be missing when a process first looks."""


class Settling:
    """What one process knows: ``_floor`` is the number up to which all is there or will never be."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._floor: int | None = None
        self._missed: tuple[int, float] | None = None

    async def reached(self) -> tuple[int, bool]:
        """The number up to which to read, and whether that is all there is."""
        if self._floor is None:
            window = await pieces.numbers(self._database, await pieces.newest(self._database) - LOOK_BACK)
            self._floor = window[0] - 1 if window else 0
        while found := await pieces.numbers(self._database, self._floor):
            for number in found:
                if number > self._floor + 1 and not self._is_over(self._floor + 1):
                    return self._floor, False
                self._floor = max(self._floor, number)  # another who follows may have come first
        return self._floor, True

    def _is_over(self, missing: int) -> bool:
        now = self._clock.steady()
        if self._missed is None or self._missed[0] != missing:
            self._missed = (missing, now)
        return now - self._missed[1] >= PATIENCE
