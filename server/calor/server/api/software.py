"""REST v1: software configs and deployments."""

from aiohttp import web

from calor.server.api import software_json
from calor.server.api.calls import Call, json_answer
from calor.server.api.queries import flag, number


async def configs(call: Call) -> web.Response:
    request = call.request
    everybody = flag(request, "global_tenant")
    if everybody:
        call.require("software_configs:global_index")
    views = await call.services.configs.list(
        call.caller, limit=number(request, "limit"), marker=request.query.get("marker") or None, global_tenant=everybody
    )
    return json_answer(
        {"software_configs": [software_json.config_summary(view, with_project=everybody) for view in views]}
    )


async def create_config(call: Call) -> web.Response:
    view = await call.services.configs.create(call.caller, await call.body())
    return json_answer({"software_config": software_json.config_detail(view)})


async def config(call: Call) -> web.Response:
    view = await call.services.configs.show(call.caller, call.path("config_id"))
    return json_answer({"software_config": software_json.config_detail(view)})


async def delete_config(call: Call) -> web.Response:
    await call.services.configs.delete(call.caller, call.path("config_id"))
    return web.Response(status=204)


async def deployments(call: Call) -> web.Response:
    views = await call.services.deployments.list(call.caller, call.request.query.get("server_id"))
    return json_answer({"software_deployments": [software_json.deployment(view) for view in views]})


async def create_deployment(call: Call) -> web.Response:
    view = await call.services.deployments.create(call.caller, await call.body())
    return json_answer({"software_deployment": software_json.deployment(view)})


async def deployment(call: Call) -> web.Response:
    view = await call.services.deployments.show(call.caller, call.path("deployment_id"))
    return json_answer({"software_deployment": software_json.deployment(view)})


async def update_deployment(call: Call) -> web.Response:
    view = await call.services.deployments.update(call.caller, call.path("deployment_id"), await call.body())
    return json_answer({"software_deployment": software_json.deployment(view)})


async def delete_deployment(call: Call) -> web.Response:
    await call.services.deployments.delete(call.caller, call.path("deployment_id"))
    return web.Response(status=204)


async def metadata(call: Call) -> web.Response:
    """The deployments of one server, as its agent wants them."""
    found = await call.services.deployments.metadata(call.caller, call.path("server_id"))
    return json_answer({"metadata": [dict(one) for one in found]})
