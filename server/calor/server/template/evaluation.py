"""Evaluates the trees of a model against a scope; lists the resources that a tree uses."""

from collections.abc import Iterator
from typing import Any

from calor.server.template.functions.base import Evaluation, Function
from calor.server.template.model import Reference, Scope, Tree
from calor.server.template.values import LEAVES, MAPS


def resolve(tree: Tree, scope: Scope) -> Any:
    """The tree of a `Model` with every function evaluated. May hold UNKNOWN, `Secret` and `Plain`.

    Raises `InvalidInput` with the place and path of the function that cannot be evaluated.
    """
    return Evaluation(scope=scope).value(tree)


def references(tree: Tree) -> list[Reference]:
    """All uses of resources in a tree of a `Model`, in order, each once."""
    return list(dict.fromkeys(_uses(tree)))


def _uses(tree: Tree) -> Iterator[Reference]:
    if type(tree) in LEAVES:
        return
    if isinstance(tree, Function):
        yield from tree.own_references()
        yield from _uses(tree.args)
    elif isinstance(tree, (list, tuple)):
        for value in tree:
            if type(value) not in LEAVES:
                yield from _uses(value)
    elif isinstance(tree, MAPS):
        for value in tree.values():
            if type(value) not in LEAVES:
                yield from _uses(value)
