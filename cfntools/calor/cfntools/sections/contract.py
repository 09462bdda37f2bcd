"""What sections share: how one fails, what a run may use, and what it tells others about what has changed."""

from typing import Any, Collection, Dict, List, Set, Tuple

from calor.cfntools.authentication import Authentication
from calor.cfntools.narration import Narrator


class SectionFailed(Exception):
    """The machine could not be brought to the state asked for; nothing after this is done."""


class Run:
    """One config being applied. ``changed`` and ``unchanged`` are for each entry of each section exactly once: services
    that depend on what changed are started again, and the user is told."""

    def __init__(self, narrator: Narrator, authentication: Authentication) -> None:
        self.narrator = narrator
        self.authentication = authentication
        self._changed: List[Tuple[str, str]] = []
        self._unchanged: List[Tuple[str, str]] = []
        self._seen: Set[Tuple[str, str]] = set()

    def note(self, section: str, name: str, has_changed: bool) -> None:
        self.narrator.detail("{}: {} {}".format(section, "changed" if has_changed else "unchanged", name))
        (self._changed if has_changed else self._unchanged).append((section, name))
        if has_changed:
            self._seen.add((section, name))

    def has(self, section: str, name: str) -> bool:
        """Whether this run has changed it."""
        return (section, name) in self._seen

    def changed(self, section: str) -> List[str]:
        return [name for found, name in self._changed if found == section]

    def count(self, section: str) -> Tuple[int, int]:
        """(changed, unchanged)."""
        return len(self.changed(section)), len([name for found, name in self._unchanged if found == section])


def is_true(value: Any) -> bool:
    """True as heat-cfntools reads it."""
    return str(value).strip().lower() in ("true", "yes", "1")


def entry(section: str, name: str, value: Any) -> Dict[str, Any]:
    if not isinstance(value, dict):
        raise SectionFailed("{}: {} must be a map".format(section, name))
    return value


def known(run: Run, section: str, name: str, value: Any, keys: Collection[str]) -> Dict[str, Any]:
    """The entry; keys that have no effect are warned of, since a slip of the pen there skips what was wanted."""
    found = entry(section, name, value)
    for key in sorted(set(found) - set(keys)):
        run.narrator.warn("{}: {}: key {} is not known and has no effect".format(section, name, key))
    return found


def texts(section: str, name: str, key: str, value: Any) -> List[str]:
    """A list of names that may be given as one text."""
    if value in (None, ""):
        return []
    if isinstance(value, (str, int)):
        return [str(value)]
    if isinstance(value, list) and all(isinstance(one, (str, int)) for one in value):
        return [str(one) for one in value]
    raise SectionFailed("{}: {}: {} must be a list of names".format(section, name, key))
