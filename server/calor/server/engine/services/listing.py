"""Filters, order and pages of lists. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from calor.server.engine.contract.views import StackQuery
from calor.server.errors import BadRequest
from calor.server.store.rows import StackRow

T = TypeVar("T")

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


def _facts(row: StackRow) -> Mapping[str, str]:
    status = f"{row.action.value}_{row.status.value}"
    return {
        "id": row.id,
        "name": row.name,
        "stack_name": row.name,
        "status": row.status.value,
        "stack_status": status,
        "action": row.action.value,
        "stack_action": row.action.value,
        "tenant": row.project_id,
        "project": row.project_id,
        "username": row.user_name,
        "owner_id": row.owner_id or "",
        "stack_identity": row.id,
    }


def _passes(row: StackRow, query: StackQuery, hidden: frozenset[str]) -> bool:
    facts = _facts(row)
    for name, wanted in query.filters.items():
        if name not in facts:
            continue
        values = {facts[name], facts["stack_status"]} if name in ("status", "stack_status") else {facts[name]}
        if not values & set(wanted):
            return False
    tags = set(row.tags)
    return (
        set(query.tags) <= tags
        and (not query.tags_any or bool(tags & set(query.tags_any)))
        and not (query.not_tags and set(query.not_tags) <= tags)
        and not tags & set(query.not_tags_any)
        and (query.show_hidden or not tags & hidden)
    )


def stacks(rows: Sequence[StackRow], query: StackQuery, hidden: frozenset[str]) -> tuple[Sequence[StackRow], int]:
    """One page and the count of all that pass. Newest first unless asked otherwise."""
    found = [row for row in rows if _passes(row, query, hidden)]
    if query.sort_keys:
        unknown = [key for key in query.sort_keys if key not in SORT_KEYS]
        if unknown:
            raise BadRequest(f"Sorting by {unknown[0]!r} is not supported.")
        for key in reversed(query.sort_keys):
            found.sort(key=lambda row, field=SORT_KEYS[key]: _sortable(getattr(row, field)))  # type: ignore[misc]
        if query.sort_dir == "desc":
            found.reverse()
    elif query.sort_dir == "asc":
        found.reverse()
    return page(found, query.limit, query.marker, lambda row: row.id), len(found)


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
