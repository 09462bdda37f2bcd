"""Whether reading what a tenant sent may take long. Pure, and quick itself."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_EXPRESSIONS = ("yaql", "allowed_pattern", "AllowedPattern")
"""What makes a template's cost its author's to decide, whatever its size."""


def is_heavy(parts: Sequence[Any], threshold: int) -> bool:
    """By the size of the texts and trees, or by expressions of a user's own in them."""
    left = threshold
    for part in parts:
        for text in _texts(part):
            left -= len(text)
            if left < 0 or any(word in text for word in _EXPRESSIONS):
                return True
    return False


def _texts(tree: Any) -> Iterator[str]:
    """All texts of a tree; any other leaf counts as a short one."""
    waiting = [tree]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            waiting.extend(item)
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
        else:
            yield "null"
