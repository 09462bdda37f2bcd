"""What a package manager is to ``packages``."""

import os
from typing import Dict, List, Set

from calor.cfntools.sections.contract import Run

Wanted = Dict[str, List[str]]
"""Package -> the versions that were listed; none: any will do."""


class Manager:
    """One package manager. ``install`` is one transaction where the manager has them (F087), asks no questions and
    leaves alone what is there already."""

    name = ""

    def install(self, wanted: Wanted, run: Run) -> Set[str]:
        """The packages that are other than before. Raises SectionFailed."""
        raise NotImplementedError


def environment(**more: str) -> Dict[str, str]:
    found = dict(os.environ)
    found.update(more)
    return found
