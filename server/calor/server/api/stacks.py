"""REST v1: stacks and what belongs to one (template, environment, files, outputs, actions)."""

from dataclasses import replace

from aiohttp import web

from calor.server.api import stack_json, stack_requests
from calor.server.api.calls import Call, accepted, json_answer
from calor.server.api.faults import HTTPBadRequest
from calor.server.api.links import base_url, link, stack_url
from calor.server.api.plans import HEADER as PLAN_HEADER
from calor.server.api.queries import flag, stack_query
from calor.server.engine.contract.views import StackRequest
from calor.server.errors import StackValidationFailed

ACTIONS = ("suspend", "resume", "check", "cancel_update", "cancel_without_rollback")


async def index(call: Call) -> web.Response:
    request, query = call.request, stack_query(call.request)
    if query.global_tenant:
        call.require("stacks:global_index")
    views, count = await call.services.stacks.list(call.caller, query)
    found = {
        "stacks": [stack_json.summary(request, view, with_project=query.global_tenant) for view in views],
    }
    if query.limit and len(views) == query.limit:
        more = request.rel_url.update_query(marker=views[-1].identity.id)
        found["links"] = [dict(link(base_url(request).removesuffix("/v1") + str(more), "next"))]
    if flag(request, "with_count"):
        return json_answer({**found, "count": count})
    return json_answer(found)


async def create(call: Call) -> web.Response:
    wanted = stack_requests.read_create(await call.body(), call.limits)
    stack = await call.services.stacks.create(call.caller, _bound(call, wanted))
    answer = json_answer(stack_json.created(call.request, stack), status=201)
    answer.headers["Location"] = stack_url(call.request, stack)
    return answer


async def preview(call: Call) -> web.Response:
    wanted = stack_requests.read_create(await call.body(), call.limits)
    return json_answer({"stack": await call.services.stacks.preview(call.caller, wanted)})


async def validate(call: Call) -> web.Response:
    wanted = stack_requests.read_validate(await call.body(), call.limits)
    codes = call.request.query.get("ignore_errors", "")
    if codes not in {"", "99001"}:
        raise HTTPBadRequest(f"'ignore_errors' may name 99001 only, not '{codes}'.")
    try:
        found = await call.services.stacks.validate(call.caller, wanted, show_nested=flag(call.request, "show_nested"))
    except StackValidationFailed as exc:
        raise HTTPBadRequest(exc.detail, exc.problems) from exc
    return json_answer(found)


async def lookup(call: Call) -> web.Response:
    """302 to the stack's own URL, whatever the method; what follows the name and the query are kept."""
    request = call.request
    stack = await call.services.stacks.identify(call.caller, _name_of(call.path("stack_name"), call.caller.project_id))
    more = request.match_info.get("more")
    location = stack_url(request, stack, *([more] if more else []))
    if request.rel_url.raw_query_string:
        location += f"?{request.rel_url.raw_query_string}"
    return web.Response(status=302, headers={"Location": location}, text=f"302 Found\n\n{location}\n")


def _name_of(sent: str, project_id: str) -> str:
    """A name or an id; of an ARN of this project the id (or the name, where it has none)."""
    prefix = f"arn:openstack:heat::{project_id}:stacks/"
    if not sent.startswith(prefix):
        return sent
    parts = sent.removeprefix(prefix).split("/")
    return parts[1] if len(parts) > 1 else parts[0]


async def show(call: Call) -> web.Response:
    outputs = flag(call.request, "resolve_outputs", default=True)
    view = await call.services.stacks.show(call.caller, *call.stack, outputs=outputs)
    return json_answer({"stack": stack_json.detail(call.request, view)})


async def update(call: Call) -> web.Response:
    return await _updated(call, stack_requests.read_update(await call.body(), call.limits))


async def update_patch(call: Call) -> web.Response:
    return await _updated(call, stack_requests.read_patch(await call.body(), call.limits))


async def _updated(call: Call, wanted: StackRequest) -> web.Response:
    """Heat's answer; who asks for a guard is told how much will be done, too."""
    counts = await call.services.stacks.update(call.caller, *call.stack, _bound(call, wanted))
    return accepted() if counts is None else json_answer({"counts": counts}, status=202)


def _bound(call: Call, wanted: StackRequest) -> StackRequest:
    """A creation or an update may be bound to a plan: it is refused (409) if anything has changed since."""
    return replace(wanted, plan=call.request.headers.get(PLAN_HEADER, ""))


async def preview_update(call: Call) -> web.Response:
    wanted = stack_requests.read_update(await call.body(), call.limits)
    nested = flag(call.request, "show_nested")
    changes = await call.services.stacks.preview_update(call.caller, *call.stack, wanted, show_nested=nested)
    return json_answer(stack_json.changes(changes))


async def preview_update_patch(call: Call) -> web.Response:
    wanted = stack_requests.read_patch(await call.body(), call.limits)
    nested = flag(call.request, "show_nested")
    changes = await call.services.stacks.preview_update(call.caller, *call.stack, wanted, show_nested=nested)
    return json_answer(stack_json.changes(changes))


async def delete(call: Call) -> web.Response:
    retain = call.request.query.getall("retain", [])
    kept = await call.services.stacks.delete(call.caller, *call.stack, retain=retain)
    if not retain:
        return web.Response(status=204)
    found = [
        {"resource_name": one.name, "resource_type": one.type, "physical_resource_id": one.physical_id} for one in kept
    ]
    return json_answer({"retained": found}, status=202)


async def action(call: Call) -> web.Response:
    body = await call.body()
    if len(body) != 1:
        raise HTTPBadRequest(f"Exactly one action is wanted, of {', '.join(ACTIONS)}; {len(body)} came.")
    (name,) = body
    if name not in ACTIONS:
        call.require("actions:action")
        raise HTTPBadRequest(f"'{name}' is no action; known are {', '.join(ACTIONS)}.")
    call.require(f"actions:{name}")
    await call.services.stacks.action(call.caller, *call.stack, name)
    return json_answer(None)


async def template(call: Call) -> web.Response:
    return json_answer(await call.services.stacks.template(call.caller, *call.stack))


async def environment(call: Call) -> web.Response:
    return json_answer(await call.services.stacks.environment(call.caller, *call.stack))


async def files(call: Call) -> web.Response:
    return json_answer(await call.services.stacks.files(call.caller, *call.stack))


async def outputs(call: Call) -> web.Response:
    views = await call.services.stacks.outputs(call.caller, *call.stack)
    return json_answer({"outputs": [stack_json.output_name(view) for view in views]})


async def output(call: Call) -> web.Response:
    view = await call.services.stacks.output(call.caller, *call.stack, call.path("output_key"))
    return json_answer({"output": stack_json.output(view)})
