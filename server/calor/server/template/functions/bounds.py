"""How large the result of a function may be: nested calls multiply, and a small template could ask for terabytes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from calor.server.template.functions.base import Refused
from calor.server.template.values import Plain, Secret

MOST_TEXT = 2 << 20
"""Characters of a text that a function makes; a whole template has a quarter of that."""
MOST_WEIGHT = 4 << 20
"""Characters and, 16 for each, values of a tree that a function makes."""
NODE = 16


def check_length(characters: int) -> None:
    """Raises `Refused` before a text is made that would be too long."""
    if characters > MOST_TEXT:
        raise Refused(f"the text would have {characters} characters; {MOST_TEXT} are possible.")


def check_rows(template: Any, lists: Iterable[Sequence[Any]]) -> None:
    """Raises `Refused` before a template is repeated too often for its size."""
    rows = math.prod(len(items) for items in lists)
    check_weight(template, times=rows)


def check_weight(tree: Any, *, times: int = 1) -> None:
    """Raises `Refused` for a tree that is too large, or would be so many times over. Parts that stand in it more than
    once count each time; the walk ends where the limit is passed."""
    most, weight, waiting = MOST_WEIGHT // max(times, 1), 0, [tree]
    while waiting:
        node = waiting.pop()
        weight += NODE
        if isinstance(node, str):
            weight += len(node)
        elif isinstance(node, Mapping):
            waiting.extend(node)
            waiting.extend(node.values())
        elif isinstance(node, list | tuple):
            waiting.extend(node)
        elif isinstance(node, Secret | Plain):
            waiting.append(node.value)
        if weight > most:
            raise Refused(f"the result would be larger than {MOST_WEIGHT} characters.")
