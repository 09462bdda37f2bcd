"""Heat's previews: what a create call would make, and what an update would change. Nothing is stored.

Shapes are Heat's (api-cases.json, ``previews``): a nested stack stands in the list of resources as the list of its
own; what has no row yet is INIT_COMPLETE, without times and without a physical id.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from calor.server.engine.planning.inside import asked, drawn, unborn
from calor.server.engine.reconcile.deciding import known_step
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.revision.blueprint import Blueprint, converted
from calor.server.engine.revision.revisions import Blueprints
from calor.server.engine.revision.scope import StoredScope
from calor.server.errors import CalorError
from calor.server.plan import Action as Do
from calor.server.resources.base import ResourceType
from calor.server.store import queries
from calor.server.store.rows import ResourceRow, StackRow
from calor.server.template import NothingKnown, mask, plain

HIDDEN = "******"
NO_ID = "None"
"""How Heat writes the id of a stack that there is not."""
PLACES = {Do.CREATE: "added", Do.REPLACE: "replaced", Do.NONE: "unchanged", Do.UPDATE: "updated"}
GROUPS = ("added", "deleted", "replaced", "unchanged", "updated")

Entry = dict[str, Any]


class Previews:
    def __init__(self, tools: Tools, blueprints: Blueprints) -> None:
        self._tools = tools
        self._blueprints = blueprints

    def of_create(self, stack: StackRow, blueprint: Blueprint) -> Mapping[str, Any]:
        """``stack`` has the id `NO_ID`."""
        return {
            "id": stack.id,
            "stack_name": stack.name,
            "description": stack.description or "No description",
            "template_description": stack.description or "No description",
            "disable_rollback": stack.disable_rollback,
            "timeout_mins": stack.timeout_mins,
            "parameters": {name: parameter.shown for name, parameter in blueprint.model.parameters.items()},
            "resources": self._resources(stack, blueprint, None, 0),
            "tags": list(stack.tags),
            "capabilities": [],
            "notification_topics": [],
            "parent": None,
            "stack_owner": stack.user_name,
            "stack_user_project_id": None,
            "creation_time": None,
            "updated_time": None,
            "deletion_time": None,
            "stack_identity": _identity(stack, ""),
        }

    def _resources(self, stack: StackRow, blueprint: Blueprint, parent: str | None, depth: int) -> list[Any]:
        """Entries; of a resource that is a stack, the list of those in it, as far as they are known."""
        found: list[Any] = []
        for name in blueprint.model.resources:
            kind = blueprint.kinds[name]
            values = converted(blueprint, name, NothingKnown())[0]
            child = self._child(stack, blueprint, name, kind, values, depth) if kind.is_nested else None
            if child is not None:
                found.append(self._resources(*child, name, depth + 1))
                continue
            entry = _entry(stack, name, blueprint) | {"properties": mask(values, HIDDEN)}
            found.append(entry if parent is None else entry | {"parent_resource": parent})
        return found

    def _child(
        self,
        stack: StackRow,
        blueprint: Blueprint,
        name: str,
        kind: ResourceType[Any],
        values: Mapping[str, Any],
        depth: int,
    ) -> tuple[StackRow, Blueprint] | None:
        if depth >= self._tools.settings.max_nested_stack_depth:
            return None
        try:
            nested = asked(kind, name, values)
            if nested is None:
                return None
            child = replace(unborn(stack, name), id=stack.id)
            return child, drawn(self._blueprints, self._tools.sealing, child, blueprint, name, None, nested)
        except CalorError:  # what is wrong inside was told when the request was checked, or is known after create
            return None

    async def of_update(
        self, stack: StackRow, blueprint: Blueprint, *, show_nested: bool
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Heat's five groups, by the same planner that the update uses. With ``show_nested``, those of all stacks."""
        database, stacks = self._tools.database, dict[str, StackRow]()
        if show_nested:
            stacks = {row.id: row for row in await queries.tree(database, stack.root_id)}
            rows = await queries.tree_resources(database, stack.root_id)
        else:
            rows = await queries.stack_resources(database, stack.id)
        groups: dict[str, list[Entry]] = {name: [] for name in GROUPS}
        self._compare(stack, blueprint, _Known(stacks, rows), groups, 0)
        return groups

    def _compare(
        self, stack: StackRow, blueprint: Blueprint, known: "_Known", groups: dict[str, list[Entry]], depth: int
    ) -> None:
        current = known.of(stack)
        scope = StoredScope(stack.name, blueprint.kinds, current, self._tools.sealing)
        for name, definition in blueprint.model.resources.items():
            row, kind = current.get(name), blueprint.kinds[name]
            values = plain(converted(blueprint, name, scope)[0])
            entry = _entry(stack, name, blueprint)
            if row is None:
                groups["added"].append(entry)
            else:
                step = known_step(self._tools.sealing, kind, row, definition.type, values)
                groups[PLACES[step.action]].append(entry | (self._as_row(row) if step.action is Do.UPDATE else {}))
            if known.stacks and kind.is_nested:
                self._compare_child(stack, blueprint, name, values, known, groups, depth)
        for name, row in current.items():
            if name not in blueprint.kinds:
                groups["deleted"].append(_bare(stack, name, row.type) | self._as_row(row))

    def _compare_child(
        self,
        stack: StackRow,
        blueprint: Blueprint,
        name: str,
        values: Mapping[str, Any],
        known: "_Known",
        groups: dict[str, list[Entry]],
        depth: int,
    ) -> None:
        row = known.of(stack).get(name)
        there = known.stacks.get(row.child_id or "") if row is not None else None
        if there is None:
            child = self._child(stack, blueprint, name, blueprint.kinds[name], values, depth)
            if child is not None:
                self._compare(*child, known, groups, depth + 1)
            return
        try:
            nested = asked(blueprint.kinds[name], name, values, row, None, list(known.of(there)))
            if nested is None:
                return
            inner = drawn(self._blueprints, self._tools.sealing, there, blueprint, name, row, nested)
        except CalorError:  # as for a child that is not there yet
            return
        self._compare(there, inner, known, groups, depth + 1)

    def _as_row(self, row: ResourceRow) -> Entry:
        """What is there: its attributes as far as they are stored, since a preview asks no cloud."""
        kind = self._tools.registry.get(row.type)
        stored = (self._tools.sealing.value(row.attributes) or {}).get("names", {})
        return {
            "resource_action": row.action.value,
            "resource_status": row.status.value,
            "resource_status_reason": row.status_reason,
            "physical_resource_id": row.physical_id or "",
            "creation_time": row.created_at,
            "updated_time": row.updated_at,
            "attributes": {**dict.fromkeys(kind.attributes if kind else ()), **mask(stored, HIDDEN)},
        }


