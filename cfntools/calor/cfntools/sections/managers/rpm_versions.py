"""The order of RPM's versions (rpm-version(7)): runs of digits and of letters compared one by one."""

import functools
import re
from itertools import zip_longest
from typing import List, Tuple

SEGMENT = re.compile(r"[0-9]+|[A-Za-z]+|~|\^")


def compare(one: str, other: str) -> int:
    """-1, 0 or 1 of two texts ``[EPOCH:]VERSION[-RELEASE]``; what only one of them has of epoch or release does not
    count."""
    left, right = _parts(one), _parts(other)
    for index, (mine, theirs) in enumerate(zip(left, right)):
        if not (mine and theirs) and index != 1:
            continue
        order = _compare_part(mine, theirs)
        if order:
            return order
    return 0


def highest(versions: List[str]) -> str:
    """The newest of those listed, "" of none."""
    return max(versions, key=functools.cmp_to_key(compare)) if versions else ""


def _parts(text: str) -> Tuple[str, str, str]:
    epoch, _, rest = text.rpartition(":")
    version, _, release = rest.partition("-")
    return epoch, version, release


def _compare_part(one: str, other: str) -> int:
    for mine, theirs in zip_longest(SEGMENT.findall(one), SEGMENT.findall(other)):
        if mine != theirs:
            order = _compare_segment(mine, theirs)
            if order:
                return order
    return 0


def _compare_segment(mine: str, theirs: str) -> int:
    """A tilde is before everything, the end too; a caret after the end only; digits are after letters."""
    ranks = _rank(mine), _rank(theirs)
    if ranks[0] != ranks[1]:
        return -1 if ranks[0] < ranks[1] else 1
    if mine.isdigit():
        numbers = int(mine), int(theirs)
        return (numbers[0] > numbers[1]) - (numbers[0] < numbers[1])
    return (mine > theirs) - (mine < theirs)


def _rank(segment: str) -> int:
    if segment == "~":
        return 0
    if not segment:
        return 1
    if segment == "^":
        return 2
    return 4 if segment.isdigit() else 3
