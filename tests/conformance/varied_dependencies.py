"""Cases of dependencies made at random: templates of a few resources that need each other in every way there is."""

import random
from typing import Any

NAMES = ("a", "b", "c", "d", "e")
HOT, CFN = "heat_template_version", "AWSTemplateFormatVersion"
VERSIONS = ("2013-05-23", "2015-10-15", "2016-10-14", "2018-08-31", "2021-04-16")
CONDITIONS: dict[str, Any] = {
    "yes": {"equals": ["x", "x"]},
    "no": {"equals": ["x", "y"]},
    "flag": {"get_param": "flag"},
}
PARAMETERS = {"flag": {"type": "boolean", "default": False}, "name": {"type": "string", "default": "a"}}


class Template:
    """One template in the making. ``has_conditions``: its version knows them."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.is_hot = dice.random() < 0.75
        self.version = dice.choice(VERSIONS) if self.is_hot else "2010-09-09"
        self.names = NAMES[: dice.randint(2, 5)]
        self.has_conditions = not self.is_hot or self.version >= "2016-10-14"

    def made(self) -> dict[str, Any]:
        resources = {name: self.resource(name) for name in self.names}
        outputs = {"o": {"value" if self.is_hot else "Value": self.value("o", 2)}} if self.dice.random() < 0.3 else {}
        if self.is_hot:
            more = {"conditions": CONDITIONS} if self.has_conditions else {}
            return {HOT: self.version, "parameters": PARAMETERS, "resources": resources, "outputs": outputs, **more}
        return {
            CFN: self.version,
            "Parameters": {"flag": {"Type": "Boolean", "Default": False}, "name": {"Type": "String", "Default": "a"}},
            "Conditions": {"yes": {"Fn::Equals": ["x", "x"]}, "no": {"Fn::Equals": ["x", "y"]}},
            "Resources": resources,
            "Outputs": outputs,
        }

    def resource(self, name: str) -> dict[str, Any]:
        dice, hot = self.dice, self.is_hot
        found: dict[str, Any] = {"type" if hot else "Type": "Test::Loose" if dice.random() < 0.08 else "Test::Any"}
        if dice.random() < 0.35:
            needs = [self.other(name) for _ in range(dice.randint(1, 2))]
            found["depends_on" if hot else "DependsOn"] = dice.choice((needs, needs[0]))
        if dice.random() < 0.7:
            found["properties" if hot else "Properties"] = {
                key: self.value(name, 3) for key in dice.choice(("x", "xy"))
            }
        if dice.random() < 0.25:
            found["metadata" if hot else "Metadata"] = {"m": self.value(name, 2)}
        if self.has_conditions and dice.random() < 0.2:
            found["condition" if hot else "Condition"] = dice.choice(("yes", "no", "yes"))
        if hot and self.version >= "2016-10-14" and dice.random() < 0.06:
            found["external_id"] = dice.choice(("x", {"get_param": "name"}))
        if dice.random() < 0.1:
            word = "deletion_policy" if hot else "DeletionPolicy"
            found[word] = dice.choice(("Retain", "Delete", "Snapshot", "retain" if hot else "Retain"))
        return found

    def other(self, name: str) -> str:
        """Mostly one that stands before, so that few templates have circles."""
        before = self.names[: self.names.index(name)] if name in self.names else self.names
        if self.dice.random() < 0.04:
            return "missing"
        return self.dice.choice(before if before and self.dice.random() < 0.85 else self.names)

    def value(self, name: str, depth: int) -> Any:
        dice = self.dice
        if depth == 0 or dice.random() < 0.15:
            return dice.choice((1, "text", None, True, ["a"], {"k": "v"}))
        if dice.random() < 0.5:
            return self.use(name)
        inner = [self.value(name, depth - 1) for _ in range(2)]
        shapes: list[Any] = [inner, {"k": inner[0], "l": inner[1]}]
        if self.is_hot:
            shapes += [
                {"list_join": [",", ["x", self.use(name)]]},
                {"str_replace": {"template": "t", "params": {"k": self.use(name)}}},
            ]
            if self.version >= "2016-10-14":
                shapes += [{"if": [dice.choice(("yes", "no", "flag")), *inner]}, {"map_merge": [{"a": self.use(name)}]}]
                shapes += [{"repeat": {"template": "%i%", "for_each": {"%i%": [self.use(name)]}}}]
            if self.version >= "2018-08-31":
                shapes += [
                    {"list_concat": [[inner[0]]]},
                    {"filter": [[inner[0]], [inner[1]]]},
                    {"contains": ["x", inner]},
                ]
        else:
            shapes += [{"Fn::Join": [",", ["x", self.use(name)]]}, {"Fn::Select": ["0", inner]}]
            shapes += [{"Fn::If": [dice.choice(("yes", "no")), *inner]}, {"Fn::Split": [",", self.use(name)]}]
        return dice.choice(shapes)

    def use(self, name: str) -> Any:
        dice, other = self.dice, self.other(name)
        if not self.is_hot:
            return dice.choice(({"Ref": other}, {"Fn::GetAtt": [other, "a"]}, {"Ref": "name"}))
        uses: list[Any] = [{"get_resource": other}, {"get_attr": [other, dice.choice(("a", "m", "l"))]}]
        uses += [{"get_attr": [other, "m", "k", 0]}, {"get_resource": {"get_param": "name"}}]
        if self.version >= "2015-10-15":
            uses.append({"get_attr": [other]})
        return dice.choice(uses)


def case(dice: random.Random, ident: str) -> dict[str, Any]:
    """A case of the shape of ``dependency-cases.json``, without its answer."""
    found: dict[str, Any] = {"id": ident, "tag": "varied", "template": Template(dice).made()}
    return found | ({"parameters": {"flag": True, "name": "b"}} if dice.random() < 0.25 else {})
