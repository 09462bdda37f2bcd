"""A Debian that OpenRC boots, in namespaces of its own: processes, mounts, host name, and no network."""

import subprocess
import time
from pathlib import Path

import scratch_debian

PACKAGES = "openrc,python3,procps"
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# The clock and the kernel's settings are the machine's: no service may touch them.
BOOT = r"""
mount --bind "$top/root/proc/sys" "$top/root/proc/sys" && mount -o remount,bind,ro "$top/root/proc/sys"
mount -t tmpfs tmpfs "$top/root/run"
exec setpriv --bounding-set -sys_time,-sys_boot,-sys_module,-sys_rawio,-mknod --inh-caps=-all \
    chroot "$top/root" /usr/bin/env -i "$3" /sbin/openrc-init
"""


def _quiet(root: Path) -> None:
    for name in ("hwclock.sh", "procps", "cgroups"):
        (root / "etc/runlevels/sysinit" / name).unlink(missing_ok=True)


class Machine(scratch_debian.Scratch):
    """Running from ``boot`` to ``halt``."""

    def __init__(self, top: Path) -> None:
        super().__init__(scratch_debian.made("openrc-machine-1", PACKAGES, _quiet), top)
        self._process: subprocess.Popen[bytes] | None = None

    def boot(self) -> "Machine":
        command = self.apart(BOOT, PATH)
        with (self._top / "console").open("wb") as console:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=console, stderr=console)
        self.eventually('[ "$(rc-status --runlevel)" = default ] && [ ! -e /run/openrc/rc.starting ]', 60)
        return self

    def halt(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(30)

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        enter = ["nsenter", "--target", self._init(), "--all", "--root", "--wdns=/", "/usr/bin/env", "-i", PATH]
        return subprocess.run(
            [*enter, "LC_ALL=C.UTF-8", *argv], capture_output=True, text=True, timeout=120, check=False
        )

    def _init(self) -> str:
        """The process 1 of the machine, by its number out here."""
        assert self._process is not None
        until = time.monotonic() + 30
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        while not (found := children.read_text().split()) or "openrc" not in Path(f"/proc/{found[0]}/comm").read_text():
            assert self._process.poll() is None, self.console()
            assert time.monotonic() < until, self.console()
            time.sleep(0.05)
        return found[0]

    def console(self) -> str:
        return (self._top / "console").read_text(errors="replace")[-3000:]

    def sh(self, script: str) -> str:
        """A shell command that must succeed; what it printed."""
        done = self.run("sh", "-c", script)
        assert done.returncode == 0, f"{script}: {done.stdout}{done.stderr}{self.console()}"
        return done.stdout

    def eventually(self, script: str, seconds: float = 30) -> None:
        until = time.monotonic() + seconds
        while (done := self.run("sh", "-c", script)).returncode != 0:
            assert time.monotonic() < until, f"{script}: {done.stdout}{done.stderr}{self.console()}"
            time.sleep(0.2)
