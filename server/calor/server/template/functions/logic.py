"""``if`` and the functions of conditions."""

from collections.abc import Iterator
from typing import Any

from calor.server.template.functions.base import Evaluation, Function, Refused, Undecided, is_call
from calor.server.template.nearest import did_you_mean
from calor.server.template.values import ABSENT, UNKNOWN, Plain, has_unknown, plain, reveal, shape


def truth(tree: Any, at: Evaluation, call: Function | None = None) -> bool:
    """What stands where a condition is wanted: a boolean, a condition's name or a function that gives one of these.
    Nothing counts as true, as in Heat. Raises `Refused`, `Undecided`."""
    value = reveal(at.value(tree))
    if value is None:
        return True
    if not isinstance(value, str):
        return decided(value)
    found = at.condition(value)
    if found is None:
        known = call.site.names.conditions if call else ()
        raise Refused(f"there is no condition {value!r}{did_you_mean(value, known)}.")
    return found


def decided(value: Any) -> bool:
    """The value of a condition's definition. Raises `Refused`, `Undecided`."""
    if isinstance(value, bool):
        return value
    if value is UNKNOWN:
        raise Undecided
    raise Refused(f"a condition must be true or false, not {shape(value)}.")


class If(Function):
    """``[condition, value if true, value if false]``; the branch that is not chosen is not looked at."""

    __slots__ = ()
    lazy = True
    fewest = 3

    def check(self) -> Iterator[str]:
        if not isinstance(self.args, list) or not self.fewest <= len(self.args) <= 3:
            yield "takes a list of a condition, a value if it is true and a value if it is false."
            return
        if not isinstance(plain(self.args[0]), str | bool | dict | None):
            yield f"a condition is a name, a boolean or a function, not {shape(self.args[0])}."

    def call(self, at: Evaluation) -> Any:
        if not isinstance(self.args, list) or not self.fewest <= len(self.args) <= 3:
            raise self.fault("takes a list of a condition, a value if it is true and a value if it is false.")
        condition = self.site.parse_condition(self.args[0], (*self.path, 0))
        try:
            chosen = 1 if self.guard(lambda: truth(condition, at, self)) else 2
        except Undecided:
            return UNKNOWN
        if chosen >= len(self.args):
            return ABSENT
        return at.value(self.site.parse(self.args[chosen], (*self.path, chosen)))


class IfOptional(If):
    """As of 2021-04-16: without a third item, the place it stands in vanishes."""

    __slots__ = ()
    fewest = 2


class Equals(Function):
    """``[a, b]``."""

    __slots__ = ()
    keeps_structure = True

    def check(self) -> Iterator[str]:
        if not isinstance(self.args, list) or len(self.args) != 2:
            yield "takes a list of two values."

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        if has_unknown(args):
            return UNKNOWN
        if not isinstance(args, list) or len(args) != 2:
            raise Refused("takes a list of two values.")
        return same(args[0], args[1])


def same(one: Any, other: Any) -> bool:
    """Equality; an unquoted scalar compared with a text is the text that was written."""
    if isinstance(one, Plain) and isinstance(reveal(other), str):
        return bool(one.text == reveal(other))
    if isinstance(other, Plain) and isinstance(reveal(one), str):
        return bool(other.text == reveal(one))
    return bool(reveal(one) == reveal(other))


class Not(Function):
    """``{not: condition}``."""

    __slots__ = ()

    def check(self) -> Iterator[str]:
        if not isinstance(plain(self.args), str | bool) and not is_call(self.args):
            yield f"takes a condition, not {shape(self.args)}."

    def call(self, at: Evaluation) -> Any:
        return self.guard(lambda: not truth(self.args, at, self))


class NotOfList(Function):
    """CloudFormation's: ``[condition]``."""

    __slots__ = ()

    def check(self) -> Iterator[str]:
        if not isinstance(self.args, list) or len(self.args) != 1:
            yield "takes a list of one condition."

    def call(self, at: Evaluation) -> Any:
        return self.guard(lambda: not truth(self.args[0], at, self))


class All(Function):
    """``{and: [condition, condition, …]}``. All functions among them are evaluated; what follows a false one need be
    no condition."""

    __slots__ = ()

    def check(self) -> Iterator[str]:
        if not isinstance(self.args, list) or len(self.args) < 2:
            yield "takes a list of two or more conditions."

    def call(self, at: Evaluation) -> Any:
        values = at.value(self.args)
        return self.guard(lambda: all(truth(item, at, self) for item in values))


class Either(All):
    """``{or: [condition, condition, …]}``; what follows a true one need be no condition."""

    __slots__ = ()

    def call(self, at: Evaluation) -> Any:
        values = at.value(self.args)
        return self.guard(lambda: any(truth(item, at, self) for item in values))
