"""Section ``services``: manager -> service -> enabled, ensureRunning, and what makes it start again."""

import shutil
from typing import Any, Dict, List

from calor.cfntools.sections import programs
from calor.cfntools.sections.contract import Changes, SectionFailed, entry, is_true

NAME = "services"
MANAGERS = ("sysvinit", "systemd")


def apply(wanted: Dict[str, Any], changes: Changes) -> None:
    """Every manager's services by whichever tool this machine has."""
    for manager, services in sorted(wanted.items()):
        if manager not in MANAGERS:
            raise SectionFailed("services: unknown manager {}; known: {}".format(manager, ", ".join(MANAGERS)))
        for name, value in sorted(entry(NAME, manager, services).items()):
            _apply_one(name, entry(NAME, name, value), changes)


def _apply_one(name: str, item: Dict[str, Any], changes: Changes) -> None:
    if item.get("enabled") is not None:
        programs.run(_enable(name, is_true(item["enabled"])))
    running = item.get("ensureRunning")
    if running is None:
        return
    is_up = programs.status(_verb(name, "status"), quiet=True) == 0
    if not is_true(running):
        if is_up:
            programs.run(_verb(name, "stop"))
    elif not is_up:
        programs.run(_verb(name, "start"))
    elif _is_stale(item, changes):
        programs.run(_verb(name, "restart"))


def _is_stale(item: Dict[str, Any], changes: Changes) -> bool:
    """Whether something the service lists has been changed in this run."""
    for section in ("files", "sources", "groups", "users", "commands"):
        listed = item.get(section) or []
        if any(changes.has(section, str(name)) for name in ([listed] if isinstance(listed, str) else listed)):
            return True
    packages = item.get("packages") or {}
    return any(
        changes.has("packages", "{}/{}".format(manager, package))
        for manager, names in packages.items()
        for package in ([names] if isinstance(names, str) else names)
    )


def _verb(name: str, verb: str) -> List[str]:
    if shutil.which("systemctl"):
        return ["systemctl", "is-active" if verb == "status" else verb, name]
    if shutil.which("service"):
        return ["service", name, verb]
    raise SectionFailed("services: {}: this machine has neither systemctl nor service".format(name))


def _enable(name: str, enabled: bool) -> List[str]:
    if shutil.which("systemctl"):
        return ["systemctl", "enable" if enabled else "disable", name]
    if shutil.which("chkconfig"):
        return ["chkconfig", name, "on" if enabled else "off"]
    if shutil.which("update-rc.d"):
        return ["update-rc.d", name, "enable" if enabled else "disable"]
    raise SectionFailed("services: {}: no systemctl, chkconfig or update-rc.d here".format(name))
