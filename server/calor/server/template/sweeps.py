"""Python's search for cyclic garbage, put off while something large is built.

What is built stays, so that a search finds nothing; but searches come as objects are made, and each looks at all that
there are: without this, a template ten times as long took fifteen times as long. Reference counts free the rest.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Builders:
    """How many build at this moment, in all threads, and whether the search was on before the first of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._was_on = False

    def enter(self) -> None:
        with self._lock:
            if self._count == 0:
                self._was_on = gc.isenabled()
                gc.disable()
            self._count += 1

    def leave(self) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0 and self._was_on:
                gc.enable()


_BUILDERS = _Builders()


@contextmanager
def unswept() -> Iterator[None]:
    """Put the search off in a block, or as a decorator in a function; in several threads at once too."""
    _BUILDERS.enter()
    try:
        yield
    finally:
        _BUILDERS.leave()
