"""Section ``packages``: manager -> package -> versions."""

from typing import Any, Dict, List

from calor.cfntools.sections.contract import Run, SectionFailed, entry
from calor.cfntools.sections.managers import MANAGERS

NAME = "packages"


def check(wanted: Dict[str, Any]) -> None:
    """Raises SectionFailed for a manager that is not known."""
    known = [manager.name for manager in MANAGERS]
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        raise SectionFailed("packages: unknown manager {}; known: {}".format(unknown[0], ", ".join(known)))


def apply(wanted: Dict[str, Any], run: Run) -> None:
    """A package is noted as ``MANAGER/NAME``."""
    check(wanted)
    for manager in MANAGERS:
        listed = entry(NAME, manager.name, wanted.get(manager.name) or {})
        if not listed:
            continue
        packages = {name: _versions(manager.name, name, value) for name, value in listed.items()}
        changed = manager.install(packages, run)
        for name in sorted(packages):
            run.note(NAME, "{}/{}".format(manager.name, name), name in changed)


def _versions(manager: str, name: str, value: Any) -> List[str]:
    found = value if isinstance(value, list) else [value]
    if name.startswith("-") or not all(isinstance(one, (str, int, float, type(None))) for one in found):
        raise SectionFailed("packages: {}: {}: {!r} is not a list of versions".format(manager, name, value))
    return [str(one) for one in found if one not in (None, "")]
