"""Heat's JSON of stacks and outputs (api-routes.json, ``key_sets``)."""

from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from calor.server.api.links import link, stack_url, time_text
from calor.server.engine.contract.views import OutputView, StackIdentity, StackView

_NO_DESCRIPTION = "No description"
_NO_OUTPUT_DESCRIPTION = "No description given"


def changes(groups: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """What an update would change, by Heat's five groups."""
    times = ("creation_time", "updated_time")
    return {
        "resource_changes": {
            name: [{**entry, **{key: time_text(entry[key]) for key in times}} for entry in entries]
            for name, entries in groups.items()
        }
    }


def created(request: web.Request, stack: StackIdentity) -> dict[str, Any]:
    return {"stack": {"id": stack.id, "links": [link(stack_url(request, stack), "self")]}}


def summary(request: web.Request, view: StackView, *, with_project: bool = False) -> dict[str, Any]:
    """A stack in a list."""
    identity = view.identity
    found = {
        "id": identity.id,
        "links": [link(stack_url(request, identity), "self")],
        "stack_name": identity.name,
        "description": "" if view.description == _NO_DESCRIPTION else view.description,
        "stack_status": f"{view.action.value}_{view.status.value}",
        "stack_status_reason": view.status_reason,
        "creation_time": time_text(view.created_at),
        "updated_time": time_text(view.updated_at),
        "deletion_time": time_text(view.deleted_at),
        "stack_owner": view.creator_name,
        "parent": view.owner_id,
        "stack_user_project_id": view.user_project_id,
        "tags": list(view.tags) or None,
    }
    if with_project:
        found["project"] = identity.project_id
    return found


def detail(request: web.Request, view: StackView) -> dict[str, Any]:
    """A stack shown by itself. ``outputs`` is absent where they were not asked for."""
    description = view.description or _NO_DESCRIPTION
    found = {
        **summary(request, view),
        "description": description,
        "tags": list(view.tags),
        "template_description": description,
        "parameters": dict(view.parameters),
        "timeout_mins": view.timeout_mins,
        "disable_rollback": view.disable_rollback,
        "capabilities": [],
        "notification_topics": [],
    }
    if view.outputs is not None:
        found["outputs"] = [output(one) for one in view.outputs]
    return found


def output(view: OutputView) -> dict[str, Any]:
    found: dict[str, Any] = {**output_name(view), "output_value": view.value}
    if view.error is not None:
        found["output_error"] = view.error
    return found


def output_name(view: OutputView) -> dict[str, Any]:
    """An output in a list: without its value."""
    return {"output_key": view.name, "description": view.description or _NO_OUTPUT_DESCRIPTION}
