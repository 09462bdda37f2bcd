"""Values of a TOSCA template's inputs, without which the translator makes nothing of it."""

import json
from collections.abc import Mapping
from typing import Any

_SAMPLES: Mapping[str, Any] = {
    "string": "x",
    "integer": 1,
    "float": 1.0,
    "boolean": True,
    "timestamp": "2001-01-01",
    "scalar-unit.size": "1 GB",
    "scalar-unit.time": "1 s",
    "scalar-unit.frequency": "1 GHz",
    "version": "1.0",
    "list": [],
    "map": {},
    "range": [1, 1],
    "PortDef": 1,
}
_FIRST = ("equal", "greater_or_equal", "less_or_equal")


def declared(tree: Any) -> Mapping[str, Mapping[str, Any]]:
    """The inputs that a template declares, as far as they are maps."""
    topology = tree.get("topology_template") if isinstance(tree, Mapping) else None
    inputs = topology.get("inputs") if isinstance(topology, Mapping) else None
    inputs = inputs if isinstance(inputs, Mapping) else {}
    return {str(name): entry for name, entry in inputs.items() if isinstance(entry, Mapping)}


def values(inputs: Mapping[str, Mapping[str, Any]], given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given, else the default, else a value of the type that only stands in: the stack's parameter has none
    then and must be given."""
    found = {}
    for name, entry in inputs.items():
        value = _read(given[name], entry) if name in given else entry.get("default")
        if value is None:
            value = _sample(entry)
        if value is not None:
            found[name] = value
    return found


def _read(value: Any, entry: Mapping[str, Any]) -> Any:
    """A value as the command line sends it: a list or a map may be text."""
    if entry.get("type") not in ("list", "map", "range") or not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return [part.strip() for part in value.split(",")]


def _sample(entry: Mapping[str, Any]) -> Any:
    value = _SAMPLES.get(str(entry.get("type", "string")))
    for constraint in entry.get("constraints") or ():
        if not isinstance(constraint, Mapping):
            continue
        for word, bound in constraint.items():
            value = _fitting(str(word), bound, value)
    return value


def _fitting(word: str, bound: Any, value: Any) -> Any:
    if word in _FIRST:
        return bound
    if word in ("valid_values", "in_range") and isinstance(bound, list) and bound:
        return bound[0]
    if word in ("length", "min_length") and isinstance(bound, int) and isinstance(value, str):
        return "x" * bound
    if word in ("greater_than", "less_than") and isinstance(bound, int | float):
        return bound + 1 if word == "greater_than" else bound - 1
    return value
