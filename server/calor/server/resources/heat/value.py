"""OS::Heat::Value and OS::Heat::None: resources that exist in the stack only."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from calor.server.resources.base import Context, ResourceFailed, ResourceType
from calor.server.resources.declare import UPDATABLE, Alias, attributes
from calor.server.template.properties import AllowedValues, Support

TYPES = ("string", "number", "comma_delimited_list", "json", "boolean")
TRUE = frozenset({"t", "true", "on", "y", "yes", "1"})
FALSE = frozenset({"f", "false", "off", "n", "no", "0"})


@dataclass(frozen=True, kw_only=True)
class ValueProps:
    value: Annotated[Any, UPDATABLE]
    kind: Annotated[str | None, Alias("type"), AllowedValues(*TYPES), UPDATABLE] = None


def number(value: Any) -> int | float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    try:
        return int(str(value))
    except ValueError:
        return float(str(value))


def boolean(value: Any) -> bool:
    text = str(value).strip().lower()
    if text in TRUE | FALSE:
        return text in TRUE
    raise ValueError(f"{value!r} is no boolean")


def items(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return list(value)
    return [part.strip() for part in str(value).split(",")] if value != "" else []


def document(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, Mapping | list | bool) else str(value)


CONVERSIONS = {"string": text, "number": number, "comma_delimited_list": items, "json": document, "boolean": boolean}


class Value(ResourceType[ValueProps]):
    """Keeps a value under a name."""

    name, props = "OS::Heat::Value", ValueProps
    support = Support(since="7.0.0")
    pure = instant = True
    attributes = attributes(value=None)

    async def create(self, at: Context, want: ValueProps) -> str:
        convert(want)
        return at.me.physical_name

    async def update(self, at: Context, want: ValueProps, was: ValueProps, changed: frozenset[str]) -> None:
        convert(want)

    async def attribute(self, at: Context, was: ValueProps, name: str) -> Any:
        return convert(was)


def convert(want: ValueProps) -> Any:
    """The value as the type asked for. Raises `ResourceFailed`."""
    if want.kind is None:
        return want.value
    try:
        return CONVERSIONS[want.kind](want.value)
    except ValueError as exc:
        raise ResourceFailed(f"The value cannot be read as {want.kind}: {exc}") from exc


@dataclass(frozen=True, kw_only=True)
class NoneProps:
    """Takes any property."""


class Nothing(ResourceType[NoneProps]):
    """Stands in for a type that is switched off: any property, any attribute (null)."""

    name, props = "OS::Heat::None", NoneProps
    support = Support(since="5.0.0")
    pure = instant = True
    any_properties = True
    any_attributes = True

    async def create(self, at: Context, want: NoneProps) -> str:
        return at.me.physical_name

    async def update(self, at: Context, want: NoneProps, was: NoneProps, changed: frozenset[str]) -> None:
        """Nothing is kept, so nothing changes."""

    async def attribute(self, at: Context, was: NoneProps, name: str) -> None:
        return None
