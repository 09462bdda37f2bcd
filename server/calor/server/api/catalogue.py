"""REST v1: resource types, template versions, services, build info; and the list of API versions."""

from aiohttp import web

from calor.server import __version__
from calor.server.api import software_json
from calor.server.api.calls import Call, json_answer
from calor.server.api.faults import HTTPBadRequest
from calor.server.api.links import base_url
from calor.server.api.queries import flag
from calor.server.errors import BadRequest

_STATUSES = ("UNKNOWN", "SUPPORTED", "DEPRECATED", "UNSUPPORTED", "HIDDEN")


class Invalid(BadRequest):
    """A value that is none of those possible (Heat's name for it)."""


async def resource_types(call: Call) -> web.Response:
    query = call.request.query
    status = query.get("support_status") or None
    if status is not None and status.upper() not in _STATUSES:
        raise Invalid(f"'support_status' must be one of {', '.join(_STATUSES)}, not '{status}'.")
    views = call.services.catalogue.types(
        name=query.get("name") or None, version=query.get("version") or None, support_status=status
    )
    if not flag(call.request, "with_description"):
        return json_answer({"resource_types": [view.name for view in views]})
    described = [
        {"resource_type": view.name, **({"description": view.description} if view.description else {})}
        for view in views
    ]
    return json_answer({"resource_types": described})


async def resource_schema(call: Call) -> web.Response:
    return json_answer(software_json.resource_type(call.services.catalogue.type(call.path("type_name"))))


async def resource_template(call: Call) -> web.Response:
    kind = call.request.query.get("template_type", "cfn")
    if kind not in {"cfn", "hot"}:
        raise HTTPBadRequest(f"'template_type' must be cfn or hot, not '{kind}'.")
    return json_answer(call.services.catalogue.type_template(call.path("type_name"), kind))


async def template_versions(call: Call) -> web.Response:
    return json_answer({"template_versions": call.services.catalogue.template_versions()})


async def template_functions(call: Call) -> web.Response:
    found = call.services.catalogue.template_functions(
        call.path("template_version"), with_conditions=flag(call.request, "with_condition_func")
    )
    return json_answer({"template_functions": found})


async def build_info(call: Call) -> web.Response:
    return json_answer({"api": {"revision": __version__}, "engine": {"revision": __version__}})


async def services(call: Call) -> web.Response:
    views = await call.services.catalogue.services()
    return json_answer({"services": [software_json.service(view) for view in views]})


async def versions(request: web.Request) -> web.Response:
    """The list of versions: needs no token."""
    found = {"id": "v1.0", "status": "CURRENT", "links": [{"href": f"{base_url(request)}/", "rel": "self"}]}
    return web.json_response({"versions": [found]}, status=300)


async def healthcheck(request: web.Request) -> web.Response:
    """That this process answers: needs no token."""
    return web.Response(text="OK")