class _Known:
    """Rows by stack: of each resource the incarnation that counts."""

    def __init__(self, stacks: Mapping[str, StackRow], rows: Sequence[ResourceRow]) -> None:
        self.stacks = stacks
        self._rows: dict[str, dict[str, ResourceRow]] = {}
        for row in rows:
            if row.replaced_by is None:
                self._rows.setdefault(row.stack_id, {})[row.name] = row

    def of(self, stack: StackRow) -> Mapping[str, ResourceRow]:
        return self._rows.get(stack.id, {})


def _identity(stack: StackRow, path: str) -> dict[str, str]:
    return {"tenant": stack.project_id, "stack_name": stack.name, "stack_id": stack.id, "path": path}


def _bare(stack: StackRow, name: str, type_name: str) -> Entry:
    return {
        "resource_name": name,
        "resource_type": type_name,
        "resource_action": "INIT",
        "resource_status": "COMPLETE",
        "resource_status_reason": "",
        "physical_resource_id": "",
        "creation_time": None,
        "updated_time": None,
        "description": "",
        "metadata": {},
        "attributes": {},
        "required_by": [],
        "stack_name": stack.name,
        "stack_identity": _identity(stack, ""),
        "resource_identity": _identity(stack, f"/resources/{name}"),
    }


def _entry(stack: StackRow, name: str, blueprint: Blueprint) -> Entry:
    return _bare(stack, name, blueprint.definition(name).type) | {
        "description": blueprint.model.resources[name].description,
        "attributes": dict.fromkeys(blueprint.kinds[name].attributes),
        "required_by": list(blueprint.graph.required_by(name)),
    }
