"""What the stack that a resource is will be drawn from. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calor.server.engine.revision.blueprint import Blueprint
from calor.server.resources.base import Nested
from calor.server.template import Environment, has_unknown, parse_environment


def surroundings(blueprint: Blueprint, name: str, nested: Nested) -> tuple[Environment, Mapping[str, str]]:
    """Environment and files: those that the type says, else what the stack above has for it."""
    inner = blueprint.model.environment.nested(name)
    if nested.environment is not None:
        inner = replace(parse_environment(nested.environment), allowed=inner.allowed)
    return inner, blueprint.files if nested.files is None else nested.files


def known(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Those with a value; one that is not known yet has none."""
    return {key: value for key, value in parameters.items() if value is not None and not has_unknown(value)}
