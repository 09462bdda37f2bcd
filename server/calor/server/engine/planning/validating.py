"""Heat's validate answer, and a stack's environment as it is shown. Nothing is stored."""

from collections.abc import Mapping
from typing import Any

from calor.server.engine.durable.sealing import Sealing
from calor.server.engine.planning.inside import outlined
from calor.server.engine.revision.blueprint import Blueprint, draw
from calor.server.engine.revision.nested_checks import check_tree
from calor.server.engine.revision.requests import Wish
from calor.server.engine.revision.template_type import TemplateType
from calor.server.errors import Problem
from calor.server.resources.base import Registry
from calor.server.store.rows import RevisionRow
from calor.server.template import (
    Model,
    Origin,
    Parameter,
    ParameterKind,
    ParameterSchema,
    bind,
    mask,
    parse_environment,
    plain,
    told_together,
)
from calor.server.template.properties import AllowedValues, Custom, Length, Modulo, Pattern, Range

HIDDEN = "******"
_TYPES = {
    ParameterKind.STRING: "String",
    ParameterKind.NUMBER: "Number",
    ParameterKind.LIST: "CommaDelimitedList",
    ParameterKind.JSON: "Json",
    ParameterKind.BOOLEAN: "Boolean",
}


def of_validate(wish: Wish, registry: Registry, max_depth: int, *, show_nested: bool) -> Mapping[str, Any]:
    """Heat's validate answer. Raises `InvalidInput` with all problems; values of parameters are the create call's to
    check, as in Heat: those that do not fit count as not known."""
    unknown, faults = list[Problem](), list[Problem]()
    with told_together(faults):
        model = bind(wish.template, wish.environment, wish.given, files=wish.files, allow_missing=True, faults=faults)
        faults[:] = [problem for problem in faults if problem.code != "parameter-value"]
        blueprint = draw(model, registry, wish.files, unknown)
        check_tree(blueprint, registry, max_depth, unknown)
    below = _nested_parameters(blueprint, registry, max_depth) if show_nested else {}
    groups = [
        {"label": group.label, "description": group.description, "parameters": list(group.parameters)}
        for group in wish.template.parameter_groups
    ]
    return {
        "Description": wish.template.description or "No description",
        "Parameters": {name: _parameter(schema, model) for name, schema in wish.template.parameters.items()},
        **({"ParameterGroups": groups} if groups else {}),
        **({"NestedParameters": below} if below else {}),
        "Environment": _environment(wish, blueprint),
    }


def _environment(wish: Wish, blueprint: Blueprint) -> dict[str, Any]:
    """As Heat has it once it has met the template files that are types: they are registered under their own names."""
    raw = dict(wish.environment.raw())
    files = {kind.name for kind in blueprint.kinds.values() if isinstance(kind, TemplateType)}
    named = files & {item.type for item in blueprint.model.resources.values()}
    raw["resource_registry"] = {**{name: name for name in sorted(named)}, **(raw.get("resource_registry") or {})}
    return {key: value for key, value in raw.items() if value or key != "encrypted_param_names"}


def _nested_parameters(blueprint: Blueprint, registry: Registry, depth: int) -> dict[str, Any]:
    """Parameters of the stacks that resources are, by resource, as far as they are known."""
    found: dict[str, Any] = {}
    for name, kind in blueprint.kinds.items():
        child = outlined(blueprint, name, kind, registry) if kind.is_nested and depth > 0 else None
        if child is None:
            continue
        template = child.model.template
        parameters = {key: _parameter(schema, child.model) for key, schema in template.parameters.items()}
        below = _nested_parameters(child, registry, depth - 1)
        if parameters or below:
            found[name] = {
                "Type": blueprint.definition(name).type,
                "Description": template.description or "No description",
                "Parameters": parameters,
                **({"NestedParameters": below} if below else {}),
            }
    return found


def _parameter(schema: ParameterSchema, model: Model) -> dict[str, Any]:
    known: Parameter | None = model.parameters.get(schema.name)
    entry: dict[str, Any] = {
        "Type": _TYPES[schema.kind],
        "Description": schema.description,
        "NoEcho": "true" if schema.hidden else "false",
        "Label": schema.label or schema.name,
    }
    if schema.has_default:
        entry["Default"] = HIDDEN if schema.hidden else mask(schema.default)
    if known is not None and known.origin in (Origin.GIVEN, Origin.ENVIRONMENT) and plain(known.written):
        entry["Value"] = HIDDEN if schema.hidden else mask(plain(known.written))
    for constraint in schema.constraints:
        entry |= _rule(constraint.rule)
    descriptions = [constraint.description for constraint in schema.constraints if constraint.description]
    if descriptions:
        entry["ConstraintDescription"] = " ".join(descriptions)
    if schema.tags:
        entry["Tags"] = list(schema.tags)
    return entry


def _rule(rule: Any) -> dict[str, Any]:
    if isinstance(rule, Length):
        return {k: v for k, v in (("MinLength", rule.min), ("MaxLength", rule.max)) if v is not None}
    if isinstance(rule, Range):
        return {k: v for k, v in (("MinValue", rule.min), ("MaxValue", rule.max)) if v is not None}
    if isinstance(rule, Modulo):
        return {"Step": rule.step, "Offset": rule.offset}
    if isinstance(rule, AllowedValues):
        return {"AllowedValues": list(rule.values)}
    if isinstance(rule, Pattern):
        return {"AllowedPattern": rule.regex}
    return {"CustomConstraint": rule.name} if isinstance(rule, Custom) else {}


def environment(row: RevisionRow, sealing: Sealing) -> Mapping[str, Any]:
    """As ``stack environment show`` gives it, hidden parameters masked."""
    raw = dict(parse_environment(sealing.value(row.environment)).raw())
    given = sealing.value(row.parameters)
    shown = {**raw.get("parameters", {}), **given}
    raw["parameters"] = {
        name: HIDDEN if row.shown.get(name) == HIDDEN else mask(value, HIDDEN) for name, value in shown.items()
    }
    defaults = raw.get("parameter_defaults") or {}
    raw["parameter_defaults"] = {
        name: HIDDEN if row.shown.get(name) == HIDDEN else mask(value, HIDDEN) for name, value in defaults.items()
    }
    return raw
