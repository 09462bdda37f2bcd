"""Changes of a template's tree, made at random."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from odd_values import CFN_CONSTRAINTS, CONSTRAINTS, GROUPS, POLICIES, SCALARS, TYPES, UPDATES
from varied_functions import AWS, CFN, HOT, SHAPES, Calls

from calor.server.template.functions.versions import CFN_TABLES, HOT_TABLES, HOT_VERSIONS


class Change:
    """One template in the changing. Every change leaves the tree one that can be written."""

    def __init__(self, dice: random.Random, tree: dict[str, Any]) -> None:
        self.dice, self.tree = dice, tree
        self.is_hot = HOT in tree

    # --- what is there ------------------------------------------------------------------------------------

    def word(self, name: str) -> str:
        return name if self.is_hot else "".join(part.capitalize() for part in name.split("_"))

    def section(self, name: str) -> dict[str, Any]:
        found = self.tree.get(self.word(name))
        return found if isinstance(found, dict) else {}

    def one_of(self, name: str) -> dict[str, Any]:
        """One of the bodies in a section; one that is not in the tree where there is none."""
        bodies = [body for body in self.section(name).values() if isinstance(body, dict)]
        return self.dice.choice(bodies) if bodies else {}

    def name_in(self, *sections: str) -> str:
        names = [str(name) for section in sections for name in self.section(section)]
        return self.dice.choice([*names, *names, *names, "zz"]) if self.dice.random() < 0.9 else "zz"

    def place(self, fits: Callable[[Any], bool] = lambda value: True) -> tuple[Any, Any]:
        found = [(holder, key) for holder, key in _places(self.tree) if fits(holder[key])]
        return self.dice.choice(found) if found else ({"x": None}, "x")

    def value_place(self) -> tuple[Any, Any]:
        """A place in the values of a resource or an output."""
        roots: list[Any] = [self.one_of("resources").get(self.word("properties"))]
        roots += [self.one_of("resources").get(self.word("metadata")), self.one_of("outputs")]
        found = [place for root in roots if isinstance(root, dict) for place in _places(root)]
        return self.dice.choice(found) if found else ({"x": None}, "x")

    def calls(self) -> "CallsHere":
        return CallsHere(self)

    # --- changes --------------------------------------------------------------------------------------------

    def delete(self) -> None:
        holder, key = self.place()
        del holder[key]

    def delete_high(self) -> None:
        holder = self.dice.choice(
            (self.tree, self.one_of("resources"), self.one_of("parameters"), self.one_of("outputs"))
        )
        if holder:
            del holder[self.dice.choice(list(holder))]

    def rename(self) -> None:
        holder, key = self.place()
        if isinstance(holder, dict):
            _renamed(holder, key, _near(self.dice, str(key)))

    def rename_high(self) -> None:
        bodies = [self.tree, self.one_of("resources"), self.one_of("parameters"), self.one_of("outputs")]
        properties = bodies[1].get(self.word("properties"))
        holder = self.dice.choice([*bodies, properties if isinstance(properties, dict) else self.tree])
        if holder:
            key = self.dice.choice(list(holder))
            _renamed(holder, key, _near(self.dice, str(key)))

    def other_value(self) -> None:
        holder, key = self.place(lambda value: not isinstance(value, dict | list))
        holder[key] = self.dice.choice(SCALARS)

    def other_part(self) -> None:
        holder, key = self.place()
        holder[key] = self.dice.choice(SCALARS)

    def other_high(self) -> None:
        holder = self.dice.choice(
            (
                self.tree,
                self.one_of("resources"),
                self.one_of("parameters"),
                self.one_of("outputs"),
                *map(self.section, ("resources", "parameters", "outputs", "conditions")),
            )
        )
        if holder:
            holder[self.dice.choice(list(holder))] = self.dice.choice(SCALARS)

    def wrapped(self) -> None:
        holder, key = self.place()
        value = holder[key]
        holder[key] = self.dice.choice(
            ([value], {"a": value}, [value, value], {key: value} if isinstance(key, str) else [[value]])
        )

    def double_resource(self) -> None:
        resources = self.section("resources")
        if resources:
            name = self.dice.choice(list(resources))
            new = self.dice.choice(
                (name + "2", "a.b", "ü", "x" * 255, "x" * 256, "a/b", "5", "", "a b", *self.section("parameters"))
            )
            resources[new] = json.loads(json.dumps(resources[name]))

    def rename_resource(self) -> None:
        resources = self.section("resources")
        if resources:
            _renamed(
                resources,
                self.dice.choice(list(resources)),
                self.dice.choice(("other", "zz", *self.section("parameters"))),
            )

    def other_type(self) -> None:
        types = (
            "OS::Heat::None",
            "OS::Heat::Value",
            "OS::Heat::RandomString",
            "OS::Nova::Server",
            "OS::Zz::Zz",
            "",
            "x",
        )
        types += ("OS::Heat::TestResource", "AWS::EC2::Instance", "OS::Neutron::Net", "zz.yaml", "os::heat::none")  # type: ignore[assignment]
        self.one_of("resources")[self.word("type")] = self.dice.choice(types)

    def other_version(self) -> None:
        key = next(one for one in (HOT, CFN, AWS, "") if one in self.tree or not one)
        if not key:
            return
        if not self.is_hot:
            _renamed(self.tree, key, self.dice.choice((CFN, AWS)))
            return
        names = [*HOT_VERSIONS, *(name for name in HOT_VERSIONS.values() if name)]
        odd = ("2013-05-24", "2010-09-09", 2015, None, "", ["rocky"], {"a": 1}, "Rocky", "2018-08-31 ", True, 20180831)
        self.tree[key] = self.dice.choice(names) if self.dice.random() < 0.85 else self.dice.choice(odd)

    def reference(self) -> None:
        """Another use of a parameter or a resource in the place of a value, or of another use."""
        uses = ("get_param", "get_resource", "get_attr", "Ref", "Fn::GetAtt", "get_file")
        holder, key = self.place(
            lambda value: isinstance(value, dict) and len(value) == 1 and next(iter(value)) in uses
        )
        if self.dice.random() < 0.4 or holder == {"x": None}:
            holder, key = self.value_place()
        holder[key] = self.use()

    def use(self) -> Any:
        dice = self.dice
        resource, parameter = self.name_in("resources"), self.name_in("parameters")
        attribute: list[Any] = [
            resource,
            dice.choice(("show", "zz", "name", "first_address", "networks", "value", "id")),
        ]
        odd: list[Any] = [None, [], {}, 5, ["a", "b"], {"a": "b"}, "", [resource], [[resource]], [5, 5], [None, "show"]]
        odd += [f"{resource}.show", [resource, "show", None], [{"get_param": parameter}, "show"], True, [True]]
        if not self.is_hot:
            either = self.name_in("resources", "parameters")
            calls = [{"Ref": either}, {"Fn::GetAtt": attribute}, {"Ref": dice.choice(("AWS::StackName", "AWS::Zz"))}]
            return dice.choice((*calls, {dice.choice(("Ref", "Fn::GetAtt")): dice.choice(odd)}))
        calls = [
            {"get_resource": resource},
            {"get_param": parameter},
            {"get_attr": attribute},
            {"get_attr": [resource]},
        ]
        calls += [{"get_attr": [*attribute, dice.choice((0, "a", None, {"get_param": parameter}))]}]
        calls += [{"get_param": [parameter, dice.choice((0, "a", None, {"get_param": parameter}))]}]
        calls += [{"get_param": dice.choice(("OS::stack_name", "OS::zz", "OS::project_id"))}]
        calls += [{dice.choice(("get_resource", "get_param", "get_attr", "get_file")): dice.choice(odd)}] * 2
        return dice.choice(calls)

    def function(self) -> None:
        holder, key = self.value_place()
        calls = self.calls()
        holder[key] = calls.call(self.dice.choice(calls.names))

    def swapped_function(self) -> None:
        """The arguments of one function given to another."""
        names = self.calls().names
        holder, key = self.place(
            lambda value: isinstance(value, dict) and len(value) == 1 and next(iter(value)) in SHAPES
        )
        call = holder[key]
        if isinstance(call, dict):
            holder[key] = {self.dice.choice(names): next(iter(call.values()))}

    def broken_call(self) -> None:
        """A call with a part of its arguments changed, or with a second key beside the function's."""
        holder, key = self.place(
            lambda value: isinstance(value, dict) and len(value) == 1 and next(iter(value)) in SHAPES
        )
        call = holder[key]
        if isinstance(call, dict):
            name = next(iter(call))
            call[name] = self.calls().broken(call[name])
            if self.dice.random() < 0.3:
                call[self.dice.choice(("zz", "get_param", "Ref", "str_replace"))] = self.dice.choice(SCALARS)

    def condition(self) -> None:
        """A condition declared, used, or both."""
        dice, key = self.dice, self.word("conditions")
        if dice.random() < 0.8 and isinstance(self.tree.get(key, {}), dict):
            self.tree.setdefault(key, {})["c"] = self.condition_body()
        if dice.random() < 0.5:
            word = self.word("condition")
            which: tuple[Any, ...] = (
                "c",
                "c",
                "c",
                "zz",
                True,
                False,
                None,
                5,
                "",
                {"not": "c"},
                self.condition_body(),
            )
            self.dice.choice((self.one_of("resources"), self.one_of("outputs")))[word] = dice.choice(which)
        if dice.random() < 0.5:
            holder, place = self.value_place()
            holder[place] = {"if" if self.is_hot else "Fn::If": self.branches(holder[place])}

    def branches(self, value: Any) -> Any:
        which = self.dice.choice(("c", "c", "c", "zz", True, None, self.condition_body()))
        return self.dice.choice(
            ([which, value, "x"], [which, "x", value], [which, value], [which], [], "c", [which, 1, 2, 3])
        )

    def condition_body(self) -> Any:
        dice = self.dice
        calls = self.calls()
        use = {"get_param" if self.is_hot else "Ref": self.name_in("parameters")}
        names = (
            ("equals", "not", "and", "or", "contains")
            if self.is_hot
            else ("Fn::Equals", "Fn::Not", "Fn::And", "Fn::Or")
        )
        body = calls.call(dice.choice(names))
        equal = {names[0]: [use, dice.choice(("x", "", True, 1))]}
        return dice.choice((equal, equal, equal, body, use, True, False, "c", "zz", None, [], {}, "true", {"a": "b"}))

    def depends_on(self) -> None:
        resources = self.section("resources")
        if not resources:
            return
        name = self.dice.choice(list(resources))
        other = self.name_in("resources")
        odd = ([], None, "", 5, [5], {"a": 1}, [None], ["zz"], "zz", name, [name], [[other]], {"get_resource": other})
        value = self.dice.choice((other, [other], [other, other], *odd))
        if isinstance(resources[name], dict):
            resources[name][self.word("depends_on")] = value

    def parameter(self) -> None:
        body, dice = self.one_of("parameters"), self.dice
        if dice.random() < 0.1:
            self.tree.setdefault(self.word("parameters"), {})
            body = self.section("parameters")["new"] = {self.word("type"): "string" if self.is_hot else "String"}
        key = dice.choice(
            (
                "type",
                "default",
                "default",
                "default",
                "label",
                "description",
                "hidden",
                "immutable",
                "tags",
                "zz",
                "constraints",
            )
        )
        if key == "type":
            body[self.word(key)] = dice.choice(TYPES)
        elif key == "constraints" and self.is_hot:
            body[key] = dice.choice(
                ([dice.choice(CONSTRAINTS)], [dice.choice(CONSTRAINTS) for _ in range(2)], None, {}, "x", 5)
            )
        elif key == "constraints":
            name, value = dice.choice(CFN_CONSTRAINTS)
            body[name] = value
        elif key == "hidden":
            body["hidden" if self.is_hot else "NoEcho"] = dice.choice((True, False, "true", "false", "zz", None, 1, []))
        else:
            body[self.word(key)] = dice.choice(SCALARS)

    def output(self) -> None:
        outputs, dice = self.section("outputs"), self.dice
        if not outputs:
            self.tree[self.word("outputs")] = outputs = {}
        odd: tuple[Any, ...] = (
            {},
            None,
            [],
            "x",
            {self.word("description"): "d"},
            {self.word("value"): None},
            {"zz": 1},
        )
        more = {
            self.word("value"): self.use(),
            dice.choice((self.word("description"), "zz", self.word("condition"))): dice.choice(SCALARS),
        }
        outputs[dice.choice((*outputs, "new", "new.er", "5"))] = dice.choice(
            (*odd, {self.word("value"): self.use()}, more)
        )

    def policy(self) -> None:
        body, dice = self.one_of("resources"), self.dice
        key = dice.choice(("update_policy", "deletion_policy", "external_id", "metadata"))
        values: Sequence[Any] = {"update_policy": UPDATES, "deletion_policy": POLICIES}.get(key, SCALARS)
        use = self.use()
        body[self.word(key)] = dice.choice(values) if dice.random() < 0.8 else use if key != "metadata" else {"a": use}

    def groups(self) -> None:
        name = self.name_in("parameters")
        good = (
            [{"label": "l", "parameters": [name]}],
            [{"parameters": [name, name]}],
            [{"parameters": [name]}, {"parameters": [name]}],
        )
        key = self.dice.choice(("parameter_groups", "parameter_groups", self.word("parameter_groups")))
        self.tree[key] = self.dice.choice((*good, *GROUPS))

    def more_sections(self) -> None:
        names = (
            "description",
            "Description",
            "Metadata",
            "metadata",
            "Mappings",
            "mappings",
            "conditions",
            "Conditions",
        )
        names += ("zz", "Parameters", "parameters", "Resources", "resources", "Outputs", HOT, CFN, AWS, "5", "")  # type: ignore[assignment]
        self.tree[self.dice.choice(names)] = self.dice.choice((*SCALARS, "2010-09-09", "2018-08-31"))


