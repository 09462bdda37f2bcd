"""Where a part of an input stands in its source text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calor.server.errors import InvalidInput, Problem

Path = tuple[str | int, ...]


Mark = tuple[int, int, int, int]
"""Line and column of a key (or list item) and line and column of its value, counted from 0. Numbers only, so that
the garbage collector has nothing to walk in the tens of thousands that a large template has."""


class MarkedMap(dict[Any, Any]):
    """A mapping of a source text with the place of each key and value."""

    __slots__ = ("marks",)

    def __init__(self) -> None:
        super().__init__()
        self.marks: dict[Any, Mark] = {}


class MarkedList(list[Any]):
    """A sequence of a source text with the place of each item."""

    __slots__ = ("marks",)

    def __init__(self) -> None:
        super().__init__()
        self.marks: list[Mark] = []


def dotted(path: Sequence[str | int]) -> str:
    """``resources.web.properties.networks[0].port``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


@dataclass(frozen=True)
class Source:
    """One input: its name and its tree as read (with marks where it was text)."""

    file: str = ""
    root: Any = None

    def locate(self, path: Sequence[str | int], *, value: bool = False) -> tuple[int, int]:
        """(line, column) of the deepest part of the path that the text has; (0, 0) without a text."""
        here, found = self.root, (0, 0)
        for part in path:
            mark = _mark(here, part)
            if mark is None:
                break
            found = (mark[2] + 1, mark[3] + 1) if value else (mark[0] + 1, mark[1] + 1)
            here = here[part]
        return found

    def problem(self, message: str, path: Sequence[str | int] = (), *, value: bool = False, code: str = "") -> Problem:
        line, column = self.locate(path, value=value)
        return Problem(message=message, path=dotted(path), file=self.file, line=line, column=column, code=code)


def _mark(here: Any, part: str | int) -> Mark | None:
    if isinstance(here, MarkedMap):
        return here.marks.get(part)
    if isinstance(here, MarkedList) and isinstance(part, int) and 0 <= part < len(here):
        return here.marks[part]
    return None


class Faults:
    """Collects all problems of one input, so that they are reported together."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []

    def add(self, message: str, path: Sequence[str | int] = (), *, value: bool = False, code: str = "") -> None:
        self.problems.append(self.source.problem(message, path, value=value, code=code))

    def extend(self, problems: Sequence[Problem]) -> None:
        self.problems.extend(problems)

    def raise_any(self) -> None:
        """Raise `InvalidInput` with everything collected, if anything was."""
        if self.problems:
            raise InvalidInput(self.problems)


def keys_of(value: Any) -> Mapping[Any, Any]:
    """The value where it is a mapping, else an empty one (its fault has been reported by the caller)."""
    return value if isinstance(value, Mapping) else {}
