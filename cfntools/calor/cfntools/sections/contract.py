"""What sections share: how one fails, and what they tell the services about what has changed."""

from typing import Any, Dict, Set, Tuple


class SectionFailed(Exception):
    """The machine could not be brought to the state asked for; nothing after this is done."""


class Changes:
    """What this run has changed, by section: services that depend on it are started again."""

    def __init__(self) -> None:
        self._made: Set[Tuple[str, str]] = set()

    def note(self, section: str, name: str) -> None:
        self._made.add((section, name))

    def has(self, section: str, name: str) -> bool:
        return (section, name) in self._made


def is_true(value: Any) -> bool:
    """True as heat-cfntools reads it."""
    return str(value).lower() in ("true", "yes", "1")


def entry(section: str, name: str, value: Any) -> Dict[str, Any]:
    if not isinstance(value, dict):
        raise SectionFailed("{}: {} must be a map".format(section, name))
    return value
