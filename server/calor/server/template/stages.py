"""Faults of several stages (reading, binding, checking against types) told together. Pure.

A stage goes on after faults whose values can be left out as unknown; what follows only from them is not told.
"""

import contextlib
from collections.abc import Iterator, Sequence

from calor.server.errors import InvalidInput, Problem

DUPLICATE = "duplicate-key"
"""The last one of the keys holds: nothing is unknown."""

CONTAINED = frozenset(
    {
        DUPLICATE,
        "function-arguments",
        "missing-parameter",
        "parameter-default",
        "parameter-value",
        "removed-function",
        "unknown-condition",
        "unknown-key",
        "unknown-parameter",
        "unknown-resource",
    }
)
"""Codes of faults that leave the rest of a template as it is."""

OF_WHAT_IS_ABSENT = frozenset({"missing-property", "resource-rule"})
"""Codes of what may be wrong of a resource only because a value of it is."""

RESOURCE_KEY = 3
"""Parts of the path of a resource's key: a fault there is one of the whole resource."""


def can_go_on(problems: Sequence[Problem]) -> bool:
    """Whether a later stage can run soundly. What a condition lets in is not known when the condition is wrong."""
    return all(one.code in CONTAINED and not _of_condition(_parts(one)) for one in problems)


@contextlib.contextmanager
def told_together(faults: Sequence[Problem]) -> Iterator[None]:
    """Run later stages. Raises `InvalidInput` with ``faults``, which may still grow, and what the stages refuse."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(list(dict.fromkeys([*faults, *_not_following(faults, error.problems)]))) from None
    if faults:
        raise InvalidInput(list(dict.fromkeys(faults)))


def _not_following(faults: Sequence[Problem], later: Sequence[Problem]) -> list[Problem]:
    faults = [one for one in faults if one.code != DUPLICATE]
    touched = {(one.file, *_parts(one)[:2]) for one in faults}
    whole = {(one.file, *_parts(one)[:2]) for one in faults if _is_whole(one)}
    return [
        one
        for one in later
        if (place := (one.file, *_parts(one)[:2])) not in whole
        and not (one.code in OF_WHAT_IS_ABSENT and place in touched)
    ]


def _parts(problem: Problem) -> list[str]:
    section, *rest = problem.path.split(".")
    return [section.lower(), *rest]


def _is_whole(problem: Problem) -> bool:
    """``depends_on``, of which a resource that is not there is told, says nothing of the rest."""
    return len(_parts(problem)) <= RESOURCE_KEY and problem.code != "unknown-resource"


def _of_condition(parts: Sequence[str]) -> bool:
    return parts[0] == "conditions" or "condition" in (part.lower() for part in parts[2:3])
