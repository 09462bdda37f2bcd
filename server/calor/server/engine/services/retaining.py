"""Deleting a stack without some of its resources: they are forgotten, and the cloud keeps them (F031)."""

from collections.abc import Sequence

from calor.server.engine.contract.views import Retained
from calor.server.engine.durable.tree import Tree
from calor.server.errors import BadRequest, Conflict
from calor.server.store.rows import ResourceRow
from calor.server.store.states import Action, Status


async def mark(tree: Tree, names: Sequence[str]) -> list[Retained]:
    """Make the deletion that comes forget these resources. Nested ones are named ``PARENT/NAME``.

    Raises `Conflict` unless a deletion has failed before, `BadRequest` for a name that is none.
    """
    root = tree.root
    if names and (root.action, root.status) != (Action.DELETE, Status.FAILED):
        raise Conflict(
            f"Resources can be retained once the deletion of a stack has failed; {root.name} is "
            f"{root.action.value}_{root.status.value}."
        )
    found = {name: _rows(tree, name) for name in dict.fromkeys(names)}  # all are known before the first is marked
    for rows in found.values():
        for row in rows:
            await tree.change(row.id, deletion_policy="Retain")
    return [
        Retained(name=name, type=row.type, physical_id=row.physical_id) for name, rows in found.items() for row in rows
    ]


def _rows(tree: Tree, name: str) -> list[ResourceRow]:
    """All incarnations of a resource."""
    stack_id, *parents, last = (tree.root.id, *name.split("/"))
    for parent in parents:
        child = next((row.child_id for row in tree.named(stack_id, parent) if row.child_id is not None), None)
        if child is None:
            raise BadRequest(f"{name}: {parent} is no nested stack.")
        stack_id = child
    rows = list(tree.named(stack_id, last))
    if not rows:
        known = sorted({row.name for row in tree.rows_of(stack_id)})
        raise BadRequest(f"There is no resource {name} left to retain; there are {', '.join(known) or 'none'}.")
    nested = next((row for row in rows if row.child_id is not None), None)
    if nested is not None:
        inside = sorted({f"{name}/{row.name}" for row in tree.rows_of(str(nested.child_id))})
        left = f"name the resources in it that are to be kept, of {', '.join(inside)}" if inside else "it is empty"
        raise BadRequest(f"{name} is a nested stack, which cannot be kept as a whole: {left}.")
    return rows