CHANGES: Sequence[Callable[[Change], None]] = (
    *(Change.delete, Change.delete_high, Change.rename, Change.rename_high, Change.other_value, Change.other_part),
    *(Change.other_high, Change.wrapped, Change.double_resource, Change.rename_resource, Change.other_type),
    *(Change.other_version, Change.reference, Change.reference, Change.function, Change.function, Change.condition),
    *(Change.swapped_function, Change.broken_call, Change.condition, Change.depends_on, Change.parameter),
    *(Change.parameter, Change.output, Change.policy, Change.policy, Change.groups, Change.more_sections),
)


class CallsHere(Calls):
    """Calls of the functions of a template's version, with its own parameters and resources."""

    def __init__(self, change: Change) -> None:
        version = change.tree.get(HOT)
        table = HOT_TABLES.get(version) if isinstance(version, str) else None
        if table is None:
            table = HOT_TABLES["2021-04-16"] if change.is_hot else CFN_TABLES[AWS, "2010-09-09"]
        own = ("get_param", "Ref", "get_resource", "get_attr", "Fn::GetAtt", "get_file", "Fn::Sub")
        key = HOT if change.is_hot else AWS
        super().__init__(change.dice, key, sorted(name for name in table.functions if name not in own))
        self.change = change

    def lookup(self) -> Any:
        return self.change.use()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every holder with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in items:
        yield value, key
        yield from _places(one)


def _renamed(holder: dict[str, Any], key: str, new: str) -> None:
    """In the same place."""
    items = [(new if name == key else name, value) for name, value in holder.items()]
    holder.clear()
    holder.update(items)


def _near(dice: random.Random, name: str) -> str:
    place = dice.randrange(len(name)) if name else 0
    near = (name[:place] + name[place + 1 :], name + "s", name.upper(), name.capitalize(), name.lower(), name + " ")
    swapped = name[:place] + name[place : place + 2][::-1] + name[place + 2 :]
    return dice.choice((*near, swapped, name.replace("_", "-"), name[:place] + "x" + name[place:]))
