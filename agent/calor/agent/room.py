"""Room on disk: nothing begins that could not be reported, and a result waits for room rather than being lost."""

import errno
import os
import time
from typing import Callable, TypeVar

LEAST = 1024 * 1024
"""Bytes: about what the largest result takes. No hook is started with less."""
PAUSE = 0.5
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)

Result = TypeVar("Result")


def lacking(directory: str) -> str:
    """That the disk of a directory is full, or nearly; "" while it is not."""
    known = os.statvfs(directory)
    free = known.f_bavail * known.f_frsize
    if free >= LEAST:
        return ""
    return "No space left on device: {} has {} bytes free, and needs {}".format(directory, free, LEAST)


def require(directory: str) -> None:
    """Raises OSError where less than ``LEAST`` is free."""
    trouble = lacking(directory)
    if trouble:
        raise OSError(errno.ENOSPC, trouble)


def is_meant(fault: OSError) -> bool:
    """Whether this is about room, which may come again."""
    return fault.errno in NO_ROOM


def await_room(work: Callable[[], Result]) -> Result:
    """What ``work`` answers, which is tried again for as long as there is no room for what it writes."""
    while True:
        try:
            return work()
        except OSError as exc:
            if not is_meant(exc):
                raise
        time.sleep(PAUSE)
