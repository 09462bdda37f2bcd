"""Faults of several stages (reading, binding, checking against types) told together. Pure.

Each stage goes on without what is wrong: its values are unknown, a section that cannot be read may hold any name, a
resource that cannot be read is left out. What follows only from a fault is not told.
"""

import contextlib
from collections.abc import Iterator, Sequence, Set

from calor.server.errors import InvalidInput, Problem

DUPLICATE = "duplicate-key"
"""The last one of the keys holds: nothing is unknown."""

OF_WHAT_IS_ABSENT = frozenset({"missing-property", "resource-rule"})
"""Codes of what may be wrong of a resource only because a value of it is."""

OF_THE_WHOLE = frozenset({"condition", "resource-definition", "unknown-condition"})
"""Codes of faults after which no more can be said of a resource, where they are of one of its keys."""

RESOURCE_KEY = 3
"""Parts of the path of a resource's key."""


@contextlib.contextmanager
def told_together(faults: Sequence[Problem]) -> Iterator[None]:
    """Run later stages. Raises `InvalidInput` with ``faults``, which may still grow, and what the stages refuse."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(together(faults, error.problems)) from None
    if faults:
        raise InvalidInput(together(faults, ()))


def together(faults: Sequence[Problem], later: Sequence[Problem]) -> list[Problem]:
    """The ``faults``, and what ``later`` stages found that does not only follow from them; each once."""
    return list(dict.fromkeys([*faults, *_not_following(faults, later)]))


def _not_following(faults: Sequence[Problem], later: Sequence[Problem]) -> list[Problem]:
    faults = [one for one in faults if one.code != DUPLICATE]
    touched = {(one.file, *_parts(one)[:2]) for one in faults}
    whole = {(one.file, *_parts(one)[:2]) for one in faults if _is_whole(one)}
    return [one for one in later if not _follows(one, touched, whole)]


def _follows(problem: Problem, touched: Set[tuple[str, ...]], whole: Set[tuple[str, ...]]) -> bool:
    place = (problem.file, *_parts(problem)[:2])
    return place in whole or (problem.code in OF_WHAT_IS_ABSENT and place in touched)


def _parts(problem: Problem) -> list[str]:
    section, *rest = problem.path.split(".")
    return [section.lower(), *rest]


def _is_whole(problem: Problem) -> bool:
    return problem.code in OF_THE_WHOLE and len(_parts(problem)) <= RESOURCE_KEY
