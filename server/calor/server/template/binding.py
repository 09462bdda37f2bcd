"""Template + environment + given values → model."""

from collections.abc import Mapping
from typing import Any

from calor.server.template.environment import Environment
from calor.server.template.model import Model, Pseudo, Template


def bind(
    template: Template,
    environment: Environment | None = None,
    given: Mapping[str, Any] | None = None,
    *,
    pseudo: Pseudo | None = None,
    files: Mapping[str, str] | None = None,
    allow_missing: bool = False,
) -> Model:
    """Resolve the parameters, evaluate the conditions, drop what they disable, evaluate what needs no resource.

    ``given`` (the request's parameters) wins over the environment's. ``allow_missing`` is for ``template
    validate``: parameters without a value are UNKNOWN. Raises `InvalidInput` with all problems.
    """
    raise NotImplementedError
