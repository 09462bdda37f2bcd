"""Rows as views: masked, in Heat's words."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from calor.server.engine.contract.views import EventView, OutputView, ResourceView, StackIdentity, StackView
from calor.server.engine.durable.sealing import Sealing
from calor.server.engine.revision.naming import child_name
from calor.server.store.rows import EventRow, ResourceRow, StackRow
from calor.server.store.states import Action, Status
from calor.server.template import Secret, mask, reveal

HIDDEN = "******"
SHORTEST_SOUGHT = 4
"""Characters of a secret that is looked for inside longer texts; a shorter one would hide half of any text."""
NO_DESCRIPTION = "No description"


def concealed(attributes: Mapping[str, Any], properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """Attributes as they may be shown: a cloud hands back secrets that it was given in the clear."""
    secrets = [text for text in secret_texts(properties) if text]

    def leaf(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        for secret in secrets:
            if value == secret:
                return HIDDEN
            if len(secret) >= SHORTEST_SOUGHT:
                value = value.replace(secret, HIDDEN)
        return value

    return {name: _each(mask(value, HIDDEN), leaf) for name, value in attributes.items()}


def _each(tree: Any, leaf: Callable[[Any], Any]) -> Any:
    if isinstance(tree, Mapping):
        return {key: _each(value, leaf) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_each(value, leaf) for value in tree]
    return leaf(tree)


def secret_texts(tree: Any) -> list[str]:
    """The texts of all secrets in a tree."""
    if isinstance(tree, Mapping):
        return [text for value in tree.values() for text in secret_texts(value)]
    if isinstance(tree, list | tuple):
        return [text for value in tree for text in secret_texts(value)]
    return [str(reveal(tree))] if isinstance(tree, Secret) else []


def identity(stack: StackRow) -> StackIdentity:
    return StackIdentity(project_id=stack.project_id, name=stack.name, id=stack.id)


def stack(row: StackRow, shown: Mapping[str, Any], outputs: Sequence[OutputView] | None) -> StackView:
    return StackView(
        identity=identity(row),
        action=row.action,
        status=row.status,
        status_reason=row.status_reason,
        created_at=row.created_at,
        updated_at=row.updated_at,
        deleted_at=row.deleted_at,
        description=row.description,
        parameters=shown,
        timeout_mins=row.timeout_mins,
        disable_rollback=row.disable_rollback,
        tags=list(row.tags),
        owner_id=row.owner_id,
        user_project_id=row.project_id,
        creator_name=row.user_name,
        outputs=outputs,
    )


def resource(
    row: ResourceRow,
    stack_row: StackRow,
    sealing: Sealing,
    *,
    required_by: Sequence[str],
    parent: str | None,
    description: str = "",
    attributes: Mapping[str, Any] | None = None,
    brief: bool = False,
) -> ResourceView:
    """``brief`` leaves out what lists do not show: metadata and properties, which would have to be unsealed."""
    return ResourceView(
        stack=identity(stack_row),
        name=row.name,
        type=row.type,
        physical_id=row.physical_id,
        action=row.action,
        status=row.status,
        status_reason=row.status_reason,
        created_at=row.created_at,
        updated_at=row.updated_at,
        required_by=list(required_by),
        description=description,
        attributes=attributes,
        metadata={} if brief else mask(sealing.value(row.meta) or {}, HIDDEN),
        nested_id=row.child_id,
        nested_name=row.child_id and child_name(stack_row.name, row.name, row.id),
        parent_resource=parent,
        properties={} if brief else mask(sealing.value(row.properties or row.pending) or {}, HIDDEN),
    )


def not_yet(name: str, type_name: str, stack_row: StackRow, required_by: Sequence[str]) -> ResourceView:
    """A resource of the template that has no row yet."""
    return ResourceView(
        stack=identity(stack_row),
        name=name,
        type=type_name,
        physical_id=None,
        action=Action.INIT,
        status=Status.COMPLETE,
        status_reason="",
        created_at=stack_row.created_at,
        updated_at=stack_row.created_at,
        required_by=list(required_by),
    )


def event(row: EventRow, stack_row: StackRow, properties: Mapping[str, Any] | None = None) -> EventView:
    return EventView(
        id=row.id,
        stack=identity(stack_row),
        root_stack_id=row.root_id,
        resource_name=row.resource_name,
        resource_type=row.resource_type,
        physical_id=row.physical_id,
        action=row.action,
        status=row.status,
        status_reason=row.reason,
        at=row.at,
        properties=properties or {},
    )


def shown_rows(rows: Sequence[ResourceRow]) -> list[ResourceRow]:
    """One row a name: the newest that has not been superseded by a replacement."""
    found: dict[str, ResourceRow] = {}
    for row in rows:
        if row.replaced_by is None or row.name not in found:
            found[row.name] = row
    return list(found.values())


def users(rows: Sequence[ResourceRow]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows:
        for name in row.requires:
            if row.name not in found.setdefault(name, []):
                found[name].append(row.name)
    return {name: sorted(names) for name, names in found.items()}


def pseudo(row: StackRow) -> Mapping[str, Any]:
    return {"OS::project_id": row.project_id, "OS::stack_id": row.id, "OS::stack_name": row.name}
