"""One build at a time: two dev clouds that start together must not build the same image into one folder."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path


@asynccontextmanager
async def exclusively(cache: Path, lock: str = "lock") -> AsyncIterator[None]:
    """Hold a lock of the cache; waits for whoever builds there, and is let go when this process ends.

    Disks have a lock of their own: they take minutes, and a start of `calor dev` needs the other one."""
    fd = _lock_file(cache, lock)
    try:
        await asyncio.to_thread(fcntl.flock, fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _lock_file(cache: Path, lock: str) -> int:
    cache.mkdir(parents=True, exist_ok=True)
    return os.open(cache / lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
