"""The one model that every front end gives. Nothing downstream knows which language it was written in.

A *tree* is nested dicts, lists and scalars in which `functions.Function` objects stand for calls. In a
`Template` the trees are as written; in a `Model` (made by `bind`) everything that does not depend on other
resources is evaluated already, so that only ``get_resource``, ``get_attr`` and what is built on them is left.
"""

import enum
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from calor.server.errors import Problem
from calor.server.template.environment import Environment
from calor.server.template.properties import Constraint
from calor.server.template.source import Source
from calor.server.template.values import UNKNOWN, plain

Tree = Any


@dataclass(frozen=True)
class Names:
    """What a template declares, for checking references as they are parsed."""

    parameters: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()
    conditions: frozenset[str] = frozenset()


class ParameterKind(enum.Enum):
    STRING = "string"
    NUMBER = "number"
    LIST = "comma_delimited_list"
    JSON = "json"
    BOOLEAN = "boolean"


class DeletionPolicy(enum.Enum):
    DELETE = "Delete"
    RETAIN = "Retain"
    SNAPSHOT = "Snapshot"


@dataclass(frozen=True, kw_only=True)
class ParameterConstraint:
    rule: Constraint
    description: str = ""


@dataclass(frozen=True, kw_only=True)
class ParameterSchema:
    """A declared parameter. ``default`` counts only with ``has_default``. ``is_broken``: its declaration is wrong,
    which was told; its value is not known."""

    name: str
    kind: ParameterKind
    type_name: str  # as the language writes it: "comma_delimited_list", "CommaDelimitedList"
    default: Any = None
    has_default: bool = False
    description: str = ""
    label: str = ""
    hidden: bool = False
    immutable: bool = False
    constraints: tuple[ParameterConstraint, ...] = ()
    tags: tuple[str, ...] = ()
    is_broken: bool = False


@dataclass(frozen=True, kw_only=True)
class ParameterGroup:
    label: str = ""
    description: str = ""
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ResourceDefinition:
    """A resource as the template defines it; its trees are resolved with `resolve`."""

    name: str
    type: str
    properties: Mapping[str, Tree] = field(default_factory=dict)
    metadata: Mapping[str, Tree] = field(default_factory=dict)
    depends_on: tuple[str, ...] = ()
    update_policy: Mapping[str, Tree] = field(default_factory=dict)
    deletion_policy: Tree = DeletionPolicy.DELETE  # in a Model always a DeletionPolicy
    external_id: Tree = None
    description: str = ""
    condition: Tree = None


@dataclass(frozen=True, kw_only=True)
class OutputDefinition:
    name: str
    value: Tree = None
    description: str = ""
    condition: Tree = None


@dataclass(frozen=True, kw_only=True)
class Template:
    """A parsed template."""

    language: str  # "heat_template_version", "AWSTemplateFormatVersion" …
    version: str  # "2018-08-31"; release names are turned into dates
    description: str
    parameters: Mapping[str, ParameterSchema]
    parameter_groups: tuple[ParameterGroup, ...]
    resources: Mapping[str, ResourceDefinition]
    outputs: Mapping[str, OutputDefinition]
    conditions: Mapping[str, Tree]
    source: Source
    names: Names
    mappings: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[Problem, ...] = ()
    faults: tuple[Problem, ...] = ()
    """What is wrong with it, of a template that was read leniently: to bind it tells them."""

    @functools.cached_property
    def raw(self) -> Mapping[str, Any]:
        """The plain mapping that ``stack template`` shows."""
        return plain(self.source.root)  # type: ignore[no-any-return]  # a mapping's copy is one

    def path(self, section: str, *rest: str | int) -> tuple[str | int, ...]:
        """A path as the text writes it: CloudFormation's sections, and the keys of a resource, begin with capitals."""
        if self.language == "heat_template_version":
            return (section, *rest)
        name, key = rest[:1], rest[1:2]
        words = "".join(word.capitalize() for word in str(key[0]).split("_")) if key else ""
        return (section.capitalize(), *name, *((words,) if key else ()), *rest[2:])


class Origin(enum.Enum):
    """Where an effective parameter value comes from."""

    GIVEN = "given"
    ENVIRONMENT = "environment"
    PARAMETER_DEFAULTS = "parameter_defaults"
    DEFAULT = "default"
    PSEUDO = "pseudo"


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One effective parameter. ``value`` is as functions see it (a `Secret` when hidden); ``shown`` is the text
    that a stack shows (``******`` when hidden); ``written`` is as somebody gave it."""

    name: str
    value: Any
    shown: Any
    origin: Origin
    written: Any = field(default=None, repr=False)
    schema: ParameterSchema | None = None  # None for pseudo parameters


@dataclass(frozen=True, kw_only=True)
class Pending:
    """A custom constraint that only somebody with a cloud can check (``nova.flavor`` …)."""

    constraint: str
    value: Any
    path: tuple[str | int, ...]
    description: str = ""


@dataclass(frozen=True, kw_only=True)
class Pseudo:
    """Values of the pseudo parameters. ``facade`` are the facts of the parent's resource, for resource_facade."""

    stack_id: str = ""
    stack_name: str = ""
    project_id: str = ""
    region: str | None = None
    availability_zones: tuple[str, ...] = ("nova",)
    facade: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Model:
    """A template bound to its values: parameters resolved, conditions evaluated, disabled parts removed."""

    template: Template
    environment: Environment
    parameters: Mapping[str, Parameter]  # declared and pseudo
    conditions: Mapping[str, bool]
    resources: Mapping[str, ResourceDefinition]  # the enabled ones, in template order
    outputs: Mapping[str, OutputDefinition]  # the enabled ones
    disabled: frozenset[str] = frozenset()  # resources whose condition is false
    undecided: frozenset[str] = frozenset()  # in neither: their condition is not known, or their definition is wrong
    pending: tuple[Pending, ...] = ()  # custom constraints of parameters
    warnings: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class Reference:
    """One use of a resource: ``path`` is None for get_resource, else the get_attr path (empty: all attributes).

    ``dynamic`` says that the path goes on with parts that depend on other resources: fetch what is given.
    """

    resource: str
    path: tuple[Any, ...] | None = None
    dynamic: bool = False


class Scope(Protocol):
    """What other resources answer. Both may answer UNKNOWN; None is the answer of what is not there."""

    def reference(self, name: str) -> Any: ...
    def attribute(self, name: str, path: Sequence[Any]) -> Any:
        """The attribute ``path[0]`` with the rest of the path applied; the empty path asks for all attributes."""
        ...


class NothingKnown:
    """The scope before anything exists: every answer is UNKNOWN."""

    def reference(self, name: str) -> Any:
        return UNKNOWN

    def attribute(self, name: str, path: Sequence[Any]) -> Any:
        return UNKNOWN
