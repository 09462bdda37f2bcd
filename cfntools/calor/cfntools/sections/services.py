"""Section ``services``: manager -> service -> enabled, ensureRunning, and what makes it start again."""

from typing import Any, Dict, Iterator, Tuple

from calor.cfntools.sections import hup_service, init_systems
from calor.cfntools.sections.contract import Run, SectionFailed, entry, is_true, known, texts

NAME = "services"
MANAGERS = ("sysvinit", "systemd")
CAUSES = ("files", "sources", "groups", "users", "commands")
KEYS = ("enabled", "ensureRunning", "packages", *CAUSES)
UNITS = ("/etc/systemd/", "/lib/systemd/", "/usr/lib/systemd/", "/usr/local/lib/systemd/")


def apply(wanted: Dict[str, Any], run: Run) -> None:
    """Every manager's services by whichever init system this machine has."""
    if any(path.startswith(UNITS) for path in run.changed("files")):
        init_systems.read_units_again()
    for name, value in listed(wanted):
        item = known(run, NAME, name, value or {}, KEYS)
        made = name == hup_service.NAME and hup_service.provide()
        changed = [made, _enable(name, item), _bring(name, item, run)]
        run.note(NAME, name, any(changed))


def check(wanted: Dict[str, Any]) -> None:
    """Raises SectionFailed for a manager that is not known."""
    unknown = sorted(set(wanted) - set(MANAGERS))
    if unknown:
        raise SectionFailed("services: unknown manager {}; known: {}".format(unknown[0], ", ".join(MANAGERS)))


def listed(wanted: Dict[str, Any]) -> Iterator[Tuple[str, Any]]:
    """The services of all managers. Raises SectionFailed for a manager that is not known."""
    check(wanted)
    for manager, services in sorted(wanted.items()):
        for name, value in sorted(entry(NAME, manager, services or {}).items()):
            yield name, value


def start_stopped(wanted: Dict[str, Any]) -> Iterator[str]:
    """Start again what should run and does not; the names, each once it has been started."""
    for name, value in listed(wanted):
        if is_true(entry(NAME, name, value or {}).get("ensureRunning")) and not init_systems.is_running(name):
            init_systems.do("start", name)
            yield name


def _enable(name: str, item: Dict[str, Any]) -> bool:
    if item.get("enabled") is None:
        return False
    enabled = is_true(item["enabled"])
    if init_systems.is_enabled(name) == enabled:
        return False
    init_systems.enable(name, enabled)
    return True


def _bring(name: str, item: Dict[str, Any], run: Run) -> bool:
    """Whether the service was started, stopped or started again. Without ``ensureRunning`` it stays as it is, but one
    that runs takes up what has changed."""
    asked, is_stale = item.get("ensureRunning"), _is_stale(name, item, run)
    if asked is None and not is_stale:
        return False
    is_up = init_systems.is_running(name)
    wanted = is_up if asked is None else is_true(asked)
    if wanted != is_up:
        init_systems.do("start" if wanted else "stop", name)
        return True
    if wanted and is_stale:
        init_systems.do("restart", name)
        return True
    return False


def _is_stale(name: str, item: Dict[str, Any], run: Run) -> bool:
    """Whether something the service lists has been changed in this run."""
    for section in CAUSES:
        if any(run.has(section, one) for one in texts(NAME, name, section, item.get(section))):
            return True
    packages = entry(NAME, name + ": packages", item.get("packages") or {})
    return any(
        run.has("packages", "{}/{}".format(manager, package))
        for manager, names in packages.items()
        for package in texts(NAME, name, "packages", names)
    )
