"""REST v1: resources, events, signals."""

from aiohttp import web

from calor.server.api import resource_json
from calor.server.api.calls import Call, json_answer
from calor.server.api.faults import HTTPBadRequest, HTTPNotFound
from calor.server.api.queries import event_query, flag, number, resource_filters


async def index(call: Call) -> web.Response:
    request = call.request
    filters = resource_filters(request)
    detailed = flag(request, "with_detail")
    depth = min(number(request, "nested_depth") or 0, call.limits.max_nested_stack_depth)
    views = await call.services.resources.list(
        call.caller, *call.stack, nested_depth=depth, filters=filters, detail=detailed
    )
    shape = resource_json.detail if detailed else resource_json.summary
    return json_answer({"resources": [shape(request, view) for view in views]})


async def show(call: Call) -> web.Response:
    names = call.request.query.getall("with_attr", [])
    view = await call.services.resources.show(call.caller, *call.stack, call.path("resource_name"), with_attr=names)
    return json_answer({"resource": resource_json.detail(call.request, view)})


async def metadata(call: Call) -> web.Response:
    found = await call.services.resources.metadata(call.caller, *call.stack, call.path("resource_name"))
    return json_answer({"metadata": found})


async def signal(call: Call) -> web.Response:
    await call.services.resources.signal(call.caller, *call.stack, call.path("resource_name"), await call.body())
    return json_answer(None)


async def mark_unhealthy(call: Call) -> web.Response:
    body = await call.body()
    unhealthy, reason = body.pop("mark_unhealthy", None), body.pop("resource_status_reason", "")
    if not isinstance(unhealthy, bool):
        raise HTTPBadRequest("'mark_unhealthy' must be true or false.")
    if body:
        raise HTTPBadRequest(
            f"'{sorted(body)[0]}' is not known here; only mark_unhealthy and resource_status_reason are."
        )
    await call.services.resources.mark_unhealthy(
        call.caller, *call.stack, call.path("resource_name"), unhealthy=unhealthy, reason=str(reason)
    )
    return json_answer(None)


async def events(call: Call) -> web.Response:
    """Events of a stack, or of one of its resources."""
    query = event_query(call.request)
    name = call.request.match_info.get("resource_name")
    views = await call.services.events.list(call.caller, *call.stack, name, query)
    if name is not None and not views and query.marker is None:
        raise HTTPNotFound(f"No events of a resource '{name}' were found.")
    with_root = query.nested_depth > 0
    return json_answer(
        {"events": [resource_json.event_summary(call.request, view, with_root=with_root) for view in views]}
    )


async def event(call: Call) -> web.Response:
    name, ident = call.path("resource_name"), call.path("event_id")
    view = await call.services.events.show(call.caller, *call.stack, name, ident)
    return json_answer({"event": resource_json.event_detail(call.request, view)})
