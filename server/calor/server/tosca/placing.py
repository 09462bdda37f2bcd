"""Where in a TOSCA template a fault stands. The libraries tell no places, but quote the names that they mean."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from calor.server.template.source import Path

_QUOTED = re.compile(r"[\"']([^\"']+)[\"']")


def place(root: Any, names: Iterable[str]) -> tuple[Path, bool]:
    """The deepest place whose path and value hold most of the names, and whether its value is one of them."""
    wanted = set(names)
    best: Path = ()
    score, at_value = 0, False
    for path, leaf in _places(root):
        keys = sum(str(part) in wanted for part in path)
        is_leaf = not isinstance(leaf, dict | list) and str(leaf) in wanted
        if keys + is_leaf > score:
            best, score, at_value = path, keys + is_leaf, is_leaf
    return best, at_value


def quoted(message: str) -> list[str]:
    return _QUOTED.findall(message)


def _places(root: Any) -> Iterator[tuple[Path, Any]]:
    """All paths, in the text's order, each before those below it."""
    waiting: list[tuple[Path, Any]] = [((), root)]
    while waiting:
        path, node = waiting.pop()
        yield path, node
        if isinstance(node, dict):
            waiting += [((*path, key), node[key]) for key in reversed(node)]
        elif isinstance(node, list):
            waiting += [((*path, number), node[number]) for number in reversed(range(len(node)))]
