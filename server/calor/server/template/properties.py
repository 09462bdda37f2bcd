"""The vocabulary of property schemas: types, constraints, update rules, support status.

One vocabulary serves resource properties, attributes and template parameters. The meaning of each word is
Heat's (reference/resource-types.json, ``defaults``).
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class Kind(enum.Enum):
    """The type of a property or attribute, by Heat's names."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    LIST = "list"
    MAP = "map"
    ANY = "any"


@dataclass(frozen=True)
class Length:
    """Text, list or map with ``min`` to ``max`` characters or items."""

    min: int | None = None
    max: int | None = None


@dataclass(frozen=True)
class Range:
    min: float | None = None
    max: float | None = None


@dataclass(frozen=True)
class Modulo:
    step: int
    offset: int = 0


@dataclass(frozen=True, init=False)
class AllowedValues:
    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        object.__setattr__(self, "values", values)


@dataclass(frozen=True)
class Pattern:
    """A regular expression that must match at the start of the text and to its end, as in Heat."""

    regex: str


@dataclass(frozen=True)
class Custom:
    """A constraint checked by name: locally (``ip_addr``, ``cron_expression`` …) or by asking the cloud
    (``nova.flavor``, ``neutron.network`` …)."""

    name: str


Constraint = Length | Range | Modulo | AllowedValues | Pattern | Custom


@dataclass(frozen=True)
class Support:
    """Heat's support status of a property, attribute or type."""

    status: str = "SUPPORTED"
    since: str | None = None
    message: str | None = None


@dataclass(frozen=True, kw_only=True)
class PropertySchema:
    """One property. ``schema`` maps the keys of a map; a list has the key ``*`` for its items."""

    kind: Kind
    required: bool = False
    default: Any = None
    description: str = ""
    update_allowed: bool = False
    immutable: bool = False
    implemented: bool = True
    allow_conversion: bool = False
    unordered: bool = False  # a list that is meant as a set: in another order it is the same
    constraints: tuple[Constraint, ...] = ()
    schema: Mapping[str, "PropertySchema"] | None = None
    support: Support = field(default_factory=Support)


@dataclass(frozen=True, kw_only=True)
class AttributeSchema:
    """One attribute. ``cached`` is false where Heat asks the cloud each time."""

    kind: Kind | None = None
    description: str = ""
    cached: bool = True
    support: Support = field(default_factory=Support)
