"""A child stack as the attributes of the resource that owns it see it."""

from collections.abc import Sequence
from typing import Any

from calor.server.engine.reconcile import attributes
from calor.server.engine.reconcile.bench import Bench
from calor.server.engine.revision.kinds import typed
from calor.server.engine.revision.scope import follow, reference_of
from calor.server.errors import BadRequest
from calor.server.store.states import Action


class ChildView:
    """A child stack as the attributes of its resource see it."""

    def __init__(self, bench: Bench) -> None:
        self._stack_id = bench.stack_id
        self._bench = bench
        for row in bench.tree.rows_of(bench.stack_id):
            if row.action is not Action.DELETE:
                self._bench.current[row.name] = row

    @property
    def stack_id(self) -> str:
        return self._stack_id

    def arn(self) -> str:
        stack = self._bench.stack
        return f"arn:openstack:heat::{stack.project_id}:stacks/{stack.name}/{stack.id}"

    async def output(self, name: str) -> Any:
        """Raises `BadRequest` for an output that could not be had."""
        for item in self._bench.tools.sealing.value(self._bench.stack.outputs) or ():
            if item["name"] != name:
                continue
            if item.get("error"):
                raise BadRequest(f"Error in the nested stack's output {name}: {item['error']}")
            return item.get("value")
        return None

    def members(self) -> Sequence[str]:
        return [name for name in self._bench.blueprint.model.resources if name in self._bench.current]

    async def reference(self, member: str) -> Any:
        row, kind = self._bench.current.get(member), self._bench.blueprint.kinds.get(member)
        if row is None or kind is None:
            return None
        known = self._bench.tools.sealing.value(row.attributes) or {}
        return reference_of(kind, row, self._bench.stack.name, known)

    async def attribute(self, member: str, *path: Any) -> Any:
        row, kind = self._bench.current.get(member), self._bench.blueprint.kinds.get(member)
        if row is None or kind is None:
            return None
        stored = self._bench.scope.attribute(member, path)
        if stored is not None:
            return stored
        want = typed(kind, self._bench.tools.sealing.value(row.properties or row.pending) or {})
        at = self._bench.context(row, kind)
        found = await attributes.fetched(self._bench, kind, at, row, want, [tuple(path)])
        for fault in found.get("faults", {}).values():
            raise BadRequest(fault)
        if kind.is_nested:
            return next(iter(found.get("paths", {}).values()), None)
        return follow(found.get("names", {}).get(str(path[0])) if path else found.get("names"), path[1:])
