"""Checks a value by a constraint; says what is wrong in a sentence. One vocabulary for parameters and properties."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import regex  # type: ignore[import-untyped,unused-ignore]  # it ships no types

from calor.server.template.local_constraints import LOCAL, REMOTE, TIMELY
from calor.server.template.properties import (
    AllowedValues,
    Constraint,
    Custom,
    Kind,
    Length,
    Modulo,
    Pattern,
    PropertySchema,
    Range,
)

TRUE = frozenset({"t", "true", "on", "y", "yes", "1"})
FALSE = frozenset({"f", "false", "off", "n", "no", "0"})


def broken(rule: Constraint, value: Any, shown: str | None = None) -> str | None:
    """What is wrong with the value by the rule, or None. ``shown`` stands for the value in the text.

    A `Custom` that needs a cloud is never broken here: see `is_pending`.
    """
    text = repr(value) if shown is None else shown
    match rule:
        case Length():
            return _length(rule, value)
        case Range():
            return _range(rule, value, text)
        case Modulo():
            return _modulo(rule, value, text)
        case AllowedValues():
            return _allowed(rule, value, text)
        case Pattern():
            return _pattern(rule, value, text)
        case Custom():
            check = LOCAL.get(rule.name)
            return None if check is None or check(value) else f"{text} is not a valid {rule.name}"


def is_pending(rule: Constraint) -> bool:
    """Whether somebody with a cloud or a clock must check it."""
    return isinstance(rule, Custom) and (rule.name not in LOCAL or rule.name in TIMELY)


def is_known(rule: Constraint) -> bool:
    """Whether there is such a custom constraint."""
    return not isinstance(rule, Custom) or rule.name in LOCAL or rule.name in REMOTE


def _length(rule: Length, value: Any) -> str | None:
    if not isinstance(value, str | list | Mapping):
        return None
    size = len(value)
    if (rule.min is not None and size < rule.min) or (rule.max is not None and size > rule.max):
        return f"the length {size} is not {_bounds(rule.min, rule.max)}"
    return None


def _bounds(low: float | None, high: float | None) -> str:
    if low is None:
        return f"at most {high}"
    return f"at least {low}" if high is None else f"between {low} and {high}"


def _range(rule: Range, value: Any, text: str) -> str | None:
    number = _number(value)
    if number is None:
        return f"{text} is not a number"
    if (rule.min is not None and number < rule.min) or (rule.max is not None and number > rule.max):
        return f"{text} is not {_bounds(rule.min, rule.max)}"
    return None


def _modulo(rule: Modulo, value: Any, text: str) -> str | None:
    number = _number(value)
    if number is None or number % rule.step != rule.offset:
        return f"{text} is not a multiple of {rule.step} with an offset of {rule.offset}"
    return None


def _number(value: Any) -> float | None:
    if isinstance(value, int | float):
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _allowed(rule: AllowedValues, value: Any, text: str) -> str | None:
    values = value if isinstance(value, list) else [value]
    for item in values:
        if not any(item == allowed or _alike(item, allowed) for allowed in rule.values):
            return f"{text if values is not value else repr(item)} is not one of {_listed(rule.values)}"
    return None


def _alike(item: Any, allowed: Any) -> bool:
    """5 is allowed where "5" is, 1.5 where "1.50" is, true where "yes" is: what means the same."""
    if isinstance(item, bool):
        return item is _truth(allowed)
    if isinstance(allowed, bool):
        return str(item) == str(allowed)
    if isinstance(item, int | float) or isinstance(allowed, int | float):
        one, other = _number(item), _number(allowed)
        return one is not None and one == other
    return False


def _truth(value: Any) -> Any:
    """The boolean that a text or a number stands for; any other value as it is."""
    word = str(value).strip().lower()
    return True if word in TRUE else False if word in FALSE else value


def _listed(values: tuple[Any, ...]) -> str:
    return ", ".join(str(value) for value in values)


PATTERN_SECONDS = 0.25
"""How long one match may take: a pattern such as ``(a+)+$`` would take for ever (F168)."""


def _pattern(rule: Pattern, value: Any, text: str) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        found = compiled(rule.regex).match(value, timeout=PATTERN_SECONDS)
    except TimeoutError:
        return f"{text} cannot be matched with the pattern {rule.regex} within {PATTERN_SECONDS} s"
    if found is None or found.end() != len(value):
        return f"{text} does not match the pattern {rule.regex}"
    return None


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> "regex.Pattern[str]":
    """By a library that knows a time-out; what it reads is what the standard one reads."""
    return regex.compile(pattern)


def schema_fault(rule: Constraint) -> str | None:
    """What is wrong with the rule itself."""
    if isinstance(rule, Pattern):
        try:
            compiled(rule.regex)
        except (regex.error, RecursionError, OverflowError) as error:
            return f"{rule.regex!r} is not a regular expression: {error}"
    if isinstance(rule, Modulo):
        if rule.step == 0:
            return "the step of a modulo must not be 0"
        if abs(rule.offset) >= abs(rule.step) or rule.step * rule.offset < 0:
            return "the offset of a modulo must be smaller than its step and have its sign"
    return None


def _default_fault(rule: Constraint, kind: Kind, default: Any) -> str | None:
    """What is wrong with a default, which must fit the constraints even where another value is used."""
    if default is None or isinstance(rule, Custom):
        return None
    if kind is Kind.BOOLEAN:
        default = _truth(default)
    if isinstance(rule, Length) and not isinstance(default, str | list | Mapping):
        return f"the default {default!r} has no length"
    return broken(rule, default)


_NUMBERS = frozenset({Kind.INTEGER, Kind.NUMBER})
_MAY_HAVE: Mapping[type, frozenset[Kind]] = {
    Range: _NUMBERS,
    Modulo: _NUMBERS,
    Length: frozenset({Kind.STRING, Kind.LIST, Kind.MAP}),
    AllowedValues: _NUMBERS | {Kind.STRING, Kind.BOOLEAN, Kind.LIST},
    Pattern: frozenset({Kind.STRING}),
    Custom: _NUMBERS | {Kind.STRING, Kind.BOOLEAN, Kind.LIST},
}


def schema_faults(schema: PropertySchema) -> list[str]:
    """What is wrong with the declaration of a property: a fault of the type's author, never of a user."""
    found = []
    if schema.immutable and schema.update_allowed:
        found.append("an immutable property cannot be updated.")
    for rule in schema.constraints:
        if schema.kind is not Kind.ANY and schema.kind not in _MAY_HAVE[type(rule)]:
            found.append(f"a {schema.kind.value} cannot have a {type(rule).__name__}.")
        if fault := schema_fault(rule) or _default_fault(rule, schema.kind, schema.default):
            found.append(f"{fault}.")
    for inner in (schema.schema or {}).values():
        found.extend(schema_faults(inner))
    return found
