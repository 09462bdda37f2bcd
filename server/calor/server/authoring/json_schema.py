"""A JSON Schema of HOT with the resource types that exist, for the YAML language servers of editors.

Draft 7, which they all know. It is looser than the checks of `calor validate`: a value may always be a function, and
where a type reads texts as numbers (and the other way round) both are right.
"""

from collections.abc import Mapping
from typing import Any

from calor.server.resources.base import Registry
from calor.server.resources.declare import attributes_of, schema_of
from calor.server.template import ParameterKind
from calor.server.template.dialects import DIALECTS, RELEASES
from calor.server.template.functions.versions import HOT_TABLES
from calor.server.template.properties import AllowedValues, Constraint, Kind, Length, Pattern, PropertySchema, Range

Schema = dict[str, Any]
HOT = "heat_template_version"
_FUNCTION: Schema = {"$ref": "#/definitions/function"}
_VALUE: Schema = {"$ref": "#/definitions/value"}
_SCALARS = ["string", "number", "boolean"]
_KINDS: Mapping[Kind, list[str]] = {
    Kind.STRING: ["string", "number", "boolean"],
    Kind.INTEGER: ["number", "string"],
    Kind.NUMBER: ["number", "string"],
    Kind.BOOLEAN: ["boolean", "string", "number"],
    Kind.LIST: ["array", "string"],
    Kind.MAP: ["object", "string", "array"],
}
"""What Heat reads as each: texts as numbers, JSON texts as maps, empty lists as empty maps."""


def of_hot(registry: Registry) -> Schema:
    """The whole schema. Types that it does not know pass with any properties."""
    types = [name for name in registry.names() if name.count("::") >= 1]
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Heat Orchestration Template",
        "type": "object",
        "required": [HOT],
        "additionalProperties": False,
        "properties": {
            HOT: {"enum": [*DIALECTS[HOT], *RELEASES], "description": "The version, by date or release name."},
            "description": {"type": [*_SCALARS, "null"]},
            "parameter_groups": {"type": ["array", "null"], "items": {"$ref": "#/definitions/parameter_group"}},
            "parameters": _named("parameter"),
            "resources": _named("resource"),
            "outputs": _named("output"),
            "conditions": {"type": ["object", "null"], "additionalProperties": _VALUE},
        },
        "definitions": {
            "value": {},
            "function": _function(),
            "parameter": _parameter(),
            "parameter_group": _parameter_group(),
            "output": _output(),
            "resource": _resource(types),
            **{f"properties of {name}": _properties(registry, name) for name in types},
        },
    }


def _named(definition: str) -> Schema:
    return {
        "type": ["object", "null", "array"],
        "maxItems": 0,
        "additionalProperties": {"$ref": f"#/definitions/{definition}"},
    }


def _function() -> Schema:
    """A map of one key, which is the name of a function of any version."""
    names = sorted({name for table in HOT_TABLES.values() for name in table.functions})
    return {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
        "properties": {name: {} for name in names},
    }


def _parameter() -> Schema:
    constraint = {
        "type": "object",
        "properties": {
            name: {}
            for name in (
                "description",
                "length",
                "range",
                "modulo",
                "allowed_values",
                "allowed_pattern",
                "custom_constraint",
            )
        },
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "required": ["type"],
        "additionalProperties": False,
        "properties": {
            "type": {"enum": sorted(kind.value for kind in ParameterKind)},
            "label": {"type": [*_SCALARS, "null"]},
            "description": {"type": [*_SCALARS, "null"]},
            "default": {},
            "hidden": {"type": ["boolean", "string", "number"]},
            "immutable": {"type": ["boolean", "string", "number"]},
            "constraints": {"type": ["array", "null"], "items": constraint},
            "tags": {"type": ["array", "string", "null"]},
        },
    }


def _parameter_group() -> Schema:
    return {
        "type": "object",
        "required": ["parameters"],
        "properties": {
            "label": {"type": [*_SCALARS, "null"]},
            "description": {"type": [*_SCALARS, "null"]},
            "parameters": {"type": "array", "items": {"type": _SCALARS}},
        },
    }


def _output() -> Schema:
    return {
        "type": "object",
        "required": ["value"],
        "additionalProperties": False,
        "properties": {"value": _VALUE, "description": {"type": [*_SCALARS, "null"]}, "condition": _VALUE},
    }


