"""Memory and process limits of a sandbox by control groups, where this machine lets us set them."""

import contextlib
from pathlib import Path

from calor.server.devcloud.sandbox.processes import Process

_ROOT = Path("/sys/fs/cgroup")
_PROCESSES = 4096
_V1 = {"memory": "memory.limit_in_bytes", "pids": "pids.max"}
_V2 = {"memory": "memory.max", "pids": "pids.max"}


def apply(server_id: str, process: Process, ram_mb: int, root: Path = _ROOT) -> list[str]:
    """Put the process under its limits. Returns the controllers that took it; none where cgroups are read-only."""
    values = {"memory": str(ram_mb * 1024 * 1024), "pids": str(_PROCESSES)}
    taken: list[str] = []
    for controller, folder, file in _groups(server_id, root):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if (delegation := folder.parent / "cgroup.subtree_control").exists():
                delegation.write_text(f"+{controller}")
            (folder / file).write_text(values[controller])
            (folder / "cgroup.procs").write_text(str(process.pid))
        except OSError:
            continue
        taken.append(controller)
    return taken


def available(root: Path = _ROOT) -> list[str]:
    """Controllers that `apply` can use here."""
    return [controller for controller, folder, _file in _groups("probe", root) if _is_writable(folder.parent.parent)]


def remove(server_id: str, root: Path = _ROOT) -> None:
    """After the last process has gone."""
    for _controller, folder, _file in _groups(server_id, root):
        for each in (folder, folder.parent):
            with contextlib.suppress(OSError):  # absent, or other servers are in it
                each.rmdir()


def _groups(server_id: str, root: Path) -> list[tuple[str, Path, str]]:
    if (root / "cgroup.controllers").exists():
        offered = (root / "cgroup.subtree_control").read_text().split()
        return [(each, root / "calor" / server_id, _V2[each]) for each in _V2 if each in offered]
    return [(each, root / each / "calor" / server_id, _V1[each]) for each in _V1 if (root / each).is_dir()]


def _is_writable(folder: Path) -> bool:
    probe = folder / "calor-probe"
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError:
        return False
    return True
