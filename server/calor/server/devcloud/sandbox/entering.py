"""The program that enters a sandbox: ``main`` runs in a process of its own. Standard library only.

On a terminal, the program inside gets a new terminal of the sandbox's and this process carries the characters: the
caller's terminal itself never goes in, where a hostile root could type into it.
"""

import fcntl
import os
import select
import signal
import struct
import sys
import termios
import tty
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from calor.server.devcloud.sandbox import launcher, linux

_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "USER": "root",
}
_UNLOCK_SLAVE = 0x40045431  # TIOCSPTLCK, which termios does not name
_SLAVE_NUMBER = 0x80045430  # TIOCGPTN


def main() -> None:
    """``argv``: …, process id, program and its arguments."""
    target, argv = sys.argv[2], sys.argv[3:]
    _join_limits(target)
    user = os.open(f"/proc/{target}/ns/user", os.O_RDONLY)
    spaces = [os.open(f"/proc/{target}/ns/{kind}", os.O_RDONLY) for kind in ("net", "uts", "ipc", "pid", "mnt")]
    for fd in spaces:
        linux.setns(fd)
    os.chdir("/root")
    terminal = os.isatty(0)
    master, slave = _open_terminal() if terminal else (-1, -1)
    child = os.fork()
    if child == 0:
        _run(argv, user, slave)
    if terminal:
        os.close(slave)
        _carry(master)
    _pid, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status) % 256)


def _join_limits(target: str) -> None:
    """Into the control groups of the sandbox's first process."""
    for line in Path(f"/proc/{target}/cgroup").read_text().splitlines():
        _number, controllers, group = line.split(":", 2)
        if group.startswith("/calor/"):
            Path("/sys/fs/cgroup", controllers, group[1:], "cgroup.procs").write_text("0")


def _run(argv: Sequence[str], user: int, slave: int) -> NoReturn:
    try:
        os.setsid()
        environment = {**_ENVIRONMENT, "TERM": os.environ.get("TERM", "linux")}
        if slave >= 0:
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for fd in (0, 1, 2):
                os.dup2(slave, fd)
        os.closerange(3, user)
        os.closerange(user + 1, 1 << 16)
        launcher.drop_privileges(user)
        os.execvpe(argv[0], list(argv), environment)  # noqa: S606
    except FileNotFoundError:
        _say(f"{os.uname().nodename} has no program {argv[0]}")
    except OSError as exc:
        _say(f"{argv[0]}: {exc.strerror}")
    os._exit(127)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _open_terminal() -> tuple[int, int]:
    """A new pseudo-terminal of the sandbox's devpts, as large as ours."""
    master = os.open("/dev/pts/ptmx", os.O_RDWR | os.O_NOCTTY)
    fcntl.ioctl(master, _UNLOCK_SLAVE, struct.pack("i", 0))
    number = struct.unpack("i", fcntl.ioctl(master, _SLAVE_NUMBER, struct.pack("i", 0)))[0]
    slave = os.open(f"/dev/pts/{number}", os.O_RDWR | os.O_NOCTTY)
    _copy_size(master)
    return master, slave


def _copy_size(master: int) -> None:
    fcntl.ioctl(master, termios.TIOCSWINSZ, fcntl.ioctl(0, termios.TIOCGWINSZ, b"\0" * 8))


def _carry(master: int) -> None:
    """Characters both ways until the inner side has closed its terminal."""
    signal.signal(signal.SIGWINCH, lambda _number, _frame: _copy_size(master))
    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        sources = [0, master]
        while True:
            ready, _w, _x = select.select(sources, [], [])
            for fd in ready:
                try:
                    data = os.read(fd, 4096)
                except OSError:  # EIO: the last process on the inner terminal has gone
                    return
                if not data and fd == master:
                    return
                if not data:
                    sources.remove(0)
                os.write(1 if fd == master else master, data)
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