def _resource(types: list[str]) -> Schema:
    kinds = {"anyOf": [{"enum": types}, {"type": "string"}], "description": "The resource's type."}
    keys: Schema = {
        "type": kinds,
        "properties": {"type": ["object", "array", "null"]},
        "metadata": {"type": ["object", "array", "null"]},
        "depends_on": {"type": ["string", "array", "null"], "items": {"type": "string"}},
        "update_policy": {"type": ["object", "array", "null"]},
        "deletion_policy": {
            "anyOf": [{"enum": ["Delete", "Retain", "Snapshot", "delete", "retain", "snapshot"]}, _FUNCTION]
        },
        "external_id": {"anyOf": [{"type": [*_SCALARS, "null"]}, _FUNCTION]},
        "description": {"type": [*_SCALARS, "null"]},
        "condition": _VALUE,
    }
    return {
        "type": "object",
        "required": ["type"],
        "additionalProperties": False,
        "properties": keys,
        "allOf": [_when(name) for name in types],
    }


def _when(name: str) -> Schema:
    """The properties of a type, where that is the type."""
    wanted = {"properties": {"type": {"const": name}}, "required": ["type"]}
    return {"if": wanted, "then": {"properties": {"properties": {"$ref": f"#/definitions/properties of {name}"}}}}


def _properties(registry: Registry, name: str) -> Schema:
    kind = registry.get(name)
    if kind is None or kind.any_properties:
        return {}
    about = (kind.__doc__ or "").strip()
    attributes = ", ".join(sorted(attributes_of(kind)))
    return {
        "description": f"{about} Attributes: {attributes}." if attributes else about,
        **_map_of(schema_of(kind.props)),
    }


def _map_of(schemas: Mapping[str, PropertySchema]) -> Schema:
    """A missing property is told by `calor validate` only: an editor would complain while one is typing."""
    return {
        "type": ["object", "array", "null"],
        "properties": {name: _property(one) for name, one in schemas.items()},
        "additionalProperties": False,
    }


def _property(one: PropertySchema) -> Schema:
    about = _about(one)
    if one.kind is Kind.ANY:
        return about
    return {**about, "anyOf": [{**_shape(one), **_limits(one)}, _FUNCTION, {"type": "null"}]}


def _shape(one: PropertySchema) -> Schema:
    found: Schema = {"type": _KINDS[one.kind] + (["object", "array"] if one.allow_conversion else [])}
    if one.schema is None:
        return found
    if one.kind is Kind.LIST and "*" in one.schema:
        found["items"] = _property(one.schema["*"])
    elif one.kind is Kind.MAP:
        inner = _map_of(one.schema)
        found |= {"properties": inner["properties"], "additionalProperties": {"$ref": "#/definitions/value"}}
        names = sorted(_FUNCTION_NAMES | set(one.schema))
        found["propertyNames"] = {"enum": names}
    return found


_FUNCTION_NAMES = {name for table in HOT_TABLES.values() for name in table.functions}


def _about(one: PropertySchema) -> Schema:
    words = [one.description.strip()] if one.description else []
    if one.required:
        words.append("Required.")
    words.append("Can be updated in place." if one.update_allowed else "A change replaces the resource.")
    about: Schema = {"description": " ".join(words)}
    if one.default is not None and isinstance(one.default, str | int | float | bool | list | dict):
        about["default"] = one.default
    if one.support.status == "DEPRECATED":
        about["deprecated"] = True
    return about


def _limits(one: PropertySchema) -> Schema:
    """Constraints that hold for the value as it is written."""
    found: Schema = {}
    for rule in one.constraints:
        found |= _limit(rule, one.kind)
    return found


def _limit(rule: Constraint, kind: Kind) -> Schema:
    if isinstance(rule, AllowedValues) and kind is Kind.STRING:
        return {"enum": list(rule.values)}
    if isinstance(rule, Range) and kind in (Kind.INTEGER, Kind.NUMBER):
        return {key: value for key, value in (("minimum", rule.min), ("maximum", rule.max)) if value is not None}
    if isinstance(rule, Length) and kind is Kind.STRING:
        return {key: value for key, value in (("minLength", rule.min), ("maxLength", rule.max)) if value is not None}
    if isinstance(rule, Pattern) and kind is Kind.STRING:
        return {"pattern": f"^(?:{rule.regex})$"}
    return {}
