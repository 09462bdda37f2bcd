"""Which boot of the instance this is, and whether a process is still the one that was meant."""

from typing import Optional


def boot_id(path: str) -> str:
    """Changes at each boot. In a container the kernel's id stays, the first process's start time does not."""
    try:
        with open(path, encoding="ascii") as source:
            kernel = source.read().strip()
    except OSError:
        kernel = "unknown"
    if not path.startswith("/proc/"):
        return kernel
    return "{}.{}".format(kernel, start_time(1) or 0)


def start_time(pid: int) -> Optional[int]:
    """Clock ticks from boot to the start of a process; with the pid it names one process. None if it is gone."""
    try:
        with open("/proc/{}/stat".format(pid), "rb") as source:
            fields = source.read().rpartition(b")")[2].split()
    except OSError:
        return None
    if fields[0] in (b"Z", b"X"):
        return None
    return int(fields[19])
