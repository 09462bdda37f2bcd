"""From a type's name in a template to what implements it, and what the planner asks about it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calor.server.engine.revision.template_type import TemplateType, is_template_name
from calor.server.resources.base import Registry, ResourceType
from calor.server.resources.declare import construct, schema_of
from calor.server.resources.registry import aliased
from calor.server.template import Environment, reveal
from calor.server.template.properties import PropertySchema

MAPPED_DEPTH = 10


class Kinds:
    """The types that one stack can name: the registry's, those of its environment, and its template files."""

    def __init__(self, registry: Registry, environment: Environment, files: Mapping[str, str]) -> None:
        self._registry = registry
        self._environment = environment
        self._files = files

    def find(self, type_name: str, resource_name: str) -> ResourceType[Any] | None:
        """None for what is no type. A mapped name may be mapped again."""
        name = type_name
        for _ in range(MAPPED_DEPTH):
            mapped = self._environment.type_of(name, resource_name)
            if mapped == name:
                break
            name = mapped
        if is_template_name(name):
            text = self._files.get(name)
            return None if text is None else TemplateType(name, text, self._environment.parameter_defaults)
        return self._registry.get(name)


def schema(kind: ResourceType[Any]) -> Mapping[str, PropertySchema]:
    """The properties of a type, with the defaults that the operator has set."""
    if isinstance(kind, TemplateType):
        return kind.schema()
    known = schema_of(kind.props)
    if not kind.operator_defaults:
        return known
    return {**known, **{name: replace(known[name], default=value) for name, value in kind.operator_defaults.items()}}


def typed(kind: ResourceType[Any], properties: Mapping[str, Any]) -> Any:
    """Properties as the type's methods take them. Secrets stay secret on their way into a child stack."""
    if isinstance(kind, TemplateType):
        return properties
    return construct(kind.props, properties if kind.is_nested else reveal(properties))


class Rules:
    """The planner's questions about one resource's type, whatever name it has."""

    def __init__(self, kind: ResourceType[Any]) -> None:
        self._kind = kind

    def schema(self, type_name: str) -> Mapping[str, PropertySchema]:
        return schema(self._kind)

    def canonical(self, type_name: str) -> str:
        return aliased(type_name)

    def must_replace(
        self, type_name: str, was: Mapping[str, Any], want: Mapping[str, Any], changed: frozenset[str]
    ) -> str | None:
        return self._kind.must_replace(was, want, changed)

    def keeps(
        self, type_name: str, was: Mapping[str, Any], want: Mapping[str, Any], changed: frozenset[str]
    ) -> frozenset[str]:
        return self._kind.keeps(was, want, changed)
