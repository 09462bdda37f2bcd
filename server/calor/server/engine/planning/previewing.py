"""Answers about what would be: preview, validate, preview of an update. Nothing is stored."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from calor.server.engine.durable.sealing import Sealing
from calor.server.engine.reconcile.deciding import known_step
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.revision.blueprint import Blueprint, converted, draw
from calor.server.engine.revision.naming import physical_name
from calor.server.engine.revision.nested_checks import check_tree
from calor.server.engine.revision.requests import Wish
from calor.server.engine.revision.scope import StoredScope
from calor.server.errors import Problem
from calor.server.plan import Action as Do
from calor.server.resources.base import Registry
from calor.server.store import queries
from calor.server.store.rows import ResourceRow, RevisionRow, StackRow
from calor.server.template import (
    Model,
    NothingKnown,
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


def of_create(stack: StackRow, blueprint: Blueprint) -> Mapping[str, Any]:
    """Heat's preview answer."""
    nothing = NothingKnown()
    resources = []
    for name, definition in blueprint.model.resources.items():
        values, _, _ = converted(blueprint, name, nothing)
        resources.append(_entry(stack, name, definition.type, blueprint, mask(values, HIDDEN)))
    return {
        "id": stack.id,
        "stack_name": stack.name,
        "description": stack.description or "No description",
        "disable_rollback": stack.disable_rollback,
        "timeout_mins": stack.timeout_mins,
        "parameters": {name: parameter.shown for name, parameter in blueprint.model.parameters.items()},
        "resources": resources,
        "tags": list(stack.tags),
        "capabilities": [],
        "notification_topics": [],
        "parent": None,
        "stack_owner": stack.user_name,
        "stack_user_project_id": None,
        "stack_identity": {
            "tenant": stack.project_id,
            "stack_name": stack.name,
            "stack_id": stack.id,
            "path": "",
        },
    }


def _entry(
    stack: StackRow, name: str, type_name: str, blueprint: Blueprint, properties: Mapping[str, Any]
) -> dict[str, Any]:
    kind = blueprint.kinds[name]
    identity = {"tenant": stack.project_id, "stack_name": stack.name, "stack_id": stack.id}
    return {
        "resource_name": name,
        "resource_type": type_name,
        "resource_action": "INIT",
        "resource_status": "COMPLETE",
        "resource_status_reason": "",
        "physical_resource_id": physical_name(stack.name, name, str(uuid.uuid4()), kind.physical_name_limit),
        "description": blueprint.model.resources[name].description,
        "metadata": {},
        "attributes": {attribute: None for attribute in kind.attributes},
        "properties": properties,
        "required_by": list(blueprint.graph.required_by(name)),
        "stack_name": stack.name,
        "stack_identity": {**identity, "path": ""},
        "resource_identity": {**identity, "path": f"/resources/{name}"},
    }


async def of_update(tools: Tools, stack: StackRow, blueprint: Blueprint) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Heat's five groups, by the same planner that the update uses; a forced replacement names its property."""
    rows = await queries.stack_resources(tools.database, stack.id)
    current = {row.name: row for row in rows if row.replaced_by is None}
    scope = StoredScope(stack.name, blueprint.kinds, current, tools.sealing)
    groups: dict[str, list[Mapping[str, Any]]] = {
        name: [] for name in ("added", "deleted", "replaced", "unchanged", "updated")
    }
    places = {Do.CREATE: "added", Do.REPLACE: "replaced", Do.NONE: "unchanged", Do.UPDATE: "updated"}
    for name, definition in blueprint.model.resources.items():
        row = current.get(name)
        values = plain(converted(blueprint, name, scope)[0])
        entry = _entry(stack, name, definition.type, blueprint, mask(values, HIDDEN))
        if row is None:
            groups["added"].append(entry)
            continue
        step = known_step(tools.sealing, blueprint.kinds[name], row, definition.type, values)
        if step.reasons:
            entry["reasons"] = [reason.text for reason in step.reasons]
        groups[places[step.action]].append(entry | _as_row(row))
    for name, row in current.items():
        if name not in blueprint.kinds:
            properties = mask(tools.sealing.value(row.properties) or {}, HIDDEN)
            groups["deleted"].append(_gone(stack, row, properties))
    return groups


def _as_row(row: ResourceRow) -> dict[str, Any]:
    return {
        "resource_action": row.action.value,
        "resource_status": row.status.value,
        "resource_status_reason": row.status_reason,
        "physical_resource_id": row.physical_id,
    }


def _gone(stack: StackRow, row: ResourceRow, properties: Mapping[str, Any]) -> dict[str, Any]:
    identity = {"tenant": stack.project_id, "stack_name": stack.name, "stack_id": stack.id}
    return {
        "resource_name": row.name,
        "resource_type": row.type,
        "description": "",
        "metadata": {},
        "attributes": {},
        "properties": properties,
        "required_by": [],
        "stack_name": stack.name,
        "stack_identity": {**identity, "path": ""},
        "resource_identity": {**identity, "path": f"/resources/{row.name}"},
        **_as_row(row),
    }


def of_validate(wish: Wish, registry: Registry, max_depth: int, *, show_nested: bool) -> Mapping[str, Any]:
    """Heat's validate answer. Raises `InvalidInput` with all problems."""
    unknown, faults = list[Problem](), list[Problem]()
    with told_together(faults):
        model = bind(wish.template, wish.environment, wish.given, files=wish.files, allow_missing=True, faults=faults)
        check_tree(draw(model, registry, wish.files, unknown), registry, max_depth, unknown)
    groups = [
        {"label": group.label, "description": group.description, "parameters": list(group.parameters)}
        for group in wish.template.parameter_groups
    ]
    return {
        "Description": wish.template.description or "No description",
        "Parameters": {name: _parameter(schema, model) for name, schema in wish.template.parameters.items()},
        **({"ParameterGroups": groups} if groups else {}),
        "Environment": {
            key: value for key, value in wish.environment.raw().items() if value or key != "encrypted_param_names"
        },
    }


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
    if known is not None and known.origin.value in ("given", "environment"):
        entry["Value"] = known.shown
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
