"""``rubygems``: gems of the machine's Ruby."""

from typing import Set

from calor.cfntools.sections import programs
from calor.cfntools.sections.contract import Run
from calor.cfntools.sections.managers.contract import Manager, Wanted


class RubyGems(Manager):
    """Every version that is listed: gems live side by side. One may be a requirement (``~> 1.2``)."""

    name = "rubygems"

    def install(self, wanted: Wanted, run: Run) -> Set[str]:
        programs.need("gem", "packages: rubygems needs Ruby")
        changed = set()
        for name, versions in sorted(wanted.items()):
            for version in versions or [""]:
                exactly = ["--version", version] if version else []
                if programs.status(["gem", "list", "--local", "--installed", "--exact", name, *exactly], quiet=True):
                    programs.run(["gem", "install", "--no-document", *exactly, name])
                    changed.add(name)
        return changed
