"""``yum``, ``dnf`` and ``zypper``: packages of RPM's distributions by name, from their repositories."""

import shutil
from typing import Dict, List, Set

from calor.cfntools.sections import programs
from calor.cfntools.sections.contract import Run, SectionFailed
from calor.cfntools.sections.managers import rpm_versions
from calor.cfntools.sections.managers.contract import Manager, Wanted


class Repositories(Manager):
    """Of several versions the highest. Without a version any will do, with one the package is brought to it, up or
    down. What is not available is an error."""

    def install(self, wanted: Wanted, run: Run) -> Set[str]:
        tool = self.tool()
        versions = {name: rpm_versions.highest(listed) for name, listed in wanted.items()}
        before = {name: _installed(name) for name in versions}
        up: List[str] = []
        down: List[str] = []
        for name, version in sorted(versions.items()):
            if not _is_there(_spec(name, version)):
                current = before[name]
                older = bool(current and version) and rpm_versions.compare(current, version) > 0
                (down if older else up).append(name)
        for names, argv in ((up, self.upgrade(tool)), (down, self.downgrade(tool))):
            if names:
                programs.run([*argv, *[self.spec(name, versions[name]) for name in names]])
        _check(tool, {name: versions[name] for name in [*up, *down]})
        return {name for name in [*up, *down] if not before[name] or _installed(name) != before[name]}

    def tool(self) -> str:
        raise NotImplementedError

    def spec(self, name: str, version: str) -> str:
        """How the tool is asked for a version."""
        return _spec(name, version)

    def upgrade(self, tool: str) -> List[str]:
        return [tool, "-y", "install"]

    def downgrade(self, tool: str) -> List[str]:
        return [tool, "-y", "downgrade"]


class Dnf(Repositories):
    name = "dnf"

    def tool(self) -> str:
        programs.need("dnf", "packages: dnf is for Fedora, RHEL and their kin")
        return "dnf"

    def upgrade(self, tool: str) -> List[str]:
        return [tool, "-y", "--best", "install"]


class Yum(Repositories):
    """Where there is no yum any more, by dnf."""

    name = "yum"

    def tool(self) -> str:
        if shutil.which("yum"):
            return "yum"
        programs.need("dnf", "packages: yum is for RHEL, Fedora and their kin; there is no yum either")
        return "dnf"


class Zypper(Repositories):
    name = "zypper"

    def tool(self) -> str:
        programs.need("zypper", "packages: zypper is for SUSE")
        return "zypper"

    def spec(self, name: str, version: str) -> str:
        return name + "=" + version if version else name

    def upgrade(self, tool: str) -> List[str]:
        return [tool, "--non-interactive", "install"]

    def downgrade(self, tool: str) -> List[str]:
        return [tool, "--non-interactive", "install", "--oldpackage"]


def _spec(name: str, version: str) -> str:
    return name + "-" + version if version else name


def _is_there(spec: str) -> bool:
    return programs.ask(["rpm", "-q", spec]).code == 0


def _installed(name: str) -> str:
    """The newest installed version with its release, "" of none."""
    said = programs.ask(["rpm", "-q", "--queryformat", "%{VERSION}-%{RELEASE}\\n", name])
    return rpm_versions.highest(said.text.split()) if said.code == 0 else ""


def _check(tool: str, wanted: Dict[str, str]) -> None:
    """Some tools succeed although they skipped what they did not find. Groups cannot be asked for."""
    for name, version in sorted(wanted.items()):
        is_capability = not version and programs.ask(["rpm", "-q", "--whatprovides", name]).code == 0
        if not name.startswith("@") and not is_capability and not _is_there(_spec(name, version)):
            raise SectionFailed("packages: {} did not install {}".format(tool, _spec(name, version)))
