"""Where in a TOSCA template a fault stands. The libraries tell no places, but quote the names that they mean."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from calor.server.errors import Problem
from calor.server.template.source import Path, Source

_QUOTED = re.compile(r"[\"']([^\"']+)[\"']")


def place(source: Source, message: str, names: Sequence[str], code: str) -> Problem:
    """The fault at the deepest place whose path and value hold most of the names that it quotes."""
    wanted = {str(name) for name in names or _QUOTED.findall(message)}
    best: Path = ()
    score, at_value = 0, False
    for path, leaf in _places(source.root):
        keys = sum(str(part) in wanted for part in path)
        is_leaf = not isinstance(leaf, dict | list) and str(leaf) in wanted
        if keys + is_leaf > score:
            best, score, at_value = path, keys + is_leaf, is_leaf
    return source.problem(message, best, value=at_value, code=code)


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
