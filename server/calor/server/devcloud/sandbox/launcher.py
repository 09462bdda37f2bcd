"""The short-lived program that starts a sandbox: ``main`` runs in a process of its own. Standard library only.

It makes the namespaces, says the first process' id on stdout, waits on stdin for the word that the network is wired
(or for the end of the one who asked: then nothing was started), lets the first process go and ends.

The user namespace maps every id to itself: files keep their owners, but no capability inside counts on the host. The
network, UTS and IPC namespaces belong to it (root inside may configure them); the mount and pid namespaces belong
to the host, so nothing inside can mount, whatever capability it finds.
"""

import contextlib
import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Final, NoReturn

from calor.server.devcloud.sandbox import launch_plan, linux, rootfs
from calor.server.devcloud.sandbox.launch_plan import LaunchPlan

_WITHHELD: Final = {
    "DAC_READ_SEARCH": 2, "LINUX_IMMUTABLE": 9, "SYS_MODULE": 16, "SYS_RAWIO": 17, "SYS_PACCT": 20, "SYS_ADMIN": 21,
    "SYS_BOOT": 22, "SYS_TIME": 25, "MKNOD": 27, "AUDIT_CONTROL": 30, "MAC_OVERRIDE": 32, "MAC_ADMIN": 33, "SYSLOG": 34,
    "WAKE_ALARM": 35, "BLOCK_SUSPEND": 36, "AUDIT_READ": 37, "PERFMON": 38, "BPF": 39, "CHECKPOINT_RESTORE": 40,
}  # fmt: skip
_OWNED: Final = linux.CLONE_NEWUSER | linux.CLONE_NEWNET | linux.CLONE_NEWUTS | linux.CLONE_NEWIPC
_IDS: Final = "0 0 4294967294\n"
"""All ids but the last: pam_loginuid takes a process with the full map for one of the host."""


def main() -> None:
    """``argv``: the plan's path. Exit status 0 means that the server's first process runs."""
    plan = launch_plan.load(Path(sys.argv[-1]))
    user_namespace = _enter_new_namespaces(plan)
    go_read, go_write = os.pipe()
    told_read, told_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(go_write)
        os.close(told_read)
        _become_first_process(plan, user_namespace, go_read, told_write)
    os.close(go_read)
    os.close(told_write)
    sys.stdout.write(json.dumps({"pid": pid}) + "\n")
    sys.stdout.flush()
    if sys.stdin.readline() != "go\n":
        os.kill(pid, signal.SIGKILL)
        raise SystemExit("nobody waits for this server any more")
    os.write(go_write, b"go")
    with os.fdopen(told_read, encoding="utf-8") as told:
        complaint = told.read()
    if complaint:
        raise SystemExit(complaint)


def drop_privileges(user_namespace: int) -> None:
    """Enter the sandbox's user namespace and give up what is withheld there, for good."""
    linux.setns(user_namespace, linux.CLONE_NEWUSER)
    for number in _WITHHELD.values():
        with contextlib.suppress(OSError):  # a capability that this kernel does not know
            linux.drop_from_bounding_set(number)


def _enter_new_namespaces(plan: LaunchPlan) -> int:
    """Returns a descriptor of the new user namespace, which the caller has not entered."""
    ready_read, ready_write = os.pipe()
    leave_read, leave_write = os.pipe()
    helper = os.fork()
    if helper == 0:
        os.close(leave_write)
        _hold_new_namespaces(ready_write, leave_read)
    os.close(ready_write)
    if os.read(ready_read, 1) != b"r":
        raise SystemExit("This kernel does not let root make user namespaces (user.max_user_namespaces?).")
    for name in ("uid_map", "gid_map"):
        Path(f"/proc/{helper}/{name}").write_text(_IDS)
    user, net, uts, ipc = (os.open(f"/proc/{helper}/ns/{kind}", os.O_RDONLY) for kind in ("user", "net", "uts", "ipc"))
    os.close(leave_write)
    os.waitpid(helper, 0)
    for fd in (net, uts, ipc):
        linux.setns(fd)
        os.close(fd)
    linux.sethostname(plan.hostname[:64])
    linux.unshare(linux.CLONE_NEWPID)
    return user


def _hold_new_namespaces(ready: int, leave: int) -> NoReturn:
    status = 1
    try:
        linux.unshare(_OWNED)
        # no user namespace below this one: it would bring back the right to mount
        Path("/proc/sys/user/max_user_namespaces").write_text("0\n")
        os.write(ready, b"r")
        os.read(leave, 1)
        status = 0
    finally:
        os._exit(status)


def _become_first_process(plan: LaunchPlan, user_namespace: int, go: int, told: int) -> NoReturn:
    try:
        os.setsid()
        console = os.open(plan.console, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        linux.unshare(linux.CLONE_NEWNS)
        rootfs.assemble(plan)
        rootfs.furnish(plan)
        if os.read(go, 2) != b"go":
            os._exit(1)
        null = os.open("/dev/null", os.O_RDONLY)
        for source, target in ((null, 0), (console, 1), (console, 2)):
            os.dup2(source, target)
        os.setgroups([])
        drop_privileges(user_namespace)
        os.closerange(3, told)
        os.closerange(told + 1, 1 << 16)
        os.execve(plan.argv[0], list(plan.argv), dict(plan.environment))  # noqa: S606
    except BaseException as exc:  # the outermost frame of this process: all it can do is tell
        os.write(told, _told(exc))
    os._exit(1)


def _told(exc: BaseException) -> bytes:
    return "".join(traceback.format_exception_only(exc)).strip().encode()


if __name__ == "__main__":
    main()
