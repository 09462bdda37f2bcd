"""Effective parameter values: read by type, checked by constraint, shown as a stack shows them."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calor.server.template import constraints
from calor.server.template.model import (
    Origin,
    Parameter,
    ParameterConstraint,
    ParameterKind,
    ParameterSchema,
    Pending,
)
from calor.server.template.properties import AllowedValues, Custom, Length, Pattern
from calor.server.template.values import UNKNOWN, Plain, Secret, plain, reveal, shape

HIDDEN = "******"


class BadValue(Exception):
    """The value does not fit the parameter; the caller adds where."""


def read_value(schema: ParameterSchema, value: Any) -> Any:
    """The value as functions see it. Raises `BadValue`."""
    value = value.value if isinstance(value, Secret) else value
    match schema.kind:
        case ParameterKind.STRING:
            return as_string(value)
        case ParameterKind.NUMBER:
            return as_number(plain(value))
        case ParameterKind.BOOLEAN:
            return as_boolean(plain(value))
        case ParameterKind.LIST:
            return _as_list(value)
        case ParameterKind.JSON:
            return _as_json(plain(value))


def as_string(value: Any) -> str:
    """Text as written; other values by their text."""
    if isinstance(value, Plain):
        return value.text
    return value if isinstance(value, str) else str(plain(value))


def as_number(value: Any) -> int | float:
    if not isinstance(value, str | int | float):
        raise BadValue(f"a number is wanted, not {shape(value)}")
    if not isinstance(value, str):
        return value
    try:
        return int(value)
    except ValueError:
        pass
    try:
        return float(value)
    except ValueError:
        raise BadValue(f"{value!r} is not a number") from None


def as_boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower() if isinstance(value, str | int) else ""
    if word in constraints.TRUE:
        return True
    if word in constraints.FALSE:
        return False
    raise BadValue(f"{value!r} is neither true nor false")


def _as_list(value: Any) -> list[str]:
    if isinstance(value, Plain):
        value = value.text
    if isinstance(value, str):
        return value.split(",") if value else []
    if not isinstance(value, list):
        raise BadValue(f"a list or text with commas is wanted, not {shape(value)}")
    return [as_string(item) for item in value]


def _as_json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value) if value else value
    except RecursionError:
        raise BadValue("the JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        message = f"it is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        raise BadValue(message) from None


def shown_text(schema: ParameterSchema, value: Any) -> str:
    """The text that a stack shows for a value."""
    value = reveal(value)
    if schema.kind is ParameterKind.LIST and isinstance(value, list):
        return ",".join(str(item) for item in value)
    if schema.kind is ParameterKind.JSON:
        return json.dumps(value)
    return str(value)


def is_hidden(schema: ParameterSchema, encrypted: frozenset[str]) -> bool:
    return schema.hidden or schema.name in encrypted


def is_masked(schema: ParameterSchema) -> bool:
    """Whether the default is what a hidden default is shown as: the value itself was not shown."""
    return schema.hidden and schema.has_default and plain(schema.default) == HIDDEN


def effective(schema: ParameterSchema, value: Any, origin: Origin, *, hidden: bool) -> Parameter:
    """The parameter with its value read and checked. Raises `BadValue`; its text keeps a hidden value hidden."""
    if value is UNKNOWN:
        return Parameter(name=schema.name, value=UNKNOWN, shown="", origin=origin, schema=schema)
    try:
        read = read_value(schema, value)
        check(schema, read)
    except BadValue as bad:
        if not hidden:
            raise
        description = next((rule.description for rule in schema.constraints if rule.description), "")
        raise BadValue(f"the hidden value does not fit it{f' ({description})' if description else ''}") from bad
    if hidden:
        found = Parameter(name=schema.name, value=Secret(read), shown=HIDDEN, origin=origin, schema=schema)
    else:
        shown = shown_text(schema, read)
        found = Parameter(name=schema.name, value=read, shown=shown, origin=origin, schema=schema)
    return replace(found, written=value)


def check_default(schema: ParameterSchema) -> None:
    """Check a default as it is written by all constraints that need no cloud; without any it may be anything until it
    is used, but for a list. Raises `BadValue`."""
    rules = tuple(entry for entry in schema.constraints if not isinstance(entry.rule, Custom))
    default = schema.default
    if schema.kind is ParameterKind.LIST:
        default = _as_list(default) or ([""] if plain(default) == "" else [])
    elif schema.kind is ParameterKind.JSON:
        default = plain(default)
    elif rules:
        default = read_value(schema, default)
    check(replace(schema, constraints=rules), default)


def check(schema: ParameterSchema, read: Any) -> None:
    """Check the constraints. Raises `BadValue` with all that are broken."""
    faults = []
    for entry in schema.constraints:
        fault = broken(entry, read) or _unlike(entry, schema)
        if not constraints.is_known(entry.rule):
            fault = f"there is no custom constraint {entry.rule.name!r}"  # type: ignore[union-attr]  # only a `Custom`
        if fault:
            faults.append(f"{fault}{f' ({entry.description})' if entry.description else ''}")
    if faults:
        raise BadValue("; ".join(faults))


def _unlike(entry: ParameterConstraint, schema: ParameterSchema) -> str | None:
    """Why an allowed value can be none of a number or a boolean."""
    if isinstance(entry.rule, AllowedValues) and schema.kind in (ParameterKind.NUMBER, ParameterKind.BOOLEAN):
        for value in entry.rule.values:
            try:
                read_value(schema, value)
            except BadValue as bad:
                return f"the allowed values are not all of its type: {bad}"
    return None


def broken(entry: ParameterConstraint, read: Any) -> str | None:
    rule = entry.rule
    if isinstance(rule, Length) and not isinstance(read, str | list | Mapping):
        return f"{read!r} has no length"
    if isinstance(rule, AllowedValues):
        rule = AllowedValues(*(value.text if isinstance(value, Plain) else value for value in rule.values))
    elif isinstance(rule, Pattern) and isinstance(read, list):
        return next((fault for item in read if (fault := constraints.broken(rule, item))), None)
    if isinstance(read, list) and isinstance(rule, AllowedValues):
        return next((fault for item in read if (fault := constraints.broken(rule, item))), None)
    return constraints.broken(rule, read)


def pending(parameter: Parameter) -> list[Pending]:
    """The custom constraints of a parameter that somebody with a cloud must check."""
    if parameter.schema is None or parameter.value is UNKNOWN:
        return []
    return [
        Pending(
            constraint=entry.rule.name,  # type: ignore[union-attr]  # `is_pending` answers for `Custom` only
            value=parameter.value,
            path=("parameters", parameter.name),
            description=entry.description,
        )
        for entry in parameter.schema.constraints
        if constraints.is_pending(entry.rule)
    ]


def immutable_changes(new: Mapping[str, Parameter], old: Mapping[str, Parameter]) -> list[str]:
    """Names of immutable parameters (as the new template declares them) whose value an update would change."""
    return sorted(
        name
        for name, parameter in new.items()
        if parameter.schema is not None
        and parameter.schema.immutable
        and name in old
        and reveal(old[name].value) != reveal(parameter.value)
    )
