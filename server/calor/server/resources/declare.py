"""From a dataclass to a property schema and back: how a resource type declares its properties.

    @dataclass(frozen=True, kw_only=True)
    class KeyPairProps:
        name: Annotated[str, Length(1, 255)]
        kind: Annotated[str | None, Alias("type"), AllowedValues("ssh", "x509"), Since("8.0.0")] = None

A field without a default is required. ``str``, ``int``, ``float``, ``bool``, ``tuple[X, ...]``, ``Mapping[str, Any]``,
``Any`` and nested dataclasses give the kinds of Heat; what stands in ``Annotated`` beside them are constraints, a
`Support` and the markers below. A ``tuple[Any, ...]`` is a list without a schema of its items.
"""

import dataclasses
import functools
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from calor.server.resources.base import ResourceType
from calor.server.template.properties import (
    AllowedValues,
    AttributeSchema,
    Constraint,
    Custom,
    Kind,
    Length,
    Modulo,
    Pattern,
    PropertySchema,
    Range,
    Support,
)

T = TypeVar("T")

CONSTRAINTS = (Length, Range, Modulo, AllowedValues, Pattern, Custom)
SCALARS: Mapping[Any, Kind] = {
    str: Kind.STRING,
    int: Kind.INTEGER,
    float: Kind.NUMBER,
    bool: Kind.BOOLEAN,
    Any: Kind.ANY,
}


