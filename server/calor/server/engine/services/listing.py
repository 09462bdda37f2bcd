"""Filters, order and pages of lists. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from calor.server.engine.contract.views import StackQuery
from calor.server.errors import BadRequest
from calor.server.store.queries import Alternatives
from calor.server.store.rows import StackKeys, StackRow
from calor.server.store.states import Action, Status

T = TypeVar("T")
K = TypeVar("K", StackKeys, StackRow)

SORT_KEYS = {
    "name": "name",
    "stack_name": "name",
    "status": "status",
    "stack_status": "status",
    "created_at": "created_at",
    "creation_time": "created_at",
    "updated_at": "updated_at",
    "updated_time": "updated_at",
}


COLUMNS: Mapping[str, str] = {
    "id": "id",
    "stack_identity": "id",
    "name": "name",
    "stack_name": "name",
    "tenant": "project_id",
    "project": "project_id",
    "username": "user_name",
    "owner_id": "owner_id",
    "action": "action",
    "stack_action": "action",
    "status": "status",
    "stack_status": "status",
}
"""Filters of stack lists and what they compare; others mean nothing, as in Heat. A status may be COMPLETE as well as
CREATE_COMPLETE."""


def conditions(query: StackQuery) -> list[Alternatives]:
    """What the database is asked for."""
    known = [(COLUMNS[name], values) for name, values in query.filters.items() if name in COLUMNS]
    return [[one for value in values for one in _alternatives(column, value)] for column, values in known]


def _alternatives(column: str, value: str) -> Iterator[Mapping[str, Any]]:
    """None for what no stack has."""
    if column == "action":
        yield from ({"action": action} for action in Action if action.value == value)
    elif column == "status":
        yield from ({"status": status} for status in Status if status.value == value)
        for action in Action:
            yield from (
                {"action": action, "status": status} for status in Status if f"{action.value}_{status.value}" == value
            )
    else:
        yield {column: None if column == "owner_id" and not value else value}


def _passes(row: StackKeys | StackRow, query: StackQuery, hidden: frozenset[str]) -> bool:
    """What the database cannot tell: tags, and letters of another case where it does not look at that."""
    if any(row.name not in query.filters[name] for name in ("name", "stack_name") if name in query.filters):
        return False
    tags = set(row.tags)
    return (
        set(query.tags) <= tags
        and (not query.tags_any or bool(tags & set(query.tags_any)))
        and not (query.not_tags and set(query.not_tags) <= tags)
        and not tags & set(query.not_tags_any)
        and (query.show_hidden or not tags & hidden)
    )


def stacks(rows: Sequence[K], query: StackQuery, hidden: frozenset[str]) -> tuple[Sequence[K], int]:
    """One page and the count of all that pass. Newest first unless asked otherwise."""
    found = [row for row in rows if _passes(row, query, hidden)]
    if query.sort_keys:
        unknown = [key for key in query.sort_keys if key not in SORT_KEYS]
        if unknown:
            raise BadRequest(f"Sorting by {unknown[0]!r} is not supported.")
        for key in reversed(query.sort_keys):
            found.sort(key=_by(SORT_KEYS[key]))
        if query.sort_dir == "desc":
            found.reverse()
    elif query.sort_dir == "asc":
        found.reverse()
    return page(found, query.limit, query.marker, lambda row: row.id), len(found)


def _by(field: str) -> Callable[[StackKeys | StackRow], tuple[int, Any]]:
    return lambda row: _sortable(getattr(row, field))


def _sortable(value: Any) -> tuple[int, Any]:
    if value is None:
        return (0, "")
    return (1, value.isoformat() if isinstance(value, datetime) else getattr(value, "value", value))


def page(rows: Sequence[T], limit: int | None, marker: str | None, ident: Any) -> Sequence[T]:
    start = 0
    if marker is not None:
        places = [place for place, row in enumerate(rows) if ident(row) == marker]
        start = places[0] + 1 if places else 0
    return rows[start:] if limit is None else rows[start : start + limit]
