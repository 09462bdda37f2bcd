"""All processes that a hook has started, also those that left its session, and the end of them."""

import os
import signal
import time
from typing import Dict, List, Set

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Make this process the parent of whatever its descendants leave behind, where the kernel and libc let it."""
    try:
        import ctypes  # small Pythons lack it

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return  # then the mark in the environment alone tells whose they are


def collect_adopted(own: int) -> None:
    """Take leave of adopted children that have ended, but for ``own``, for which its starter waits."""
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is None or found.si_pid in (0, own):
                return
            os.waitpid(found.si_pid, 0)
        except ChildProcessError:
            return


def descendants(root: int) -> Set[int]:
    """The pids below ``root``."""
    children: Dict[int, List[int]] = {}
    for pid in _pids():
        parent = _parent(pid)
        if parent:
            children.setdefault(parent, []).append(pid)
    found: Set[int] = set()
    wanted = [root]
    while wanted:
        for child in children.get(wanted.pop(), []):
            if child not in found:
                found.add(child)
                wanted.append(child)
    return found


def marked(mark: str) -> Set[int]:
    """The pids whose environment at their start held the entry ``mark`` (NAME=VALUE), but for this process."""
    entry, found = mark.encode("utf-8", "surrogateescape"), set()
    for pid in _pids():
        if pid != os.getpid() and entry in _read(pid, "environ").split(b"\0"):
            found.add(pid)
    return found


def is_running(program: bytes) -> bool:
    """Whether a process of this machine (not of a container in it) has this in its command line."""
    return any(program in _read(pid, "cmdline") and _is_here(pid) for pid in _pids())


def _is_here(pid: int) -> bool:
    try:
        return os.readlink("/proc/{}/ns/mnt".format(pid)) == os.readlink("/proc/self/ns/mnt")
    except OSError:
        return False


def end(mark: str, root: int, grace: float) -> int:
    """Terminate the processes below ``root`` (0: none) and those that bear the mark; kill what is left after
    ``grace`` seconds, until nothing is left. How many there were."""
    first = _all(mark, root)
    _signal(first, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline and _all(mark, root):
        _reap(root)
        time.sleep(0.05)
    for _ in range(100):  # what forks faster than it is killed loses after some rounds
        left = _all(mark, root)
        if not left:
            break
        _signal(left, signal.SIGKILL)
        _reap(root)
        time.sleep(0.02)
    return len(first)


def _all(mark: str, root: int) -> Set[int]:
    found = marked(mark) | (descendants(root) if root else set())
    return {pid for pid in found if not _is_zombie(pid)}


def _signal(pids: Set[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _reap(root: int) -> None:
    """Collect adopted children that have ended; the hook itself is waited for by who started it."""
    if root != os.getpid():
        return
    for pid in descendants(root):
        if _is_zombie(pid) and _parent(pid) == root:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                continue


def _pids() -> List[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _read(pid: int, what: str) -> bytes:
    try:
        with open("/proc/{}/{}".format(pid, what), "rb") as source:
            return source.read()
    except OSError:
        return b""  # it has ended, or is somebody else's


def _fields(pid: int) -> List[bytes]:
    return _read(pid, "stat").rpartition(b")")[2].split()


def _parent(pid: int) -> int:
    fields = _fields(pid)
    return int(fields[1]) if len(fields) > 1 else 0


def _is_zombie(pid: int) -> bool:
    fields = _fields(pid)
    return not fields or fields[0] in (b"Z", b"X")
