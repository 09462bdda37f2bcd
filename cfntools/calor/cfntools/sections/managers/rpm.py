"""``rpm``: packages by their address, ``name -> URL`` (or a path, or a list of them)."""

import os
import shutil
import tempfile
from typing import Dict, Set

from calor.cfntools.authentication import AuthenticationRefused
from calor.cfntools.fetching import CannotFetch, Source
from calor.cfntools.sections import programs
from calor.cfntools.sections.contract import Run, SectionFailed
from calor.cfntools.sections.managers.contract import Manager, Wanted

IDENTITY = "%{NAME}-%{EPOCHNUM}:%{VERSION}-%{RELEASE}.%{ARCH}\\n"


class Rpm(Manager):
    """What is installed in exactly that version is left alone; another version is replaced, by an older one too."""

    name = "rpm"

    def install(self, wanted: Wanted, run: Run) -> Set[str]:
        programs.need("rpm", "packages: rpm is for RPM's distributions")
        work = tempfile.mkdtemp(prefix="cfn-init-")
        try:
            return self._install(wanted, run, work)
        finally:
            shutil.rmtree(work)

    def _install(self, wanted: Wanted, run: Run, work: str) -> Set[str]:
        there = set(programs.ask(["rpm", "-qa", "--queryformat", IDENTITY]).text.split())
        files: Dict[str, str] = {}
        for name, urls in sorted(wanted.items()):
            if not urls:
                raise SectionFailed("packages: rpm: {} has no address".format(name))
            for url in urls:
                path = os.path.join(work, "{}.rpm".format(len(files)))
                files[path] = name
                _fetch(name, url, path, run)
        missing = [path for path in files if _identity(files[path], path) not in there]
        if missing:
            programs.run(["rpm", "--upgrade", "--oldpackage", "--replacepkgs", *missing])
        return {files[path] for path in missing}


def _fetch(name: str, url: str, path: str, run: Run) -> None:
    try:
        Source(url).save(path, run.authentication)
    except (CannotFetch, AuthenticationRefused, OSError) as exc:
        raise SectionFailed("packages: rpm: {}: {}".format(name, exc)) from exc


def _identity(name: str, path: str) -> str:
    said = programs.ask(["rpm", "-qp", "--queryformat", IDENTITY, path])
    if said.code != 0:
        raise SectionFailed("packages: rpm: {} is no RPM package".format(name))
    return said.text.strip()
