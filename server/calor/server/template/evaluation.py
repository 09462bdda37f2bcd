"""Evaluates trees: partially when bound, fully against a scope; lists the resources a tree uses."""

from typing import Any

from calor.server.template.model import Reference, Scope, Tree


def resolve(tree: Tree, scope: Scope) -> Any:
    """The tree of a `Model` with every function evaluated. May hold UNKNOWN, `Secret` and `Plain`.

    Raises `StackValidationFailed` with the path of the function that cannot be evaluated.
    """
    raise NotImplementedError


def references(tree: Tree) -> list[Reference]:
    """All uses of resources in a tree, in order, each once."""
    raise NotImplementedError
