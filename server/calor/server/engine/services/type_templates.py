"""A template to begin with for a resource type: each property a parameter, each attribute an output. Pure.

Shapes are those of Heat's ``GET /resource_types/TYPE/template`` (api-cases.json, ``catalog``).
"""

from collections.abc import Mapping
from typing import Any

from calor.server.template.properties import Kind

HOT_TYPES = {
    Kind.STRING.value: "string",
    Kind.INTEGER.value: "number",
    Kind.NUMBER.value: "number",
    Kind.BOOLEAN.value: "boolean",
    Kind.LIST.value: "comma_delimited_list",
    Kind.MAP.value: "json",
    Kind.ANY.value: "string",
}
CFN_TYPES = {
    "string": "String",
    "number": "Number",
    "boolean": "Boolean",
    "comma_delimited_list": "CommaDelimitedList",
    "json": "Json",
}
_CFN_BOUNDS = {"range": ("MinValue", "MaxValue"), "length": ("MinLength", "MaxLength")}
_CFN_RULES = {"allowed_values": "AllowedValues", "allowed_pattern": "AllowedPattern"}

Schemas = Mapping[str, Mapping[str, Any]]
"""By name: a property's or an attribute's schema as the catalogue shows it."""


def hot_template(name: str, properties: Schemas, attributes: Schemas) -> dict[str, Any]:
    place = _place(name)
    return {
        "heat_template_version": "2016-10-14",
        "description": f"Initial template of {name}",
        "parameters": {prop: _hot_parameter(schema) for prop, schema in properties.items()},
        "resources": {place: {"type": name, "properties": {prop: {"get_param": prop} for prop in properties}}},
        "outputs": {
            **{
                attribute: {**_text("description", schema), "value": {"get_attr": [place, attribute]}}
                for attribute, schema in attributes.items()
            },
            "OS::stack_id": {"value": {"get_resource": place}},
        },
    }


def cfn_template(name: str, properties: Schemas, attributes: Schemas) -> dict[str, Any]:
    place = _place(name)
    return {
        "HeatTemplateFormatVersion": "2012-12-12",
        "Description": f"Initial template of {name}",
        "Parameters": {prop: _cfn_parameter(schema) for prop, schema in properties.items()},
        "Resources": {
            place: {"Type": name, "Properties": {prop: _cfn_value(prop, schema) for prop, schema in properties.items()}}
        },
        "Outputs": {
            **{
                attribute: {**_text("Description", schema), "Value": {"Fn::GetAtt": [place, attribute]}}
                for attribute, schema in attributes.items()
            },
            "OS::stack_id": {"Value": {"Ref": place}},
        },
    }


def _place(name: str) -> str:
    return name.rpartition("::")[2]


def _text(key: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {key: schema["description"]} if schema.get("description") else {}


def _hot_parameter(schema: Mapping[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": HOT_TYPES[schema["type"]], **_text("description", schema)}
    if "default" in schema:
        entry["default"] = schema["default"]
    if schema.get("constraints"):
        entry["constraints"] = list(schema["constraints"])
    return entry


def _cfn_parameter(schema: Mapping[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {"Type": CFN_TYPES[HOT_TYPES[schema["type"]]], **_text("Description", schema)}
    if "default" in schema:
        entry["Default"] = schema["default"]
    for constraint in schema.get("constraints", ()):
        for rule, value in constraint.items():
            if rule in _CFN_BOUNDS:
                entry |= {
                    key: value[end] for key, end in zip(_CFN_BOUNDS[rule], ("min", "max"), strict=True) if end in value
                }
            elif rule in _CFN_RULES:
                entry[_CFN_RULES[rule]] = value
    return entry


def _cfn_value(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    is_list = schema["type"] == Kind.LIST.value
    return {"Fn::Split": [",", {"Ref": name}]} if is_list else {"Ref": name}
