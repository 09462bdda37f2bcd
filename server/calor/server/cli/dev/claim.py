"""A state directory belongs to one dev cloud at a time."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from calor.server.devcloud.state import StateError


@contextmanager
def claimed(directory: Path) -> Iterator[None]:
    """Make the directory where it is missing and hold it: the lock goes with the process, however that ends.

    Raises `StateError` where it cannot be used or another process has it.
    """
    lock = directory / "run" / "lock"
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock.parent.mkdir(exist_ok=True)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as exc:
        raise StateError(
            f"The state directory {directory} cannot be used: {exc.strerror}. Choose another with --state-dir."
        ) from exc
    try:
        _take(descriptor, directory)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, directory: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as exc:
        holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip() or "unknown"
        raise StateError(
            f"The dev cloud of {directory} runs already (pid {holder}). End it with calor dev stop, "
            "or start another beside it: --state-dir OTHER --port 0."
        ) from exc
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
