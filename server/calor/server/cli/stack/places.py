"""Where a resource is, as ``group/0/install``: nested resources have the same names in each member of a group."""

from collections.abc import Iterable, Mapping
from typing import Any

DEEPEST = 20
"""Levels of nested stacks that are asked for."""


class Places:
    """Of the resources, or the events of resources, of a tree. A nested stack is named by the resource that it is."""

    def __init__(self, shown: Iterable[Mapping[str, Any]]) -> None:
        found = ((nested_of(one), one) for one in shown)
        self._holders = {nested: one for nested, one in found if nested and nested != stack_of(one)}

    def of(self, shown: Mapping[str, Any]) -> str:
        """Of a resource, or an event of one. Where its parent is not among those known, the API may name it. Events of
        a stack itself have the stack's name."""
        if nested_of(shown) == stack_of(shown):
            return str(shown["resource_name"])
        found = self.within(stack_of(shown), shown["resource_name"])
        is_alone, parent = found == shown["resource_name"], shown.get("parent_resource")
        return f"{parent}/{found}" if is_alone and parent else found

    def within(self, stack_id: str | None, name: str) -> str:
        """Of what has a name in one of the tree's stacks."""
        names, holder = [name], self._holders.get(str(stack_id))
        while holder is not None and len(names) <= DEEPEST:
            names.append(holder["resource_name"])
            holder = self._holders.get(stack_of(holder))
        return "/".join(reversed(names))


def stack_of(shown: Mapping[str, Any]) -> str:
    """The id of the stack that a resource or an event is in: from its link."""
    return _linked(shown, "stack")


def nested_of(shown: Mapping[str, Any]) -> str:
    """The id of the stack that a resource is, if it is one; events have it as the physical id only."""
    return _linked(shown, "nested") or str(shown.get("physical_resource_id") or "")


def _linked(shown: Mapping[str, Any], rel: str) -> str:
    links = {one["rel"]: one["href"] for one in shown.get("links", ())}
    return str(links.get(rel, "")).rstrip("/").rpartition("/")[2]
