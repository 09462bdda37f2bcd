"""The catalogue: resource types, template versions and functions, engine processes."""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from calor.server.engine.contract.views import ResourceTypeView, ServiceView
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.revision.kinds import schema
from calor.server.engine.services import languages
from calor.server.engine.services.type_templates import cfn_template, hot_template
from calor.server.errors import BadRequest, EntityNotFound, NotSupported
from calor.server.resources.base import ResourceType
from calor.server.resources.declare import attributes_of
from calor.server.resources.registry import RENAMED
from calor.server.store import queries
from calor.server.template.properties import (
    AllowedValues,
    AttributeSchema,
    Constraint,
    Custom,
    Length,
    Modulo,
    Pattern,
    PropertySchema,
    Range,
    Support,
)

STATUSES = frozenset({"UNKNOWN", "SUPPORTED", "DEPRECATED", "UNSUPPORTED", "HIDDEN"})


class CatalogueService:
    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def types(self, *, name: str | None, version: str | None, support_status: str | None) -> Sequence[ResourceTypeView]:
        if support_status is not None and support_status not in STATUSES:
            raise BadRequest(f"Invalid support status {support_status!r}; it is one of {', '.join(sorted(STATUSES))}.")
        found = []
        for one in self._tools.registry.names():
            kind = self._tools.registry.get(one)
            if kind is not None and _passes(one, kind.support, name, version, support_status):
                found.append(self._view(one, kind))
        return found

    def type(self, name: str) -> ResourceTypeView:
        if name in RENAMED:
            raise NotSupported(f"{name} is an old name of {RENAMED[name]}: ask for that.")
        kind = self._tools.registry.get(name)
        if kind is None:
            raise EntityNotFound(f"The Resource Type ({name}) could not be found.")
        return self._view(name, kind)

    def type_template(self, name: str, template_type: str) -> Mapping[str, Any]:
        if template_type not in ("cfn", "hot"):
            raise BadRequest(f"Template type is not supported: {template_type}.")
        view = self.type(name)
        written = cfn_template if template_type == "cfn" else hot_template
        return written(name, view.properties, view.attributes)

    def template_versions(self) -> Sequence[Mapping[str, Any]]:
        return languages.versions()

    def template_functions(self, version: str, *, with_conditions: bool) -> Sequence[Mapping[str, Any]]:
        return languages.functions(version, with_conditions=with_conditions)

    async def services(self) -> Sequence[ServiceView]:
        now = self._tools.clock.now()
        return [
            ServiceView(
                id=row.id,
                engine_id=row.engine_id,
                binary="calor-engine",
                host=row.host,
                hostname=row.host,
                topic="engine",
                created_at=row.created_at,
                updated_at=row.updated_at,
                report_interval=row.report_interval,
                is_up=now - row.updated_at <= timedelta(seconds=2 * row.report_interval),
            )
            for row in await queries.services(self._tools.database)
        ]

    def _view(self, name: str, kind: ResourceType[Any]) -> ResourceTypeView:
        return ResourceTypeView(
            name=name,
            support_status=kind.support.status,
            since=kind.support.since,
            description=(kind.__doc__ or "").strip(),
            properties={prop: _property(one) for prop, one in schema(kind).items()},
            attributes={attribute: _attribute(schema) for attribute, schema in attributes_of(kind).items()},
        )


def _passes(name: str, support: Support, pattern: str | None, version: str | None, status: str | None) -> bool:
    if status is None and support.status == "HIDDEN":
        return False
    if status is not None and support.status != status:
        return False
    if version is not None and support.since != version:
        return False
    if pattern is None:
        return True
    try:
        return re.match(pattern, name) is not None
    except re.error:
        return False


def _property(one: PropertySchema) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "type": one.kind.value,
        "required": one.required,
        "update_allowed": one.update_allowed,
        "immutable": one.immutable,
    }
    if one.description:
        entry["description"] = one.description
    if one.default is not None:
        entry["default"] = one.default
    if one.constraints:
        entry["constraints"] = [_constraint(rule) for rule in one.constraints]
    if one.schema:
        entry["schema"] = {name: _property(inner) for name, inner in one.schema.items()}
    return entry


def _constraint(rule: Constraint) -> dict[str, Any]:
    if isinstance(rule, Length | Range):
        bounds = {"min": rule.min, "max": rule.max}
        word = "length" if isinstance(rule, Length) else "range"
        return {word: {name: value for name, value in bounds.items() if value is not None}}
    if isinstance(rule, Modulo):
        return {"modulo": {"step": rule.step, "offset": rule.offset}}
    if isinstance(rule, AllowedValues):
        return {"allowed_values": list(rule.values)}
    if isinstance(rule, Pattern):
        return {"allowed_pattern": rule.regex}
    return {"custom_constraint": rule.name} if isinstance(rule, Custom) else {}


def _attribute(schema: AttributeSchema) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    if schema.kind is not None:
        entry["type"] = schema.kind.value
    if schema.description:
        entry["description"] = schema.description
    return entry
