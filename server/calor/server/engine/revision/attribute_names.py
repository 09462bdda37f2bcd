"""Attributes that a template asks for and their types do not have. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from calor.server.errors import Problem
from calor.server.resources.base import ResourceType
from calor.server.resources.declare import attributes_of
from calor.server.template import UNKNOWN, Model, references
from calor.server.template.nearest import did_you_mean
from calor.server.template.source import Path


def unknown_attributes(model: Model, kinds: Mapping[str, ResourceType[Any]]) -> Iterator[Problem]:
    """As far as names are written in the template; types whose attributes come from their properties say nothing."""
    places: list[tuple[Path, Any]] = []
    path = model.template.path
    for name, definition in model.resources.items():
        places.append((path("resources", name, "properties"), definition.properties))
        places.append((path("resources", name, "metadata"), definition.metadata))
        places.append((path("resources", name, "update_policy"), definition.update_policy))
    places.extend((path("outputs", name, "value"), output.value) for name, output in model.outputs.items())
    for place, tree in places:
        for use in references(tree):
            kind = kinds.get(use.resource)
            if kind is None or kind.any_attributes or not use.path or use.path[0] is UNKNOWN:
                continue
            known, name = attributes_of(kind), use.path[0]
            if not isinstance(name, str) or name not in known:
                message = (
                    f"The resource {use.resource!r} ({kind.name}) has no attribute {name!r}"
                    f"{did_you_mean(str(name), known)}; known are {', '.join(sorted(known))}."
                )
                yield model.template.source.problem(message, place, code="unknown-attribute")
