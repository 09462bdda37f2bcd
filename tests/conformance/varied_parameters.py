"""Cases of parameters and environments made at random: declarations with values, environments merged and read."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml

KINDS = ("string", "number", "boolean", "comma_delimited_list", "json")
CFN_KINDS = {
    "string": "String",
    "number": "Number",
    "boolean": "Boolean",
    "comma_delimited_list": "CommaDelimitedList",
    "json": "Json",
}
VALUES: Mapping[str, Sequence[Any]] = {
    "string": ("", "a", "abc", "7", 7, 2.5, True, None, "a b", "ü", " x ", "abc\n", "12345", "ABC"),
    "number": (0, 1, 5, -3, 2.5, "7", "2.50", " 7", "1e3", "x", "", True, None, "0x10", 10**20, [1], "nan", "1_0"),
    "boolean": (True, False, "true", "False", "yes", "off", "0", "1", 0, 1, 2, "x", "", None, " t ", 1.0, [True]),
    "comma_delimited_list": (
        "",
        "a",
        "a,b",
        "a, b",
        ",",
        ["a", "b"],
        [],
        [1, None, True],
        "1,2,3",
        5,
        None,
        {"a": 1},
        "a,,b",
    ),
    "json": (
        {},
        {"a": 1},
        '{"a": [1]}',
        "[1, 2]",
        [1, 2],
        "",
        "x",
        "5",
        5,
        None,
        True,
        '"t"',
        "null",
        {"a": None},
        "{}",
        "[]",
        2.5,
    ),
}
RULES: Mapping[str, Callable[[random.Random], Any]] = {
    "length": lambda dice: _bounds(dice, (0, 1, 2, 3, 5, "2", -1)),
    "range": lambda dice: _bounds(dice, (0, 1, 5, -2, 2.5, "3", 10)),
    "modulo": lambda dice: {"step": dice.choice((1, 2, 3, -2, 0)), "offset": dice.choice((0, 1, -1, 2))},
    "allowed_values": lambda dice: dice.sample(("a", "b", "abc", 1, 5, "7", 2.5, True, "a,b", ""), dice.randint(0, 4)),
    "allowed_pattern": lambda dice: dice.choice(
        ("[a-z]+", "a", ".*", "^[A-Z]*$", "[0-9]{1,3}", "(a|b)+", "", "(", "\\w+")
    ),
    "custom_constraint": lambda dice: dice.choice(
        ("ip_addr", "mac_addr", "net_cidr", "dns_name", "cron_expression", "timezone", "iso_8601", "zz")
    ),
}
USUAL = {
    "string": ("length", "allowed_values", "allowed_pattern"),
    "number": ("range", "modulo", "allowed_values"),
    "boolean": ("allowed_values",),
    "comma_delimited_list": ("length", "allowed_values"),
    "json": ("length",),
}
CUSTOM = (
    *(
        "10.0.0.1",
        "10.0.0.1/24",
        "::1",
        "fe80::/10",
        "300.1.1.1",
        "10.0.0.1/33",
        "00:11:22:33:44:55",
        "00-11-22-33-44-55",
    ),
    *(
        "example.com",
        "example.com.",
        "-bad.com",
        "a_b.c",
        "1.2",
        "*/5 * * * *",
        "0 0 * * mon",
        "61 * * * *",
        "Europe/Berlin",
    ),
    *("Mars/One", "2020-01-01T00:00:00", "2020-01-01", "20200101T000000Z", "2020-13-01", "", "x"),
)


def _bounds(dice: random.Random, numbers: Sequence[Any]) -> dict[str, Any]:
    found = {key: dice.choice(numbers) for key in ("min", "max") if dice.random() < 0.7}
    return found | ({"zz": 1} if dice.random() < 0.03 else {})


def case(dice: random.Random, ident: str) -> dict[str, Any]:
    """A case of the shape of ``parameter-cases.json``, without its answer."""
    make = dice.choice((values, values, values, customs, shown, merge, parse))
    return {"id": ident, **make(dice)}


def declaration(dice: random.Random, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {"type": kind}
    if dice.random() < 0.5:
        found["default"] = dice.choice(VALUES[kind])
    if dice.random() < 0.6:
        names = USUAL[kind] if dice.random() < 0.9 else tuple(RULES)
        found["constraints"] = [_rule(dice, dice.choice(names)) for _ in range(dice.choice((1, 1, 2)))]
    for key in ("hidden", "immutable"):
        if dice.random() < 0.12:
            found[key] = dice.choice((True, False, "true", "false", "yes"))
    if dice.random() < 0.1:
        found["label"] = dice.choice(("L", "", None))
    if dice.random() < 0.1:
        found["description"] = dice.choice(("D", "", None))
    if dice.random() < 0.05:
        found["tags"] = dice.choice((["t"], [], "t", None))
    if dice.random() < 0.04:
        found[dice.choice(("zz", "type", "constraints"))] = dice.choice((None, 1, "x", []))
    return found


def _rule(dice: random.Random, name: str) -> dict[str, Any]:
    return {name: RULES[name](dice)} | ({"description": "why"} if dice.random() < 0.2 else {})


def cfn_declaration(dice: random.Random, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {"Type": CFN_KINDS[kind]}
    extra: Mapping[str, Sequence[Any]] = {
        "Default": VALUES[kind],
        "NoEcho": (True, "true", "false", False),
        "MinLength": (1, "2", 0),
        "MaxLength": (1, "5", 3),
        "MinValue": (1, "2", 0),
        "MaxValue": (5, "7"),
        "AllowedValues": (["a", "b"], [1, "7"], [], "a"),
        "AllowedPattern": ("[a-z]+", ".*", "("),
        "ConstraintDescription": ("why",),
        "Description": ("D",),
        "Zz": (1,),
    }
    weights = [6, 2, 1, 1, 1, 1, 2, 1, 1, 1, 0.2]
    for key in dice.choices(list(extra), weights, k=dice.randint(0, 3)):
        found[key] = dice.choice(extra[key])
    return found


def values(dice: random.Random) -> dict[str, Any]:
    kind = dice.choice(KINDS)
    given = (
        {"p": dice.choice(VALUES[kind] if dice.random() < 0.9 else VALUES[dice.choice(KINDS)])}
        if dice.random() < 0.75
        else {}
    )
    if dice.random() < 0.25:
        template = {"HeatTemplateFormatVersion": "2012-12-12", "Parameters": {"p": cfn_declaration(dice, kind)}}
    else:
        version = dice.choice(("2013-05-23", "2016-10-14", "2017-02-24", "2018-03-02", "2018-08-31", "2021-04-16"))
        template = {"heat_template_version": version, "parameters": {"p": declaration(dice, kind)}}
    defaults = {"parameter_defaults": {"p": dice.choice(VALUES[kind])}} if dice.random() < 0.15 else {}
    if dice.random() < 0.03:
        given["zz"] = 1
    return {"kind": "values", "template": template, "parameters": given, **defaults}


def customs(dice: random.Random) -> dict[str, Any]:
    """Custom constraints that need no cloud."""
    rule = {"custom_constraint": RULES["custom_constraint"](dice)}
    schema = {
        "type": dice.choice(("string", "string", "string", "number", "comma_delimited_list")),
        "constraints": [rule],
    }
    body = {"heat_template_version": "2018-08-31", "parameters": {"p": schema}}
    return {"kind": "values", "template": body, "parameters": {"p": dice.choice(CUSTOM)}}


def shown(dice: random.Random) -> dict[str, Any]:
    kind = dice.choice(KINDS)
    schema = declaration(dice, kind)
    given = {"p": dice.choice(VALUES[kind])} if dice.random() < 0.5 else {}
    body = {"heat_template_version": "2018-08-31", "parameters": {"p": schema}}
    return {"kind": "validate_output", "template": body, "parameters": given}


MERGED: Mapping[str, tuple[str, Sequence[Any]]] = {
    "s": ("string", ("x", "", 5, "y")),
    "n": ("number", (1, "2", None, 2.5)),
    "b": ("boolean", (True, "false", None)),
    "l": ("comma_delimited_list", ("a,b", ["c"], "", [], None, ["a", 1], "a")),
    "j": (
        "json",
        (
            {"a": 1},
            {"a": {"x": 1}},
            {"a": {"y": 2}, "b": 1},
            '{"a": 2}',
            {},
            "",
            None,
            {"a": [1]},
            {"a": [2]},
            "x",
            [1],
        ),
    ),
}


def merge(dice: random.Random) -> dict[str, Any]:
    names = dice.choice((["a"], ["a", "b"], ["a", "b"], ["a", "b", "c"]))
    schemas = {name: {"type": kind, "default": _empty(kind)} for name, (kind, _) in MERGED.items()}
    files = {name: yaml.safe_dump(_environment(dice), sort_keys=False) for name in names}
    found: dict[str, Any] = {
        "kind": "merge",
        "environment_files": names,
        "files": files,
        "template": {"heat_template_version": "2018-08-31", "parameters": schemas},
    }
    return found | ({"environment": {"parameters": {"s": "base", "l": "z"}}} if dice.random() < 0.3 else {})


def _empty(kind: str) -> Any:
    return {"json": {}, "number": 0, "boolean": False}.get(kind, "")


def _environment(dice: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for section in ("parameters", "parameter_defaults"):
        if dice.random() < 0.6:
            names = dice.sample(list(MERGED), dice.randint(1, 3))
            found[section] = {name: dice.choice(MERGED[name][1]) for name in names}
    if dice.random() < 0.7:
        names = dice.sample([*MERGED, "default"], dice.randint(1, 3))
        found["parameter_merge_strategies"] = {
            name: dice.choice(("merge", "deep_merge", "overwrite", "merge", "deep_merge", "zz")) for name in names
        }
    if dice.random() < 0.2:
        found["resource_registry"] = dice.choice(({"A": "b.yaml"}, {"A": "OS::Heat::None", "B*": "C*"}))
    return found


SECTIONS: Mapping[str, Sequence[Any]] = {
    "parameters": ({"a": 1}, {}, None, {"a": None}, {1: 2}),
    "parameter_defaults": ({"a": "x"}, {}, None),
    "resource_registry": ({"A": "b.yaml"}, {}, None, {"A": None}, {"resources": {"r": {"hooks": "pre-create"}}}),
    "encrypted_param_names": (["a"], [], None),
    "event_sinks": ([], [{"type": "zaqar-queue", "target": "q"}], None),
    "parameter_merge_strategies": ({"a": "merge"}, {}, None),
    "zz": (1,),
}


def parse(dice: random.Random) -> dict[str, Any]:
    """An environment's text; at times with a piece of it lost."""
    names = dice.choices(list(SECTIONS), [4, 3, 3, 2, 2, 2, 0.5], k=dice.randint(0, 3))
    text = yaml.safe_dump({name: dice.choice(SECTIONS[name]) for name in names}, sort_keys=False)
    if dice.random() < 0.15:
        place = dice.randrange(len(text))
        text = text[:place] + dice.choice(("", "\t", ": ", "- ", "[", "&a ", "*a", "#")) + text[place + 1 :]
    return {"kind": "parse", "text": text}
