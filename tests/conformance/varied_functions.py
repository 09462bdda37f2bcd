"""Cases of one function each, made at random: well-formed calls, calls with one thing wrong, calls in calls."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from calor.server.template.functions.versions import CFN_TABLES, HOT_TABLES

HOT, CFN = "heat_template_version", "HeatTemplateFormatVersion"
AWS = "AWSTemplateFormatVersion"
ATOMS: Sequence[Any] = (
    *(None, True, False, 0, 1, -1, 7, 2.5, "", "a", "b", "text", "1", "0", "a,b", "x y", "ü", "null", "true"),
    *([], ["a"], ["a", "b", "a"], [1, "b"], [["a"], ["b"]], {}, {"a": 1}, {"k": "v", "b": "c"}, {"a": {"b": ["x", 2]}}),
)
VALUES: Mapping[str, tuple[str, Any]] = {
    "s": ("string", "text"),
    "n": ("number", 7),
    "b": ("boolean", True),
    "l": ("comma_delimited_list", "a,b,c"),
    "j": ("json", {"k": {"d": [10, {"e": "deep"}]}, "l": [1, 2, 3], "z": "zero", "n": None}),
    "e": ("string", ""),
    "w": ("string", "yes"),
}
ATTRIBUTES: Mapping[str, Any] = {
    "str": "value",
    "num": 5,
    "bool": True,
    "none": None,
    "empty": "",
    "list": ["a", "b", {"c": "d"}],
    "map": {"k": "v", "deep": {"x": [1, 2, {"y": "z"}]}, "1": "one"},
}
STATES = ("CREATE_COMPLETE", "CREATE_COMPLETE", "CREATE_COMPLETE", "UPDATE_COMPLETE", "INIT_COMPLETE", "CREATE_FAILED")
FACADES: Sequence[Any] = (None, {"metadata": {"m": [1, "x"]}}, {"deletion_policy": "Retain", "metadata": {}})


class Calls:
    """Calls of the functions of one template version."""

    def __init__(self, dice: random.Random, key: str, names: Sequence[str]) -> None:
        self.dice = dice
        self.is_hot = key == HOT
        self.names = names

    def call(self, name: str, depth: int = 2) -> dict[str, Any]:
        """A call; one in four has something wrong with it."""
        args = SHAPES.get(name, Calls.value)(self, depth)
        return {name: self.broken(args) if self.dice.random() < 0.25 else args}

    def value(self, depth: int = 1) -> Any:
        """Anything that may stand as an argument."""
        if depth > 0 and self.dice.random() < 0.35:
            return self.call(self.dice.choice(self.names), depth - 1)
        return self.lookup() if self.dice.random() < 0.25 else self.dice.choice(ATOMS)

    def lookup(self) -> Any:
        """A parameter or an attribute, whose type is that of a value in use."""
        if self.dice.random() < 0.5:
            name = self.dice.choice([*VALUES, *VALUES, "zz"])
            return {"get_param" if self.is_hot else "Ref": name}
        return {"get_attr" if self.is_hot else "Fn::GetAtt": ["r", self.dice.choice(list(ATTRIBUTES))]}

    def text(self, depth: int) -> Any:
        return self.either(("a", "b c", "$a-$b", "x,y", ",", "", "-", "ab", "%i%"), depth)

    def texts(self, depth: int) -> Any:
        return self.either((["a", "b"], [], ["a", "", "c"], ["x", 1, None], ["1", "2"]), depth)

    def mapping(self, depth: int) -> Any:
        return self.either(
            ({"a": 1}, {}, {"a": "x", "b": "y"}, {"$a": "A", "$b": "B"}, {"k": None}, {"a": {"b": 2}}), depth
        )

    def either(self, usual: Sequence[Any], depth: int) -> Any:
        return self.dice.choice(usual) if self.dice.random() < 0.6 else self.value(depth - 1)

    def known(self, usual: Sequence[Any]) -> Any:
        """What can be told before anything is created: Heat asks for no more in a path."""
        name = "get_param" if self.is_hot else "Ref"
        return {name: self.dice.choice(list(VALUES))} if self.dice.random() < 0.15 else self.dice.choice(usual)

    def some(self, kind: Callable[["Calls", int], Any], depth: int, most: int = 3) -> list[Any]:
        return [kind(self, depth) for _ in range(self.dice.randint(0, most))]

    def broken(self, args: Any) -> Any:
        """The arguments with a part left out, changed, doubled or added, or other ones."""
        dice = self.dice
        if isinstance(args, list) and args and dice.random() < 0.8:
            place = dice.randrange(len(args))
            rest = [args[:place], args[place + 1 :]]
            return dice.choice(
                ([*rest[0], *rest[1]], [*rest[0], dice.choice(ATOMS), *rest[1]], [*args, dice.choice(ATOMS)])
            )
        if isinstance(args, dict) and args and dice.random() < 0.8:
            key = dice.choice(sorted(args))
            rest_of = {one: value for one, value in args.items() if one != key}
            return dice.choice(
                (rest_of, {**args, key: dice.choice(ATOMS)}, {**args, "zz": 1}, {**rest_of, key + "s": args[key]})
            )
        return dice.choice(ATOMS)


def _replace(calls: Calls, depth: int) -> Any:
    template = calls.either(("$a-$b", "$a $a", "", "abc", "x$ab", {"k": "$a"}, "$$a"), depth)
    return {"template": template, "params": calls.mapping(depth)}


def _repeat(calls: Calls, depth: int) -> Any:
    dice = calls.dice
    lists: Any = {"%i%": calls.either((["a", "b"], [], ["same"], {"k": "v"}), depth)}
    if dice.random() < 0.5:
        lists["%j%"] = calls.either((["1", "2"], ["x"], [1]), depth)
    if dice.random() < 0.1:
        lists = calls.value(depth - 1)
    template = dice.choice(("%i%", "%i%-%j%", {"k": "%i%", "%j%": 1}, ["%i%", {"n": "x%i%"}], {"%i%": "%j%"}, None, 5))
    more = {"permutations": dice.choice((True, False, "false", None))} if dice.random() < 0.35 else {}
    return {"template": template, "for_each": lists, **more}


def _url(calls: Calls, depth: int) -> Any:
    dice = calls.dice
    usual: Mapping[str, Sequence[Any]] = {
        "scheme": ("http", "https", "ftp", ""),
        "host": ("h", "example.com", "::1", "[::1]", "fe80::1%eth0", "ü.de", ""),
        "port": (80, "8080", 0, 65535, 65536, "x", "", "0080", " 80", 80.5, 80.0, True, -1),
        "path": ("/a/b", "a b", "", "a/ü", "/x?y#z", "//"),
        "username": ("u", "u:v", "ü@x", ""),
        "password": ("p", "p/q@", ""),
        "query": ({"a": 1}, {"a b": "ü&"}, {}, {"l": [1, 2]}),
        "fragment": ("f", "f g", ""),
    }
    chosen = {key for key in usual if dice.random() < 0.5} | {"scheme", "host"}
    return {key: calls.either(values, depth) for key, values in usual.items() if key in chosen}


def _path(calls: Calls, depth: int) -> Any:
    parts = ("k", "d", 0, 1, "0", "deep", "x", "l", "e", -1, "zz", None, True, 9)
    name = calls.dice.choice([*VALUES, "j", "j", "zz", "OS::stack_name", "OS::project_id"])
    return (
        name
        if calls.dice.random() < 0.4
        else [name, *(calls.either(parts, 1) for _ in range(calls.dice.randint(0, 3)))]
    )


def _attribute(calls: Calls, depth: int) -> Any:
    parts = ("k", "deep", "x", 0, 2, "y", "c", "1", -1, "zz", None, 9)
    name = calls.known([*ATTRIBUTES, "map", "list", "show", "zz"])
    more = calls.dice.choice((0, 0, 1, 2, 3))
    return [calls.dice.choice(("r", "r", "r", "r", "zz")), name, *(calls.known(parts) for _ in range(more))]


EXPRESSIONS = (
    *(
        "$.data",
        "$.data.l",
        "$.data.len()",
        "$.data.a + 1",
        "$.data.where($ > 1)",
        "$.data.select($.k)",
        "$.data.keys()",
        "$",
    ),
    *(
        "$.data.l.first()",
        "$.data.l.max()",
        "dict(a => 1)",
        "$.data.join(',')",
        "$.data.flatten()",
        "[1, 2].sum()",
        "1/0",
    ),
    *(
        "$.data.toUpper()",
        "$.data.split(',')",
        "$.data.l.toSet()",
        "$.data.items()",
        "$.zz",
        "bad((",
        "",
        "'x' in $.data",
    ),
    *(
        "$.data.reverse()",
        "$.data.orderBy($)",
        "$.data.distinct()",
        "$.data.get(a)",
        "str($.data)",
        "int($.data)",
        "len($.data)",
    ),
    *(
        "$.data.l.select($ * 2)",
        "range(3)",
        "$.data.isString()",
        "$.data.all()",
        "$.data.any($ = a)",
        "switch(true => 1)",
    ),
)
SHAPES: Mapping[str, Callable[[Calls, int], Any]] = {
    "get_param": _path,
    "Ref": lambda calls, depth: calls.either([*VALUES, "r", "zz", "AWS::StackName", "AWS::Region"], 1),
    "get_resource": lambda calls, depth: calls.either(("r", "r", "zz"), 1),
    "get_attr": _attribute,
    "Fn::GetAtt": lambda calls, depth: calls.dice.choice(
        (_attribute(calls, depth)[:2], "r.str", _attribute(calls, depth))
    ),
    "get_file": lambda calls, depth: calls.either(("f", "f", "zz"), 1),
    "resource_facade": lambda calls, depth: calls.either(("metadata", "deletion_policy", "update_policy", "zz"), 1),
    "Fn::ResourceFacade": lambda calls, depth: calls.either(
        ("Metadata", "DeletionPolicy", "UpdatePolicy", "metadata"), 1
    ),
    "list_join": lambda calls, depth: [calls.text(depth), *calls.some(Calls.texts, depth)],
    "Fn::Join": lambda calls, depth: [calls.text(depth), calls.texts(depth)],
    "str_replace": _replace,
    "str_replace_strict": _replace,
    "str_replace_vstrict": _replace,
    "Fn::Replace": lambda calls, depth: [calls.mapping(depth), calls.text(depth)],
    "str_split": lambda calls, depth: [
        calls.text(depth),
        calls.text(depth),
        *calls.dice.choice(([], [], [0], ["1"], [-1], [None], [9])),
    ],
    "Fn::Split": lambda calls, depth: [calls.text(depth), calls.text(depth)],
    "Fn::Select": lambda calls, depth: [
        calls.either((0, 1, "0", "k", -1, "zz", 9), 1),
        calls.dice.choice((Calls.texts, Calls.mapping))(calls, depth),
    ],
    "Fn::FindInMap": lambda calls, depth: [
        calls.either(("m", "m", "zz"), 1),
        calls.either(("k", "k", "zz"), 1),
        calls.either(("v", "l", "n", "zz"), 1),
    ],
    "Fn::MemberListToMap": lambda calls, depth: [
        calls.either(("Name", "N"), 1),
        calls.either(("Value", "V"), 1),
        calls.either(([".member.0.Name=a", ".member.0.Value=b"], [".member.1.N=x", ".member.1.V=y=z"], [], ["bad"]), 1),
    ],
    "Fn::Base64": Calls.text,
    "Fn::GetAZs": lambda calls, depth: calls.either(("", "nova", "x"), 1),
    "digest": lambda calls, depth: [
        calls.either(("md5", "sha1", "sha256", "sha512", "SHA1", "zz", "crc"), 1),
        calls.text(depth),
    ],
    "make_url": _url,
    "repeat": _repeat,
    "map_merge": lambda calls, depth: calls.some(Calls.mapping, depth),
    "map_replace": lambda calls, depth: [
        calls.mapping(depth),
        {"keys": calls.mapping(depth), "values": calls.mapping(depth)},
    ],
    "list_concat": lambda calls, depth: calls.some(Calls.texts, depth),
    "list_concat_unique": lambda calls, depth: calls.some(Calls.texts, depth),
    "filter": lambda calls, depth: [calls.texts(depth), calls.texts(depth)],
    "contains": lambda calls, depth: [
        calls.value(depth),
        calls.dice.choice((Calls.texts, Calls.text, Calls.mapping))(calls, depth),
    ],
    "yaql": lambda calls, depth: {"expression": calls.dice.choice(EXPRESSIONS), "data": calls.value(depth)},
    "if": lambda calls, depth: [_which(calls), calls.value(depth), *calls.some(Calls.value, depth, 1)],
    "Fn::If": lambda calls, depth: [_which(calls), calls.value(depth), calls.value(depth)],
    "equals": lambda calls, depth: [calls.either((1, "1", True, "a"), 1), calls.either((1, "1", True, "a"), 1)],
    "Fn::Equals": lambda calls, depth: [calls.either((1, "1", True, "a"), 1), calls.either((1, "1", True, "a"), 1)],
    "not": lambda calls, depth: _condition(calls, depth),
    "Fn::Not": lambda calls, depth: [_condition(calls, depth)],
    "and": lambda calls, depth: [_condition(calls, depth), _condition(calls, depth)],
    "or": lambda calls, depth: [_condition(calls, depth), _condition(calls, depth)],
    "Fn::And": lambda calls, depth: [_condition(calls, depth), _condition(calls, depth)],
    "Fn::Or": lambda calls, depth: [_condition(calls, depth), _condition(calls, depth)],
}


def _which(calls: Calls) -> Any:
    return calls.dice.choice(("yes", "no", "yes", "no", "c", True, False, "zz", None, {"get_param": "b"}, 1))


def _condition(calls: Calls, depth: int) -> Any:
    """A condition: mostly a function of conditions."""
    dice = calls.dice
    if depth <= 0 or dice.random() < 0.3:
        return dice.choice(
            ("yes", "no", True, False, {"get_param" if calls.is_hot else "Ref": dice.choice(("b", "s", "n"))})
        )
    names = (
        ("equals", "not", "and", "or", "contains") if calls.is_hot else ("Fn::Equals", "Fn::Not", "Fn::And", "Fn::Or")
    )
    return calls.call(dice.choice(names), depth - 1)


def case(dice: random.Random, ident: str) -> dict[str, Any]:
    """A case of the shape of ``function-cases.json``, without its answer."""
    key, version, functions, conditions = _language(dice)
    in_condition = bool(conditions) and dice.random() < 0.2
    calls = Calls(dice, key, sorted(functions))
    name = dice.choice(sorted(conditions if in_condition else functions))
    call = calls.call(name)
    which, word = calls.call(name) if in_condition else True, "if" if key == HOT else "Fn::If"
    value = {word: ["c", "then", "else"]} if in_condition else call
    found = {
        "id": ident,
        "function": f"condition:{name}" if in_condition else name,
        "version_key": key,
        "version": version,
        "template": _template(key, version, value, which if conditions else None),
        "fakes": {"r": {"attributes": ATTRIBUTES, "reference_id": "ref-1", "state": dice.choice(STATES)}},
        "files": {"f": "content of f"},
        "params": {"n": 3} if dice.random() < 0.3 else {},
    }
    return found | ({"parent_resource": dice.choice(FACADES)} if "acade" in name and dice.random() < 0.7 else {})


def _language(dice: random.Random) -> tuple[str, str, list[str], list[str]]:
    if dice.random() < 0.75:
        version = dice.choice(sorted(HOT_TABLES))
        table, key = HOT_TABLES[version], HOT
    else:
        key, version = dice.choice(sorted(CFN_TABLES))
        table = CFN_TABLES[key, version]
    return key, version, [name for name in table.functions if name != "Fn::Sub"], list(table.conditions)


def _template(key: str, version: str, value: Any, condition: Any) -> dict[str, Any]:
    """``condition`` None: the version knows none."""
    conditions = (
        {} if condition is None else {"conditions": {"yes": _equal(key, "a"), "no": _equal(key, "b"), "c": condition}}
    )
    hot: dict[str, Any] = {
        key: version,
        "parameters": {name: {"type": kind, "default": default} for name, (kind, default) in VALUES.items()},
        "resources": {"r": {"type": "Test::r"}},
        "outputs": {"o": {"value": value}},
        **conditions,
    }
    if key == HOT:
        return hot
    kinds = {
        "string": "String",
        "number": "Number",
        "boolean": "Boolean",
        "comma_delimited_list": "CommaDelimitedList",
        "json": "Json",
    }
    return {
        key: version,
        "Parameters": {name: {"Type": kinds[kind], "Default": default} for name, (kind, default) in VALUES.items()},
        "Mappings": {"m": {"k": {"v": "found", "l": [1, 2], "n": 5}}},
        "Resources": {"r": {"Type": "Test::r"}},
        "Outputs": {"o": {"Value": value}},
        **({"Conditions": conditions["conditions"]} if conditions else {}),
    }


def _equal(key: str, other: str) -> dict[str, Any]:
    return {"equals" if key == HOT else "Fn::Equals": ["a", other]}
