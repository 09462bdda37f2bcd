"""Where a resource is, as ``group/0/install``: nested resources have the same names in each member of a group."""

from collections.abc import Iterable, Mapping
from typing import Any

from calor.server.cli.api_fault import Fault
from calor.server.cli.patience import Reader

DEEPEST = 20
"""Levels of nested stacks that are asked for."""


class Places:
    """Of the resources, or the events of resources, of a tree. A nested stack is named by the resource that it is."""

    def __init__(self, shown: Iterable[Mapping[str, Any]] = ()) -> None:
        self._holders: dict[str, Mapping[str, Any]] = {}
        self.learn(shown)

    def learn(self, shown: Iterable[Mapping[str, Any]]) -> None:
        """Know these too. What is known stays, as a nested stack keeps its name while it is being deleted."""
        found = ((nested_of(one), one) for one in shown)
        self._holders |= {nested: one for nested, one in found if nested and nested != stack_of(one)}

    def knows(self, stack_id: str) -> bool:
        """Whether it is among the nested stacks."""
        return stack_id in self._holders

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


class GrowingPlaces(Places):
    """Of a tree that grows: what is nested in it is asked for where something in it prints."""

    def __init__(self, client: Reader, path: str) -> None:
        super().__init__()
        self._client = client
        self._path = path
        self._asked = {path.rpartition("/")[2]}

    def of_piece(self, piece: Mapping[str, Any]) -> str:
        """Of what printed a piece of output; in a nested stack that is gone, with the name of that."""
        ident, name = piece["stack_id"], str(piece["resource_name"])
        if ident is not None and not self.knows(ident) and ident not in self._asked:
            self._asked.add(ident)
            self.learn(self._resources())
        if ident is None or ident == self._path.rpartition("/")[2] or self.knows(ident):
            return self.within(ident, name)
        return f"{piece['stack_name']}/{name}"

    def _resources(self) -> Iterable[Mapping[str, Any]]:
        try:
            found: list[Mapping[str, Any]] = self._client.get(f"{self._path}/resources", nested_depth=DEEPEST)[
                "resources"
            ]
        except Fault as fault:
            if fault.status != 404:
                raise
            return ()  # deleted: what it printed is there still
        return found


def stack_of(shown: Mapping[str, Any]) -> str:
    """The id of the stack that a resource or an event is in: from its link."""
    return _linked(shown, "stack")


def nested_of(shown: Mapping[str, Any]) -> str:
    """The id of the stack that a resource is, if it is one; events have it as the physical id only."""
    return _linked(shown, "nested") or str(shown.get("physical_resource_id") or "")


def _linked(shown: Mapping[str, Any], rel: str) -> str:
    links = {one["rel"]: one["href"] for one in shown.get("links", ())}
    return str(links.get(rel, "")).rstrip("/").rpartition("/")[2]
