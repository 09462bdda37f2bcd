"""Properties under former names: moved to today's name wherever the map that holds them is a plain map."""

from collections.abc import Mapping
from typing import Any


def translate(properties: Mapping[str, Any], moved: Mapping[str, str]) -> Mapping[str, Any]:
    """A copy with each old path's value at the new path, unless the new one has a value of its own.

    Both paths of a pair differ in their last part only; a list on the way stands for each of its items.
    """
    for old, new in moved.items():
        properties = _move(properties, old.split("."), new.rpartition(".")[2])
    return properties


def _move(value: Any, path: list[str], new: str) -> Any:
    if isinstance(value, list):
        return [_move(item, path, new) for item in value]
    if not isinstance(value, Mapping) or path[0] not in value:
        return value
    if len(path) > 1:
        return {**value, path[0]: _move(value[path[0]], path[1:], new)}
    rest = {key: item for key, item in value.items() if key != path[0]}
    return rest if rest.get(new) is not None else {**rest, new: value[path[0]]}
