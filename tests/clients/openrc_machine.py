"""A Debian that OpenRC boots, in namespaces of its own: processes, mounts, host name, and no network."""

import fcntl
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "calor" / "openrc-machine-1"
PACKAGES = "openrc,python3,procps"
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# The clock and the kernel's settings are the machine's: no service may touch them.
BOOT = r"""
base=$1 top=$2
mount -t overlay overlay -o "lowerdir=$base,upperdir=$top/upper,workdir=$top/work" "$top/root" || exit 99
mount -t proc proc "$top/root/proc"
mount --bind "$top/root/proc/sys" "$top/root/proc/sys" && mount -o remount,bind,ro "$top/root/proc/sys"
mount -t tmpfs tmpfs "$top/root/run"
mount -t tmpfs tmpfs "$top/root/dev"
for device in null zero random urandom; do
    touch "$top/root/dev/$device"; mount --bind /dev/$device "$top/root/dev/$device"
done
ln -s /proc/self/fd "$top/root/dev/fd"
ip link set lo up
exec setpriv --bounding-set -sys_time,-sys_boot,-sys_module,-sys_rawio,-mknod --inh-caps=-all \
    chroot "$top/root" /usr/bin/env -i "$3" /sbin/openrc-init
"""


def base() -> Path:
    """The shared Debian: from the cache, or made (half a minute, with network)."""
    if os.getuid() != 0 or shutil.which("mmdebstrap") is None:
        pytest.skip("needs root and mmdebstrap")
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    with CACHE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not CACHE.exists():
            half = CACHE.with_suffix(".partial")
            shutil.rmtree(half, ignore_errors=True)
            command = ["mmdebstrap", "--mode=root", "--variant=minbase", "--quiet", f"--include={PACKAGES}"]
            subprocess.run([*command, "bookworm", str(half)], check=True, capture_output=True, timeout=1200)
            for name in ("hwclock.sh", "procps", "cgroups"):
                (half / "etc/runlevels/sysinit" / name).unlink(missing_ok=True)
            half.rename(CACHE)
    return CACHE


class Machine:
    """Running from ``boot`` to ``halt``; ``upper`` is what it changed of its Debian."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self.upper = top / "upper"
        for name in ("upper", "work", "root"):
            (top / name).mkdir(parents=True)
        self._process: subprocess.Popen[bytes] | None = None

    def write(self, path: str, content: str | bytes, mode: int = 0o644) -> None:
        """Before ``boot``."""
        target = self.upper / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        target.chmod(mode)

    def boot(self) -> "Machine":
        apart = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--net", "--ipc", "--uts"]
        command = [*apart, "--kill-child", "/bin/sh", "-c", BOOT, "sh", str(base()), str(self._top), PATH]
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
