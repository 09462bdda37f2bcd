"""Parameter declarations of both languages → schemas."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from calor.server.template import constraints
from calor.server.template.model import ParameterConstraint, ParameterKind, ParameterSchema
from calor.server.template.nearest import did_you_mean
from calor.server.template.properties import AllowedValues, Constraint, Custom, Length, Modulo, Pattern, Range
from calor.server.template.source import Faults, Path
from calor.server.template.values import Plain, plain, shape

_HOT_KINDS = {kind.value: kind for kind in ParameterKind}
_CFN_KINDS = {
    "String": ParameterKind.STRING,
    "Number": ParameterKind.NUMBER,
    "CommaDelimitedList": ParameterKind.LIST,
    "Json": ParameterKind.JSON,
    "Boolean": ParameterKind.BOOLEAN,
}
_MAY_HAVE: Mapping[type, frozenset[ParameterKind]] = {
    Length: frozenset({ParameterKind.STRING, ParameterKind.LIST, ParameterKind.JSON}),
    Range: frozenset({ParameterKind.NUMBER}),
    Modulo: frozenset({ParameterKind.NUMBER}),
    AllowedValues: frozenset(ParameterKind) - {ParameterKind.JSON},
    Pattern: frozenset({ParameterKind.STRING}),
    Custom: frozenset(ParameterKind) - {ParameterKind.JSON},
}


class Wrong(Exception):
    """A declaration that cannot be; the caller adds where."""


@dataclass(frozen=True)
class Declared:
    """How one language writes a parameter."""

    keys: frozenset[str]
    kinds: Mapping[str, ParameterKind]
    words: Mapping[str, str]  # canonical → as written
    constraint_kinds: frozenset[str] = frozenset()


def hot_declared(version: str) -> Declared:
    keys = {"type", "default", "description", "label", "hidden", "immutable", "constraints", "schema"}
    kinds = {"length", "range", "allowed_values", "allowed_pattern", "custom_constraint"}
    if version >= "2017-02-24":
        kinds.add("modulo")
    if version >= "2018-03-02":
        keys.add("tags")
    return Declared(frozenset(keys), _HOT_KINDS, {key: key for key in keys}, frozenset(kinds))


CFN_DECLARED = Declared(
    frozenset(
        [
            "AllowedPattern",
            "AllowedValues",
            "ConstraintDescription",
            "Default",
            "Description",
            "Label",
            "MaxLength",
            "MaxValue",
            "MinLength",
            "MinValue",
            "NoEcho",
            "Type",
        ]
    ),
    _CFN_KINDS,
    {"type": "Type", "default": "Default", "description": "Description", "label": "Label", "hidden": "NoEcho"},
)


def parse_parameter(name: str, body: Any, declared: Declared, path: Path, faults: Faults) -> ParameterSchema | None:
    """One declaration; its faults are collected, and None is the answer where it has one."""
    before = len(faults.problems)
    if not isinstance(body, Mapping):
        faults.add(f"A parameter is declared by a map, not by {shape(body)}.", path, code="parameter-declaration")
        return None
    for key in body:
        if key not in declared.keys:
            faults.add(
                f"A parameter has no {key!r}{did_you_mean(str(key), declared.keys)}.",
                (*path, key),
                code="parameter-declaration",
            )
    words = declared.words
    type_name = body.get(words["type"])
    kind = declared.kinds.get(type_name) if isinstance(type_name, str) else None
    if kind is None:
        known = ", ".join(declared.kinds)
        faults.add(
            f"The type of a parameter is one of {known}; it is {plain(type_name)!r}.", path, code="parameter-type"
        )
        return None
    rules = tuple(_rules(body, declared, kind, path, faults))
    if len(faults.problems) > before:
        return None
    default = body.get(words["default"])
    return ParameterSchema(
        name=name,
        kind=kind,
        type_name=str(type_name),
        default=default,
        has_default=default is not None,
        description=_words(body.get(words["description"])),
        label=_words(body.get(words.get("label", ""))) or name,
        hidden=_flag(body.get(words["hidden"]), declared),
        immutable=_flag(body.get("immutable"), declared),
        constraints=rules,
        tags=_tags(body.get("tags", []), (*path, "tags"), faults),
    )


def broken_parameter(name: str) -> ParameterSchema:
    """What stands for a parameter whose declaration is wrong."""
    return ParameterSchema(name=name, kind=ParameterKind.JSON, type_name="Json", has_default=True, is_broken=True)


def _flag(value: Any, declared: Declared) -> bool:
    """A yes or no. In CloudFormation only the word "true" is a yes; in HOT a text that is not empty is one, whatever
    it says, as in Heat: what might be meant as hidden is."""
    value = plain(value)
    return bool(value) if declared.constraint_kinds else str(value).lower() == "true"


def _words(value: Any) -> str:
    return "" if value is None else value.text if isinstance(value, Plain) else str(value)


def _tags(value: Any, path: Path, faults: Faults) -> tuple[str, ...]:
    if not isinstance(value, list):
        faults.add("The tags of a parameter are a list of texts.", path, code="parameter-declaration")
        return ()
    return tuple(_words(tag) for tag in value)


def _rules(
    body: Mapping[str, Any], declared: Declared, kind: ParameterKind, path: Path, faults: Faults
) -> Iterator[ParameterConstraint]:
    written = _hot_rules if declared.constraint_kinds else _cfn_rules
    for place, build, description in written(body, declared, path, faults):
        try:
            rule = _sound(build(), kind)
        except Wrong as wrong:
            faults.add(f"This constraint cannot be: {wrong}", place, code="parameter-constraint")
            continue
        yield ParameterConstraint(rule=rule, description=description)


def _sound(rule: Constraint, kind: ParameterKind) -> Constraint:
    """The rule, if it can be and fits the type. Raises `Wrong`."""
    fault = constraints.schema_fault(rule)
    if fault:
        raise Wrong(f"{fault}.")
    if kind not in _MAY_HAVE[type(rule)]:
        raise Wrong(f"a parameter of the type {kind.value} cannot have this constraint.")
    return rule


def _hot_rules(body: Mapping[str, Any], declared: Declared, path: Path, faults: Faults) -> Iterator[Any]:
    written = body.get("constraints")
    if written is None:
        return
    if not isinstance(written, list):
        faults.add("The constraints of a parameter are a list.", (*path, "constraints"), code="parameter-constraint")
        return
    for number, entry in enumerate(written):
        place = (*path, "constraints", number)
        kinds = [key for key in entry if key != "description"] if isinstance(entry, Mapping) else []
        if len(kinds) != 1 or kinds[0] not in declared.constraint_kinds:
            known = ", ".join(sorted(declared.constraint_kinds))
            near = did_you_mean(str(kinds[0]), declared.constraint_kinds) if kinds else ""
            faults.add(
                f"An entry of the constraints has one of the keys {known}{near}.", place, code="parameter-constraint"
            )
            continue
        yield place, _hot_builder(kinds[0], entry[kinds[0]]), _words(entry.get("description"))


def _hot_builder(kind: str, value: Any) -> Any:
    def build() -> Constraint:
        match kind:
            case "length":
                low, high = _bounds(value, whole=True)
                return Length(low, high)  # type: ignore[arg-type]  # whole numbers, by `whole`
            case "range":
                return Range(*_bounds(value, whole=False))
            case "modulo":
                return _modulo(value)
            case "allowed_values":
                return _allowed(value)
            case "allowed_pattern":
                return Pattern(_text(value))
            case _:
                return Custom(_text(value))

    return build


def _cfn_rules(body: Mapping[str, Any], declared: Declared, path: Path, faults: Faults) -> Iterator[Any]:
    description = _words(body.get("ConstraintDescription"))
    for name, low, high in (("Length", "MinLength", "MaxLength"), ("Value", "MinValue", "MaxValue")):
        if low in body or high in body:
            bounds = {"min": body.get(low), "max": body.get(high)}
            kind = "length" if name == "Length" else "range"
            yield (*path, low if low in body else high), _hot_builder(kind, bounds), description
    if "AllowedValues" in body:
        yield (*path, "AllowedValues"), _hot_builder("allowed_values", body["AllowedValues"]), description
    if "AllowedPattern" in body:
        yield (*path, "AllowedPattern"), _hot_builder("allowed_pattern", body["AllowedPattern"]), description


def _bounds(value: Any, *, whole: bool) -> tuple[float | None, float | None]:
    if not isinstance(value, Mapping):
        raise Wrong(f"it is a map of 'min' and 'max', not {shape(value)}.")
    for key in value:
        if key not in ("min", "max"):
            raise Wrong(f"it has no {key!r}, only 'min' and 'max'.")
    low, high = (_number(value.get(key), whole=whole) for key in ("min", "max"))
    if low is None and high is None:
        raise Wrong("it needs 'min' or 'max'.")
    return low, high


def _number(value: Any, *, whole: bool) -> float | None:
    value = plain(value)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise Wrong(f"{value!r} is not a number.")
    if whole and isinstance(value, float):
        raise Wrong(f"{value!r} is not a whole number.")
    try:
        return int(value) if whole or isinstance(value, int) else _int_or_float(value)
    except ValueError:
        raise Wrong(f"{value!r} is not a number.") from None


def _int_or_float(value: float | str) -> float:
    if isinstance(value, float):
        return value
    try:
        return int(value)
    except ValueError:
        return float(value)


def _modulo(value: Any) -> Modulo:
    if not isinstance(value, Mapping) or set(value) - {"step", "offset"}:
        raise Wrong("it is a map of 'step' and 'offset'.")
    step, offset = (_number(value.get(key), whole=True) for key in ("step", "offset"))
    if step is None or offset is None:
        raise Wrong("it needs 'step' and 'offset'.")
    return Modulo(int(step), int(offset))


def _allowed(value: Any) -> AllowedValues:
    if not isinstance(value, list):
        raise Wrong(f"the allowed values are a list, not {shape(value)}.")
    return AllowedValues(*value)


def _text(value: Any) -> str:
    if not isinstance(value, str | Plain):
        raise Wrong(f"it is a text, not {shape(value)}.")
    return _words(value)
