"""One build at a time: two dev clouds that start together must not build the same image into one folder."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path


@asynccontextmanager
async def exclusively(cache: Path) -> AsyncIterator[None]:
    """Hold the cache's lock; waits for whoever builds there, and is let go when this process ends."""
    fd = _lock_file(cache)
    try:
        await asyncio.to_thread(fcntl.flock, fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _lock_file(cache: Path) -> int:
    cache.mkdir(parents=True, exist_ok=True)
    return os.open(cache / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
