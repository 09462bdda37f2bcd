"""The root file system of a sandbox, put together inside its own mount namespace. Standard library only.

Mounts below the new root are made *after* the pivot: a former boot's root user may have left links there, and
they must not lead into the host's tree.
"""

import contextlib
import os
import stat
import uuid

from calor.server.devcloud.sandbox import linux
from calor.server.devcloud.sandbox.launch_plan import LaunchPlan

_NODES = (("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0))
_LINKS = (
    ("ptmx", "pts/ptmx"),
    ("fd", "/proc/self/fd"),
    ("stdin", "fd/0"),
    ("stdout", "fd/1"),
    ("stderr", "fd/2"),
)
_MASKED_FILES = (
    "kcore",
    "keys",
    "key-users",
    "kmsg",
    "timer_list",
    "sched_debug",
    "sysrq-trigger",
    "kallsyms",
    "config.gz",
    "latency_stats",
    "kpagecount",
    "kpageflags",
    "kpagecgroup",
    "vmallocinfo",
    "slabinfo",
)
_MASKED_FOLDERS = ("acpi", "scsi", "asound", "driver", "fs", "bus", "irq", "tty", "pressure")
_UNWRITABLE = linux.MS_RDONLY | linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC


def assemble(plan: LaunchPlan) -> None:
    """Make the plan's overlays the root of the calling process, whose mount namespace must be its own."""
    linux.mount("none", "/", None, linux.MS_REC | linux.MS_PRIVATE)
    for overlay in plan.overlays:
        target = plan.root if overlay.target == "/" else plan.root + overlay.target
        if overlay.target != "/":
            _real_folder(target)
        linux.mount("overlay", target, "overlay", 0, overlay.options())
    os.chdir(plan.root)
    linux.pivot_root(".", ".")
    linux.umount(".", linux.MNT_DETACH)
    os.chdir("/")


def furnish(plan: LaunchPlan) -> None:
    """Mount /proc, /sys, /dev and /run of the new root. The caller is in the server's pid and net namespaces."""
    os.umask(0)
    for folder in ("/proc", "/sys", "/dev", "/run"):
        _real_folder(folder)
    _run(plan)
    _proc()
    linux.mount("sysfs", "/sys", "sysfs", _UNWRITABLE)
    if os.path.isdir("/sys/firmware"):  # noqa: PTH112 - pathlib is not worth its import in the launcher
        linux.mount("tmpfs", "/sys/firmware", "tmpfs", _UNWRITABLE, "size=0")
    _dev(plan)
    os.umask(0o022)


def _run(plan: LaunchPlan) -> None:
    linux.mount("tmpfs", "/run", "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=755,size=25%")
    os.mkdir("/run/calor", 0o700)  # noqa: PTH102
    for name, text in {**plan.guest_files, "boot_id": f"{uuid.uuid4()}\n"}.items():
        fd = os.open(f"/run/calor/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
    os.chmod("/run/calor/boot_id", 0o644)  # noqa: PTH101


def _proc() -> None:
    linux.mount("proc", "/proc", "proc", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
    linux.mount("/proc/sys", "/proc/sys", None, linux.MS_BIND)
    linux.mount("none", "/proc/sys", None, linux.MS_BIND | linux.MS_REMOUNT | _UNWRITABLE)
    linux.mount("/run/calor/boot_id", "/proc/sys/kernel/random/boot_id", None, linux.MS_BIND)
    linux.mount("none", "/proc/sys/kernel/random/boot_id", None, linux.MS_BIND | linux.MS_REMOUNT | _UNWRITABLE)
    for name in _MASKED_FOLDERS:
        if os.path.isdir(f"/proc/{name}"):  # noqa: PTH112
            linux.mount("tmpfs", f"/proc/{name}", "tmpfs", _UNWRITABLE, "size=0")


def _dev(plan: LaunchPlan) -> None:
    linux.mount("tmpfs", "/dev", "tmpfs", linux.MS_NOSUID, "mode=755,size=1m")
    for name, major, minor in _NODES:
        os.mknod(f"/dev/{name}", stat.S_IFCHR | 0o666, os.makedev(major, minor))
    for name, target in _LINKS:
        os.symlink(target, f"/dev/{name}")  # noqa: PTH211
    for device in plan.devices:
        os.mknod(f"/dev/{device.name}", stat.S_IFBLK | 0o660, os.makedev(device.major, device.minor))
    for folder in ("/dev/pts", "/dev/shm"):  # noqa: S108 - its own tmpfs
        os.mkdir(folder, 0o755)  # noqa: PTH102
    linux.mount(
        "devpts", "/dev/pts", "devpts", linux.MS_NOSUID | linux.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620,gid=5"
    )
    linux.mount("tmpfs", "/dev/shm", "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=1777")  # noqa: S108
    for name in _MASKED_FILES:
        with contextlib.suppress(FileNotFoundError):
            linux.mount("/dev/null", f"/proc/{name}", None, linux.MS_BIND)


def _real_folder(path: str) -> None:
    """A folder at ``path`` and no link, whatever was left there."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        os.mkdir(path, 0o755)  # noqa: PTH102
        return
    if not stat.S_ISDIR(mode):
        os.unlink(path)  # noqa: PTH108
        os.mkdir(path, 0o755)  # noqa: PTH102
