"""Network namespaces that last without a process (bind-mounted files), and sockets opened inside any of them."""

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from calor.server.devcloud.sandbox import linux

T = TypeVar("T")


def create(path: Path, sysctls: Mapping[str, str]) -> bool:
    """Make the namespace that ``path`` shall name. False where it is there already (settings are not written then)."""
    if exists(path):
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()

    def make() -> None:
        linux.unshare(linux.CLONE_NEWNET)
        _write_sysctls(sysctls)
        linux.mount("/proc/thread-self/ns/net", str(path), None, linux.MS_BIND)

    _in_thread(make)
    return True


def exists(path: Path) -> bool:
    """True for a mounted namespace; a plain file is what a restart of the machine leaves."""
    try:
        return path.stat().st_dev != path.parent.stat().st_dev
    except FileNotFoundError:
        return False


def remove(path: Path) -> None:
    """Let go of the namespace; all devices and rules in it go with it."""
    while exists(path):
        linux.umount(str(path), linux.MNT_DETACH)
    path.unlink(missing_ok=True)


def open_socket(
    namespace: Path, kind: socket.SocketKind = socket.SOCK_STREAM, family: int = socket.AF_INET
) -> socket.socket:
    """A non-blocking socket that belongs to the namespace, wherever it is used afterwards."""

    def make() -> socket.socket:
        made = socket.socket(family, kind)
        made.setblocking(False)
        return made

    return inside(namespace, make)


def listen(namespace: Path, address: str, port: int) -> socket.socket:
    """A listening TCP socket inside the namespace, where ``address`` must be configured."""

    def make() -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        made.listen(64)
        made.setblocking(False)
        return made

    return inside(namespace, make)


def configure(namespace: Path, sysctls: Mapping[str, str]) -> None:
    """Write settings below /proc/sys/net as the namespace sees it."""
    inside(namespace, lambda: _write_sysctls(sysctls))


def inside(namespace: Path, work: Callable[[], T]) -> T:
    """Run ``work`` in a thread of its own that has entered the network namespace."""
    fd = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)

    def enter_and_work() -> T:
        linux.setns(fd, linux.CLONE_NEWNET)
        return work()

    try:
        return _in_thread(enter_and_work)
    finally:
        os.close(fd)


def _write_sysctls(sysctls: Mapping[str, str]) -> None:
    for name, value in sysctls.items():
        with contextlib.suppress(FileNotFoundError):  # a feature that this kernel does not have needs no setting
            Path("/proc/sys/net", name).write_text(value)


def _in_thread(work: Callable[[], T]) -> T:
    """A thread that has changed its namespace cannot go back into a pool: each job gets its own."""
    results: list[T] = []
    errors: list[OSError] = []

    def job() -> None:
        try:
            results.append(work())
        except OSError as exc:
            errors.append(exc)

    thread = threading.Thread(target=job, name="namespace")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
