"""Heat's JSON of resources and events (api-routes.json, ``key_sets``)."""

from typing import Any

from aiohttp import web

from calor.server.api.links import link, stack_url, time_text
from calor.server.engine.contract.views import EventView, ResourceView, StackIdentity


def summary(request: web.Request, view: ResourceView) -> dict[str, Any]:
    """A resource in a list."""
    links = [
        link(stack_url(request, view.stack, "resources", view.name), "self"),
        link(stack_url(request, view.stack), "stack"),
    ]
    if view.nested_id is not None and view.nested_name is not None:
        child = StackIdentity(project_id=view.stack.project_id, name=view.nested_name, id=view.nested_id)
        links.append(link(stack_url(request, child), "nested"))
    found = {
        "resource_name": view.name,
        "logical_resource_id": view.name,
        "physical_resource_id": view.physical_id or "",
        "resource_type": view.type,
        "resource_status": f"{view.action.value}_{view.status.value}",
        "resource_status_reason": view.status_reason,
        "creation_time": time_text(view.created_at),
        "updated_time": time_text(view.updated_at),
        "required_by": list(view.required_by),
        "links": links,
    }
    if view.parent_resource is not None:
        found["parent_resource"] = view.parent_resource
    return found


def detail(request: web.Request, view: ResourceView) -> dict[str, Any]:
    return {
        **summary(request, view),
        "description": view.description,
        "attributes": dict(view.attributes or {}),
    }


def event_summary(request: web.Request, view: EventView, *, with_root: bool = False) -> dict[str, Any]:
    """An event in a list; with ``nested_depth`` it links to the root of its tree."""
    links = [
        link(stack_url(request, view.stack, "resources", view.resource_name, "events", view.id), "self"),
        link(stack_url(request, view.stack, "resources", view.resource_name), "resource"),
        link(stack_url(request, view.stack), "stack"),
    ]
    if with_root:
        root = StackIdentity(project_id=view.stack.project_id, name=view.root_stack_id, id=view.root_stack_id)
        links.append(link(stack_url(request, root), "root_stack"))
    return {
        "id": view.id,
        "event_time": time_text(view.at),
        "resource_name": view.resource_name,
        "logical_resource_id": view.resource_name,
        "physical_resource_id": view.physical_id,
        "resource_status": f"{view.action.value}_{view.status.value}",
        "resource_status_reason": view.status_reason,
        "links": links,
    }


def event_detail(request: web.Request, view: EventView) -> dict[str, Any]:
    return {
        **event_summary(request, view),
        "resource_type": view.resource_type,
        "resource_properties": dict(view.properties),
    }
