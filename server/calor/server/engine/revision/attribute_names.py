"""Attributes that a template asks for and their types do not have. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from calor.server.errors import Problem
from calor.server.resources.base import ResourceType
from calor.server.resources.declare import attributes_of
from calor.server.template import Model, references
from calor.server.template.nearest import did_you_mean
from calor.server.template.source import Path


def unknown_attributes(model: Model, kinds: Mapping[str, ResourceType[Any]]) -> Iterator[Problem]:
    """As far as names are written in the template; types whose attributes come from their properties say nothing."""
    places: list[tuple[Path, Any]] = []
    path = model.template.path
    for name, definition in model.resources.items():
        places.append((path("resources", name, "properties"), definition.properties))
        places.append((path("resources", name, "metadata"), definition.metadata))
    places.extend((path("outputs", name, "value"), output.value) for name, output in model.outputs.items())
    for place, tree in places:
        for use in references(tree):
            kind = kinds.get(use.resource)
            if kind is None or kind.any_attributes or not use.path or not isinstance(use.path[0], str):
                continue
            known = attributes_of(kind)
            if use.path[0] not in known:
                message = (
                    f"The resource {use.resource!r} ({kind.name}) has no attribute {use.path[0]!r}"
                    f"{did_you_mean(use.path[0], known)}; known are {', '.join(sorted(known))}."
                )
                yield model.template.source.problem(message, place, code="unknown-attribute")
