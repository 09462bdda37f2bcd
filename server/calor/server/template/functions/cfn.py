"""Functions that CloudFormation has and HOT had in its first versions."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from calor.server.template.functions.base import Evaluation, Function, Refused, exactly, is_call
from calor.server.template.functions.lookups import GetAttrSelect, GetResource
from calor.server.template.functions.text import Replace
from calor.server.template.model import Reference
from calor.server.template.nearest import did_you_mean
from calor.server.template.values import UNKNOWN, Plain, shape


class Ref(GetResource):
    """``{Ref: NAME}`` of a resource, else of a parameter."""

    __slots__ = ()

    def check(self) -> Iterator[str]:
        names = self.site.names
        if isinstance(self.args, str):
            if self.args not in names.resources and self.args not in names.parameters:
                near = did_you_mean(self.args, [*names.resources, *names.parameters])
                yield f"there is no resource or parameter {self.args!r}{near}."
        else:
            yield "takes the name of a resource or a parameter."

    def own_references(self) -> Iterator[Reference]:
        if isinstance(self.args, str) and self.args in self.site.names.resources:
            yield Reference(self.args)

    def call(self, at: Evaluation) -> Any:
        name = at.value(self.args)
        if isinstance(name, str) and name not in self.site.names.resources and name in at.parameters:
            return at.parameters[name]
        return super().call(at)


class ParamRef(Function):
    """``{Ref: NAME}`` in a condition: a parameter only."""

    __slots__ = ()

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        if not isinstance(args, str) or args not in at.parameters:
            raise Refused(f"there is no parameter {args!r}{did_you_mean(str(args), at.parameters)}.")
        return at.parameters[args]


class GetAtt(GetAttrSelect):
    """``[NAME, attribute]``."""

    __slots__ = ()

    def check(self) -> Iterator[str]:
        yield from super().check()
        if isinstance(self.args, list) and len(self.args) != 2:
            yield "takes a list of a resource and an attribute."


class FindInMap(Function):
    """``[map, key, key]`` in the template's Mappings."""

    __slots__ = ()

    def check(self) -> Iterator[str]:
        if not isinstance(self.args, list) or len(self.args) != 3:
            yield "takes a list of a map and two keys."

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        here: Any = at.mappings
        for key in exactly(args, 3, "a map and two keys"):
            if here is UNKNOWN:
                return UNKNOWN
            if not isinstance(here, Mapping) or not isinstance(key, str | int) or key not in here:
                raise Refused(f"there is no {key!r} in the mappings.")
            here = here[key]
        return here


class Select(Function):
    """``[index or key, list, map or JSON text]``; nothing found is empty text."""

    __slots__ = ()

    def check(self) -> Iterator[str]:
        if not isinstance(self.args, list) or len(self.args) != 2:
            yield "takes a list of an index or key and a list or map."

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        key, items = exactly(args, 2, "an index or key and a list or map")
        if items == "":
            return ""
        if isinstance(items, str):
            try:
                items = json.loads(items)
            except ValueError:
                raise Refused("the text to select from is not JSON.") from None
        if items is None:
            return ""
        if isinstance(items, Mapping):
            if not isinstance(key, str):
                raise Refused(f"a key must be text, not {shape(key)}.")
            return items.get(key, "")
        if isinstance(items, list):
            return _item(items, key)
        raise Refused(f"selects from a list or a map, not from {shape(items)}.")


def _item(items: list[Any], key: Any) -> Any:
    try:
        index = int(key)
    except (TypeError, ValueError):
        raise Refused(f"an index must be a whole number, not {key!r}.") from None
    return items[index] if -len(items) <= index < len(items) else ""


class Base64(Function):
    """The text as it is: the one who needs base64 (user data) encodes it."""

    __slots__ = ()

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        if not isinstance(args, str):
            raise Refused(f"takes text, not {shape(args)}.")
        return args


class GetAZs(Function):
    __slots__ = ()

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        return list(at.zones)


class CfnSplit(Function):
    """``[delimiter, text]``."""

    __slots__ = ()

    def check(self) -> Iterator[str]:
        if not isinstance(self.args, list) or len(self.args) != 2:
            yield "takes a list of a delimiter and a text."
        elif isinstance(self.args, list) and not isinstance(self.args[0], str):
            yield f"the delimiter must be text, not {'a function' if is_call(self.args[0]) else shape(self.args[0])}."

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        delimiter, text = exactly(args, 2, "a delimiter and a text")
        if not isinstance(delimiter, str) or not isinstance(text, str) or not delimiter:
            raise Refused("takes a list of a delimiter and a text.")
        return text.split(delimiter)


class CfnReplace(Replace):
    """``[params, template]``."""

    __slots__ = ()

    def check(self) -> Iterator[str]:
        if not isinstance(self.args, list) or len(self.args) != 2:
            yield "takes a list of a map of values and a template."
        elif not isinstance(self.args[0], Mapping) and not is_call(self.args[0]):
            yield f"the values must be a map, not {shape(self.args[0])}."

    def parts(self, args: Any) -> tuple[Any, Any]:
        params, template = exactly(args, 2, "a map of values and a template")
        return template, params


class MemberListToMap(Function):
    """``[key name, value name, [".member.0.KEY=k", ".member.0.VALUE=v", …]]``."""

    __slots__ = ()

    def check(self) -> Iterator[str]:
        if not isinstance(self.args, list) or len(self.args) != 3:
            yield "takes a list of a key's name, a value's name and a list of members."
        elif not all(isinstance(name, str | Plain) for name in self.args[:2]):
            yield "the names of key and value are texts, not functions or anything else."

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        key_name, value_name, members = exactly(args, 3, "a key's name, a value's name and a list of members")
        if members in ("", {}):
            return {}
        if not isinstance(key_name, str) or not isinstance(value_name, str) or not isinstance(members, list):
            raise Refused("takes a list of a key's name, a value's name and a list of members.")
        rows: dict[str, dict[str, str]] = {}
        for member in members:
            place, equals, value = member.partition("=") if isinstance(member, str) else ("", "", "")
            number, _, name = place.removeprefix(".member.").partition(".")
            if not equals:
                raise Refused(f"{member!r} is not like '.member.0.{key_name}=value'.")
            if name and place.startswith(".member."):
                rows.setdefault(number, {})[name] = value
        return {row[key_name]: row[value_name] for row in rows.values() if key_name in row and value_name in row}
