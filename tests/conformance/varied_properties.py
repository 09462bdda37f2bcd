"""Cases of property schemas with data, made at random: types, constraints, defaults, lists and maps in each other."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

LEAVES = ("string", "integer", "number", "boolean")
VALUES: Mapping[str, Sequence[Any]] = {
    "string": ("", "a", "abc", 7, 2.5, True, None, ["a"], {"a": 1}, " x "),
    "integer": (0, 5, -1, "7", "2.0", 2.0, 2.5, True, "", "x", None, [1], " 7", "1e2", 10**20),
    "number": (0, 5, 2.5, "7", "2.50", "1e3", True, "", "x", None, [1], "nan"),
    "boolean": (True, False, "true", "False", "yes", "off", 0, 1, "0", 2, "", "x", None, [True]),
    "list": ([], ["a"], ["a", "b"], [1, "2"], [None], "a,b", "", None, {"a": 1}, 5, [["a"]], "[]", '["a"]'),
    "map": ({}, {"a": "x"}, {"a": 1, "b": 2}, {"zz": 1}, {"a": None}, "", None, [], "x", '{"a": "x"}', 5, [{}], "{}"),
}
RULES: Mapping[str, Sequence[str]] = {
    "string": ("length", "allowed_values", "allowed_pattern"),
    "integer": ("range", "modulo", "allowed_values"),
    "number": ("range", "modulo", "allowed_values"),
    "boolean": ("allowed_values",),
    "list": ("length", "allowed_values"),
    "map": ("length",),
}
ALLOWED: Mapping[str, Sequence[Any]] = {
    "integer": (0, 1, 5, "7", -1),
    "number": (0, 5, "7", 2.5, "2.50"),
    "boolean": (True, False, "true", "off"),
    "string": ("a", "b", "", 5, "7", 2.5, True),
}


def case(dice: random.Random, ident: str) -> dict[str, Any]:
    """A case of the shape of ``property-cases.json``, without its answer."""
    names = dice.choice((["p"], ["p"], ["p", "q"]))
    schemas = {name: schema(dice, 2) for name in names}
    data: dict[str, Any] = {name: value(dice, schemas[name]) for name in names if dice.random() < 0.8}
    if dice.random() < 0.05:
        data[dice.choice(("zz", "P"))] = 1
    return {"id": ident, "tag": schemas["p"]["type"], "schema": schemas, "properties": data}


def schema(dice: random.Random, depth: int) -> dict[str, Any]:
    kind = dice.choice((*LEAVES, *LEAVES, "list", "map"))
    found: dict[str, Any] = {"type": kind}
    if kind == "list" and depth and dice.random() < 0.8:
        found["schema"] = {"*": schema(dice, depth - 1)}
    if kind == "map" and depth and dice.random() < 0.8:
        found["schema"] = {name: schema(dice, depth - 1) for name in dice.choice(("a", "ab", "abc"))}
    if dice.random() < 0.3:
        found["required"] = True
    if dice.random() < 0.25:
        found["default"] = dice.choice(VALUES[kind])
    if dice.random() < 0.4:
        found["constraints"] = [rule(dice, dice.choice(RULES[kind]), kind)]
    if dice.random() < 0.1:
        found["allow_conversion"] = True
    if dice.random() < 0.05:
        found["implemented"] = False
    return found


def rule(dice: random.Random, kind: str, of: str) -> dict[str, Any]:
    match kind:
        case "length" | "range":
            numbers = (0, 1, 2, 5) if kind == "length" else (0, 1, 5, 2.5, -1)
            bounds = {key: dice.choice(numbers) for key in ("min", "max") if dice.random() < 0.7}
            return {"kind": kind, **(bounds or {"min": 1})}
        case "modulo":
            return {
                "kind": kind,
                **dice.choice(({"step": 2, "offset": 1}, {"step": 3, "offset": 0}, {"step": 1, "offset": 0})),
            }
        case "allowed_values":
            return {"kind": kind, "values": dice.sample(ALLOWED.get(of, ALLOWED["string"]), dice.randint(1, 2))}
        case _:
            return {"kind": kind, "pattern": dice.choice(("[a-z]+", "a", ".*", "^[A-Z]*$", "[0-9]{1,3}"))}


def value(dice: random.Random, wanted: Mapping[str, Any]) -> Any:
    """Mostly of the shape that is wanted."""
    inner, kind = wanted.get("schema"), wanted["type"]
    if inner and dice.random() < 0.75:
        if kind == "list":
            return [value(dice, inner["*"]) for _ in range(dice.randint(0, 3))]
        return {name: value(dice, one) for name, one in inner.items() if dice.random() < 0.8}
    return dice.choice(VALUES[kind] if dice.random() < 0.9 else VALUES[dice.choice(list(VALUES))])
