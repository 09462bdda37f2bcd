"""Small Debians made once by mmdebstrap, over which tests lay machines of their own."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "calor"
MOUNTS = r"""
base=$1 top=$2
mount -t overlay overlay -o "lowerdir=$base,upperdir=$top/upper,workdir=$top/work" "$top/root" || exit 99
mount -t proc proc "$top/root/proc"
mount -t tmpfs tmpfs "$top/root/dev"
for device in null zero random urandom; do
    touch "$top/root/dev/$device"; mount --bind /dev/$device "$top/root/dev/$device"
done
ln -s /proc/self/fd "$top/root/dev/fd"
ip link set lo up 2>/dev/null || true
"""


def made(name: str, packages: str, finish: Callable[[Path], None] = lambda root: None) -> Path:
    """The one of that name: from the cache, or made (a minute, with network) and finished. Another content wants
    another name."""
    if os.getuid() != 0 or shutil.which("mmdebstrap") is None:
        pytest.skip("needs root and mmdebstrap")
    target = CACHE / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            half = target.with_suffix(".partial")
            shutil.rmtree(half, ignore_errors=True)
            command = ["mmdebstrap", "--mode=root", "--variant=minbase", "--quiet", f"--include={packages}"]
            subprocess.run([*command, "bookworm", str(half)], check=True, capture_output=True, timeout=1200)
            finish(half)
            half.rename(target)
    return target


class Scratch:
    """A root file system over ``base``, below ``top``; what differs from the base is ``upper``."""

    def __init__(self, base: Path, top: Path) -> None:
        self._base, self._top = base, top
        self.upper = top / "upper"
        for name in ("upper", "work", "root"):
            (top / name).mkdir(parents=True)

    def write(self, path: str, content: str | bytes, mode: int = 0o644) -> None:
        target = self.upper / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        target.chmod(mode)

    def apart(self, script: str, *arguments: str) -> list[str]:
        """The command that mounts the file system at ``$top/root`` and runs ``script``, whose ``$3`` and further are
        the arguments, in namespaces of its own: mounts, processes, network, host name. Nothing outlives it."""
        command = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--net", "--ipc", "--uts"]
        whole = f"{MOUNTS}{script}"
        return [*command, "--kill-child", "/bin/sh", "-c", whole, "sh", str(self._base), str(self._top), *arguments]
