"""``apt``: Debian and Ubuntu."""

import fnmatch
import functools
from typing import Dict, List, Set

from calor.cfntools.sections import programs
from calor.cfntools.sections.contract import Run
from calor.cfntools.sections.managers.contract import Manager, Wanted, environment

LOCK = ["-o", "DPkg::Lock::Timeout=600", "-o", "Acquire::Retries=3"]
KEEP = ["-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"]


class Apt(Manager):
    """Of several versions the highest; it may have apt's wildcards (``1.2*``). What apt alone makes a package of (the
    path of a .deb, a virtual package, a task) it is asked for every time, and has changed when anything has."""

    name = "apt"

    def install(self, wanted: Wanted, run: Run) -> Set[str]:
        programs.need("apt-get", "packages: apt is for Debian and Ubuntu")
        versions = {name: _highest(listed) for name, listed in wanted.items()}
        before = _installed()
        missing = [name for name in sorted(versions) if not _has(before.get(name, ""), versions[name])]
        if not missing:
            return set()
        update = programs.status(["apt-get", *LOCK, "-q", "update"], environment())
        if update != 0:
            run.narrator.warn("apt-get update: exit code {}; installing from the lists that are there".format(update))
        names = [name + "=" + versions[name] if versions[name] else name for name in missing]
        older = ["--allow-downgrades"] if any(versions[name] for name in missing) else []
        argv = ["apt-get", *LOCK, *KEEP, "-q", "-y", *older, "install", *names]
        programs.run(argv, environment(DEBIAN_FRONTEND="noninteractive", DEBIAN_PRIORITY="critical"))
        after = _installed()
        return {
            name for name in missing if after.get(name) != before.get(name) or (name not in after and after != before)
        }


def _has(installed: str, version: str) -> bool:
    return bool(installed) and (not version or fnmatch.fnmatchcase(installed, version))


def _installed() -> Dict[str, str]:
    """Name as it may be asked for, alone or with its architecture -> version."""
    found: Dict[str, str] = {}
    form = "${Package}\t${Architecture}\t${db:Status-Status}\t${Version}\n"
    for line in programs.ask(["dpkg-query", "--show", "--showformat", form]).text.splitlines():
        package, architecture, status, version = line.split("\t")
        if status == "installed":
            found[package] = found[package + ":" + architecture] = version
    return found


def _highest(versions: List[str]) -> str:
    def compare(one: str, other: str) -> int:
        return -1 if programs.status(["dpkg", "--compare-versions", one, "lt", other]) == 0 else 1

    return max(versions, key=functools.cmp_to_key(compare)) if versions else ""