class Flag:
    """A marker without a value; compared by identity."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


UPDATABLE = Flag("UPDATABLE")
IMMUTABLE = Flag("IMMUTABLE")
NOT_IMPLEMENTED = Flag("NOT_IMPLEMENTED")
UNORDERED = Flag("UNORDERED")
"""A list that is meant as a set: another order of it changes nothing (F123)."""
CONVERTIBLE = Flag("CONVERTIBLE")
"""A value of another kind is turned into text (Heat's ``allow_conversion``)."""


@dataclass(frozen=True)
class Alias:
    """The property's name where it is no identifier, or not one of Python style."""

    name: str


@dataclass(frozen=True)
class Describe:
    """The property's description."""

    text: str


def Since(release: str) -> Support:  # noqa: N802 - reads as a marker
    return Support(since=release)


def Deprecated(since: str | None = None, message: str | None = None) -> Support:  # noqa: N802
    return Support(status="DEPRECATED", since=since, message=message)


def Hidden(since: str | None = None, message: str | None = None) -> Support:  # noqa: N802
    return Support(status="HIDDEN", since=since, message=message)


Reader = Callable[[Any], Any]
"""Makes a plain value what a field holds."""


@dataclass(frozen=True)
class Described:
    """What is known of a properties dataclass: by property name its field, how its values are read, its schema."""

    fields: Mapping[str, "dataclasses.Field[Any]"]
    readers: Mapping[str, Reader | None]
    schema: Mapping[str, PropertySchema]


def _describe(props: type[Any]) -> Described:
    resolved = get_type_hints(props, include_extras=True)
    fields, hints = {}, {}
    for field in dataclasses.fields(props):
        _, marks = _unwrap(resolved[field.name])
        name = next((mark.name for mark in marks if isinstance(mark, Alias)), field.name)
        fields[name], hints[name] = field, resolved[field.name]
    schema = {name: _schema(hints[name], field) for name, field in fields.items()}
    readers = {name: _reader(hint) for name, hint in hints.items()}
    return Described(types.MappingProxyType(fields), readers, types.MappingProxyType(schema))


described = cast(Callable[[type[Any]], Described], functools.cache(_describe))


def schema_of(props: type[Any]) -> Mapping[str, PropertySchema]:
    """The schema that a properties dataclass declares, by property name."""
    return described(props).schema


def construct(props: type[T], values: Mapping[str, Any]) -> T:
    """A typed instance from plain values by property name (already converted by the schema).

    Absent and None mean the default; a required property that is absent is None (it may refer to what is not there
    yet). Keys that are no properties (of an older version, in a stored row) are left out.
    """
    known = described(props)
    given = {}
    for name, field in known.fields.items():
        value = values.get(name)
        if value is not None:
            reader = known.readers[name]
            given[field.name] = value if reader is None else reader(value)
        elif _required(field):
            given[field.name] = None
    return props(**given)


def plain(value: Any) -> Any:
    """The reverse of `construct`: mappings and lists by property name, without what is None."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        pairs = ((name, getattr(value, field.name)) for name, field in described(type(value)).fields.items())
        return {name: plain(item) for name, item in pairs if item is not None}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def attributes(**schemas: AttributeSchema | Kind | None) -> Mapping[str, AttributeSchema]:
    """A type's attributes; a bare kind is a cached attribute of that kind."""
    return types.MappingProxyType(
        {
            name: schema if isinstance(schema, AttributeSchema) else AttributeSchema(kind=schema)
            for name, schema in schemas.items()
        }
    )


SHOW = AttributeSchema(kind=Kind.MAP, cached=False, description="All that the service says about it.")


def attributes_of(kind: ResourceType[Any] | type[ResourceType[Any]]) -> Mapping[str, AttributeSchema]:
    """A type's attributes with ``show``, which each type has."""
    return {**kind.attributes, "show": SHOW}


def _schema(hint: Any, field: "dataclasses.Field[Any] | None") -> PropertySchema:
    bare, marks = _unwrap(hint)
    kind, inner = _kind(bare)
    constraints: tuple[Constraint, ...] = tuple(mark for mark in marks if isinstance(mark, CONSTRAINTS))
    return PropertySchema(
        kind=kind,
        required=field is not None and _required(field),
        default=None if field is None else _default(field),
        description=next((mark.text for mark in marks if isinstance(mark, Describe)), ""),
        update_allowed=UPDATABLE in marks,
        immutable=IMMUTABLE in marks,
        implemented=NOT_IMPLEMENTED not in marks,
        allow_conversion=CONVERTIBLE in marks,
        unordered=UNORDERED in marks,
        constraints=constraints,
        schema=inner,
        support=next((mark for mark in marks if isinstance(mark, Support)), Support()),
    )


def _kind(bare: Any) -> tuple[Kind, Mapping[str, PropertySchema] | None]:
    if bare in SCALARS:
        return SCALARS[bare], None
    if dataclasses.is_dataclass(bare):
        return Kind.MAP, schema_of(bare)  # type: ignore[arg-type]  # a hint is a class, never an instance
    origin = get_origin(bare) or bare
    if origin is tuple:
        item = get_args(bare)[0]
        return Kind.LIST, None if item is Any else {"*": _schema(item, None)}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return Kind.MAP, None
    raise TypeError(f"{bare!r} is no kind of property")


def _unwrap(hint: Any) -> tuple[Any, Sequence[Any]]:
    """The type without ``Annotated`` and ``| None``, and the marks."""
    if get_origin(hint) is Annotated:
        bare, *marks = get_args(hint)
        inner, more = _unwrap(bare)
        return inner, (*marks, *more)
    if get_origin(hint) in (Union, types.UnionType):
        (present,) = (choice for choice in get_args(hint) if choice is not types.NoneType)
        return _unwrap(present)
    return hint, ()


def _reader(hint: Any) -> Reader | None:
    """None for what is taken as it is; so is a value of another kind than the hint's."""
    bare, _ = _unwrap(hint)
    if dataclasses.is_dataclass(bare):
        return lambda value: construct(bare, value) if isinstance(value, Mapping) else value  # type: ignore[arg-type]
    if get_origin(bare) is not tuple:
        return None
    item = _reader(get_args(bare)[0])
    if item is None:
        return lambda value: tuple(value) if isinstance(value, list | tuple) else value
    return lambda value: tuple(map(item, value)) if isinstance(value, list | tuple) else value


def _required(field: "dataclasses.Field[Any]") -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _default(field: "dataclasses.Field[Any]") -> Any:
    if field.default is not dataclasses.MISSING:
        return plain(field.default)
    if field.default_factory is not dataclasses.MISSING:
        return plain(field.default_factory())
    return None
