"""Property values → what a resource sees: defaults, conversion by type, constraints."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calor.server.errors import Problem
from calor.server.template.model import Pending
from calor.server.template.properties import PropertySchema
from calor.server.template.source import Path, Source


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """``values`` has every key of the schema (None where unset); UNKNOWN passes every check; a `Secret` stays one."""

    values: Mapping[str, Any]
    problems: tuple[Problem, ...] = ()
    pending: tuple[Pending, ...] = ()


def convert(
    schemas: Mapping[str, PropertySchema],
    values: Mapping[str, Any],
    *,
    path: Path = (),
    source: Source | None = None,
) -> Conversion:
    """Convert resolved property values by their schemas. Collects all problems; raises nothing."""
    raise NotImplementedError
