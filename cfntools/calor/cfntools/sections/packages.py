"""Section ``packages``: manager -> package -> versions. One call a manager, no questions, waiting for locks (F087)."""

import os
import shutil
from typing import Any, Dict, List

from calor.cfntools.sections import programs
from calor.cfntools.sections.contract import Changes, SectionFailed, entry

NAME = "packages"
ORDER = ("apt", "yum", "dnf", "zypper", "rpm", "python", "rubygems")
SEPARATORS = {"apt": "=", "yum": "-", "dnf": "-", "zypper": "=", "python": "=="}


def apply(wanted: Dict[str, Any], changes: Changes) -> None:
    unknown = sorted(set(wanted) - set(ORDER))
    if unknown:
        raise SectionFailed("packages: unknown manager {}; known: {}".format(unknown[0], ", ".join(ORDER)))
    for manager in ORDER:
        packages = entry(NAME, manager, wanted.get(manager) or {})
        if not packages:
            continue
        for argv in _commands(manager, packages):
            programs.run(argv, dict(os.environ, DEBIAN_FRONTEND="noninteractive"))
        for name in packages:
            changes.note(NAME, "{}/{}".format(manager, name))


def _commands(manager: str, packages: Dict[str, Any]) -> List[List[str]]:
    if manager == "rubygems":
        return [["gem", "install", name, *_gem_version(value)] for name, value in sorted(packages.items())]
    if manager == "rpm":
        return [["rpm", "-U", "--replacepkgs", *(str(_version(value) or name) for name, value in packages.items())]]
    names = [_versioned(manager, name, value) for name, value in sorted(packages.items())]
    if manager == "apt":
        lock = ["-o", "DPkg::Lock::Timeout=600"]
        return [
            ["apt-get", *lock, "-q", "update"],
            ["apt-get", *lock, "-q", "-y", "-o", "Dpkg::Options::=--force-confold", "install", *names],
        ]
    if manager == "python":
        return [["python3", "-m", "pip", "install", *names]]
    if manager == "zypper":
        return [["zypper", "--non-interactive", "install", "--oldpackage", *names]]
    tool = "yum" if manager == "yum" and shutil.which("yum") else "dnf"
    return [[tool, "-y", "install", *names]]


def _versioned(manager: str, name: str, value: Any) -> str:
    version = _version(value)
    return name + SEPARATORS[manager] + version if version else name


def _version(value: Any) -> str:
    """The wanted version: a text, or the last of a list."""
    if isinstance(value, list):
        return str(value[-1]) if value else ""
    return str(value or "")


def _gem_version(value: Any) -> List[str]:
    first = (
        str(value[0]) if isinstance(value, list) and value else ("" if isinstance(value, list) else str(value or ""))
    )
    return ["--version", first] if first else []
