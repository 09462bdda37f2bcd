"""Reading query parameters, with Heat's rules for booleans, numbers and lists."""

from collections.abc import Iterable, Mapping, Sequence

from aiohttp import web

from calor.server.api.faults import HTTPBadRequest
from calor.server.engine.contract.views import EventQuery, StackQuery

_TRUE = frozenset({"true", "1", "yes", "on", "t", "y"})
_FALSE = frozenset({"false", "0", "no", "off", "f", "n"})
_STACK_FILTERS = {
    "id": "id",
    "status": "status",
    "stack_status": "status",
    "name": "name",
    "stack_name": "name",
    "action": "action",
    "stack_action": "action",
    "stack_status_reason": "stack_status_reason",
    "tenant": "tenant",
    "username": "username",
    "stack_owner": "username",
    "owner_id": "owner_id",
    "parent": "owner_id",
    "stack_user_project_id": "stack_user_project_id",
    "disable_rollback": "disable_rollback",
    "timeout_mins": "timeout_mins",
}
_EVENT_FILTERS = ("resource_status", "resource_action", "resource_name", "resource_type")
_RESOURCE_FILTERS = ("type", "status", "name", "action", "id", "physical_resource_id")


def flag(request: web.Request, name: str, *, default: bool = False) -> bool:
    """Raises `HTTPBadRequest` for what is no boolean."""
    value = request.query.get(name)
    if value is None or value == "":
        return default
    return as_flag(name, value)


def as_flag(name: str, value: object) -> bool:
    text = str(value).lower()
    if text not in _TRUE | _FALSE:
        raise HTTPBadRequest(f"'{name}' must be true or false, not '{value}'.")
    return text in _TRUE


def number(request: web.Request, name: str) -> int | None:
    """A number ≥ 0, None when absent. Raises `HTTPBadRequest`."""
    value = request.query.get(name)
    if value is None or value == "":
        return None
    if not (value.isascii() and value.isdecimal() and len(value) <= 18):
        raise HTTPBadRequest(f"'{name}' must be a number of at least 0, not '{value}'.")
    return int(value)


def _words(request: web.Request, name: str) -> Sequence[str]:
    return tuple(word for text in request.query.getall(name, []) for word in text.split(",") if word)


def _filters(request: web.Request, names: Iterable[str]) -> Mapping[str, Sequence[str]]:
    return {name: tuple(request.query.getall(name)) for name in names if name in request.query}


def stack_query(request: web.Request) -> StackQuery:
    """Raises `HTTPBadRequest`."""
    filters: dict[str, tuple[str, ...]] = {}
    for sent, meant in _STACK_FILTERS.items():
        if sent in request.query:
            filters[meant] = (*filters.get(meant, ()), *request.query.getall(sent))
    return StackQuery(
        filters=filters,
        limit=number(request, "limit"),
        marker=request.query.get("marker") or None,
        sort_keys=_words(request, "sort_keys"),
        sort_dir=_direction(request),
        tags=_words(request, "tags"),
        tags_any=_words(request, "tags_any"),
        not_tags=_words(request, "not_tags"),
        not_tags_any=_words(request, "not_tags_any"),
        show_deleted=flag(request, "show_deleted"),
        show_nested=flag(request, "show_nested"),
        show_hidden=flag(request, "show_hidden"),
        global_tenant=flag(request, "global_tenant"),
    )


def event_query(request: web.Request) -> EventQuery:
    """Raises `HTTPBadRequest`."""
    return EventQuery(
        filters=_filters(request, _EVENT_FILTERS),
        limit=number(request, "limit"),
        marker=request.query.get("marker") or None,
        sort_keys=_words(request, "sort_keys"),
        sort_dir=_direction(request),
        nested_depth=number(request, "nested_depth") or 0,
    )


def resource_filters(request: web.Request) -> Mapping[str, Sequence[str]]:
    """Raises `HTTPBadRequest` for a parameter that is neither a filter nor an option."""
    known = (*_RESOURCE_FILTERS, "nested_depth", "with_detail")
    unknown = sorted(set(request.query) - set(known))
    if unknown:
        raise HTTPBadRequest(f"'{unknown[0]}' is no filter of resources; known are {', '.join(_RESOURCE_FILTERS)}.")
    return _filters(request, _RESOURCE_FILTERS)


def _direction(request: web.Request) -> str | None:
    value = request.query.get("sort_dir") or None
    if value not in {None, "asc", "desc"}:
        raise HTTPBadRequest(f"'sort_dir' must be asc or desc, not '{value}'.")
    return value
