"""Shuts a process off from files, network and the server's environment, before it sees a template.

What holds everywhere: the process may have no further descriptor, so whatever opens a file, a socket or a pipe fails,
and its environment is empty. Where the kernel allows it (as root, or with unprivileged user namespaces), it also has a
network of its own without any device, and an empty read-only root, in which not even names of files can be asked for.
"""

import ctypes
import logging
import os
import resource
import sys
from collections.abc import Sequence

_NEW_MOUNTS, _NEW_IPC, _NEW_USER, _NEW_NETWORK = 0x00020000, 0x08000000, 0x10000000, 0x40000000
_PRIVATE, _RECURSIVE = 1 << 18, 1 << 14
_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_EXEC = 1, 2, 4, 8
_NOBODY = 65534
_PLACE = "/tmp"  # noqa: S108  # only the place that the empty root is mounted at, in a namespace of this process


def close() -> None:
    """Never to be undone, and to be called with a single thread."""
    from calor.server.tosca import closed, translation  # noqa: F401  # what is asked is found in `closed` by its name

    logging.disable(logging.CRITICAL)  # what the libraries log repeats the template, which is a tenant's
    translation.prepare()
    os.environ.clear()
    os.chdir("/")
    enter_nothing()
    allow_nothing()


def enter_nothing() -> bool:
    """Whether the kernel gave us an empty root and an empty network."""
    if sys.platform != "linux":
        return False
    is_root = os.geteuid() == 0
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(_NEW_MOUNTS | _NEW_IPC | _NEW_NETWORK | (0 if is_root else _NEW_USER)) != 0:
        return False
    flags = _READ_ONLY | _NO_SUID | _NO_DEVICES | _NO_EXEC
    steps: Sequence[tuple[str, str, str | None, int]] = [
        ("none", "/", None, _PRIVATE | _RECURSIVE),
        ("tmpfs", _PLACE, "tmpfs", flags),
    ]
    for source, target, kind, what in steps:
        written = None if kind is None else kind.encode()
        if library.mount(source.encode(), target.encode(), written, what, None) != 0:
            return False
    os.chroot(_PLACE)
    os.chdir("/")
    if is_root:
        os.setgroups([])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)
    return True


def allow_nothing() -> None:
    """No further descriptor or process. Descriptors that are open stay so: the pipes to the server."""
    for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC):
        resource.setrlimit(limit, (0, 0))
