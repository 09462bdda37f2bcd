"""The keys that maps in the properties of a resource type have by its schema."""

import functools
from collections.abc import Iterator, Mapping

from calor.server.resources.declare import schema_of
from calor.server.resources.registry import installed
from calor.server.template.properties import PropertySchema


@functools.cache
def keys_in_properties(type_name: str) -> frozenset[str]:
    """At any depth; nothing of a type that is not known here."""
    kind = installed().get(type_name)
    return frozenset() if kind is None else frozenset(_keys(schema_of(kind.props)))


def _keys(schemas: Mapping[str, PropertySchema]) -> Iterator[str]:
    for name, schema in schemas.items():
        yield name
        yield from _keys(schema.schema or {})
