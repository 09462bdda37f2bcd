"""Comparing property values of a template before they are resolved."""

from collections.abc import Mapping
from typing import Any

from calor.server.template import references


def is_same(one: Any, other: Any) -> bool:
    """Do two values say the same? Functions do when name and arguments do."""
    return one is not None and frozen(one) == frozen(other)


def resource_named(value: Any) -> str | None:
    """The resource of which ``value`` is the reference id (``get_resource``), else None."""
    if isinstance(value, Mapping):
        name = value.get("get_resource")
        return name if isinstance(name, str) and len(value) == 1 else None
    found = references(value)
    return found[0].resource if len(found) == 1 and found[0].path is None else None


def frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        if len(value) == 1:
            ((name, args),) = value.items()
            return (name, frozen(args))
        return tuple(sorted((str(key), repr(frozen(item))) for key, item in value.items()))
    if isinstance(value, list | tuple):
        return tuple(frozen(item) for item in value)
    if hasattr(value, "args") and hasattr(value, "name"):
        return (value.name, frozen(value.args))
    return getattr(value, "text", value)
