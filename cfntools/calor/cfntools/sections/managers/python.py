"""``python``: packages of the machine's Python 3, by pip."""

import json
import re
from typing import Dict, List, Set

from calor.cfntools.sections import programs
from calor.cfntools.sections.contract import Run, SectionFailed
from calor.cfntools.sections.managers.contract import Manager, Wanted, environment

PIP = ["python3", "-m", "pip", "--disable-pip-version-check"]
SPECIFIER = re.compile(r"^\s*[<>=!~]")


class Python(Manager):
    """A version may be a specifier (``>=1.2,<2``); several are one specifier where they are, else the last counts.
    Where the distribution guards its Python (PEP 668) that is overridden: a machine's own configuration asks."""

    name = "python"

    def install(self, wanted: Wanted, run: Run) -> Set[str]:
        before = _installed()
        missing = [name for name in sorted(wanted) if not _has(before, name, wanted[name])]
        if missing:
            specs = [name + _specifier(wanted[name]) for name in missing]
            programs.run([*PIP, "install", "--no-input", *specs], environment(PIP_BREAK_SYSTEM_PACKAGES="1"))
        after = _installed() if missing else before
        return {name for name in missing if _is_plain(name) is False or _at(after, name) != _at(before, name)}


def _installed() -> Dict[str, str]:
    programs.need("python3", "packages: python needs Python 3 with pip")
    said = programs.ask([*PIP, "list", "--format=json"])
    if said.code != 0:
        raise SectionFailed("packages: python: python3 has no pip on this machine (apt and dnf call it python3-pip)")
    return {_normal(one["name"]): one["version"] for one in json.loads(said.text)}


def _has(installed: Dict[str, str], name: str, versions: List[str]) -> bool:
    """Whether it is there for certain; what is not (a range, an address), pip decides."""
    there = _at(installed, name)
    return bool(there) and _is_plain(name) and _specifier(versions) in ("", "==" + there)


def _specifier(versions: List[str]) -> str:
    if versions and all(SPECIFIER.match(version) for version in versions):
        return ",".join(version.strip() for version in versions)
    last = versions[-1].strip() if versions else ""
    return last if SPECIFIER.match(last) or not last else "==" + last


def _is_plain(name: str) -> bool:
    return re.match(r"^[A-Za-z0-9._-]+$", name) is not None


def _at(installed: Dict[str, str], name: str) -> str:
    return installed.get(_normal(name.partition("[")[0]), "")


def _normal(name: str) -> str:
    return re.sub("[-_.]+", "-", name.strip()).lower()
