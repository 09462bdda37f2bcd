"""Output on disk, bounded while it is written: of a file that grows beyond all use the middle gives its blocks back.

The size of the file stays, so that writers need not know and the note in the outputs names the whole amount.
"""

import os

KEPT_HEAD = 1024 * 1024
KEPT_TAIL = 16 * 1024 * 1024
MOST = 64 * 1024 * 1024
PUNCH_HOLE_KEEP_SIZE = 0x03


def bound(*paths: str) -> None:
    """Cut a hole into each file that holds more than ``MOST`` bytes on disk, where the file system knows holes."""
    for path in paths:
        try:
            found = os.stat(path)
        except FileNotFoundError:
            continue
        if found.st_blocks * 512 > MOST:
            _punch(path, KEPT_HEAD, found.st_size - KEPT_TAIL)


def _punch(path: str, begin: int, end: int) -> None:
    try:
        import ctypes  # seldom needed, and small Pythons lack it

        fallocate = ctypes.CDLL(None).fallocate64
    except (ImportError, OSError, AttributeError):
        return  # then the disk has to hold it all
    with open(path, "r+b") as target:
        length = ctypes.c_longlong(max(0, end - begin))
        fallocate(target.fileno(), PUNCH_HOLE_KEEP_SIZE, ctypes.c_longlong(begin), length)
