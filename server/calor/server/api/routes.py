"""Every URL of the orchestration listener, in one table. Order matters where a name could be a word."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from calor.server.api import (
    agent_rest,
    calls,
    catalogue,
    guests,
    keystone_v3,
    messaging,
    plans,
    progress,
    resources,
    software,
    stacks,
    unbuilt,
)
from calor.server.identity import is_instance_token

Plain = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Route:
    """One URL of REST v1 below ``/v1/{tenant_id}``. ``agent`` answers tokens of our own /v3, where they may come.

    ``rule`` None: the handler asks for its rule when it has read the body.
    """

    method: str
    path: str
    handler: calls.Handler
    rule: str | None
    agent: Plain | None = None


_STACK = "/stacks/{stack_name}/{stack_id}"
_RESOURCE = _STACK + "/resources/{resource_name}"
_MORE = "{more:resources|events|template|actions|environment|files|outputs}"

_LOOKUPS = tuple(
    Route(method, path, stacks.lookup, "stacks:lookup")
    for path in ("/stacks/{stack_name:arn:.*}", "/stacks/{stack_name}")
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
)

REST: tuple[Route, ...] = (
    Route("POST", "/validate", stacks.validate, "stacks:validate_template"),
    Route("GET", "/resource_types", catalogue.resource_types, "stacks:list_resource_types"),
    Route("GET", "/resource_types/{type_name}", catalogue.resource_schema, "stacks:resource_schema"),
    Route("GET", "/resource_types/{type_name}/template", catalogue.resource_template, "stacks:generate_template"),
    Route("GET", "/template_versions", catalogue.template_versions, "stacks:list_template_versions"),
    Route(
        "GET",
        "/template_versions/{template_version}/functions",
        catalogue.template_functions,
        "stacks:list_template_functions",
    ),
    Route("GET", "/build_info", catalogue.build_info, "build_info:build_info"),
    Route("POST", "/plans", plans.create, "stacks:plan"),
    Route("GET", "/services", catalogue.services, "service:index"),
    Route("GET", "/stacks", stacks.index, "stacks:index"),
    Route("POST", "/stacks", stacks.create, "stacks:create"),
    Route("GET", "/stacks/detail", stacks.index, "stacks:detail"),
    Route("POST", "/stacks/preview", stacks.preview, "stacks:preview"),
    *_LOOKUPS,
    Route("GET", "/stacks/{stack_name}/" + _MORE, stacks.lookup, "stacks:lookup"),
    Route("POST", "/stacks/{stack_name}/" + _MORE, stacks.lookup, "stacks:lookup"),
    Route("GET", _STACK, stacks.show, "stacks:show"),
    Route("PUT", _STACK, stacks.update, "stacks:update"),
    Route("PATCH", _STACK, stacks.update_patch, "stacks:update_patch"),
    Route("DELETE", _STACK, stacks.delete, "stacks:delete"),
    Route("PUT", _STACK + "/preview", stacks.preview_update, "stacks:preview_update"),
    Route("PATCH", _STACK + "/preview", stacks.preview_update_patch, "stacks:preview_update_patch"),
    Route("POST", _STACK + "/actions", stacks.action, None),
    Route("GET", _STACK + "/template", stacks.template, "stacks:template"),
    Route("GET", _STACK + "/environment", stacks.environment, "stacks:environment"),
    Route("GET", _STACK + "/files", stacks.files, "stacks:files"),
    Route("GET", _STACK + "/snapshots", unbuilt.snapshots, "stacks:list_snapshots"),
    Route("POST", _STACK + "/snapshots", unbuilt.snapshots, "stacks:snapshot"),
    Route("GET", _STACK + "/snapshots/{snapshot_id}", unbuilt.snapshots, "stacks:show_snapshot"),
    Route("DELETE", _STACK + "/snapshots/{snapshot_id}", unbuilt.snapshots, "stacks:delete_snapshot"),
    Route("POST", _STACK + "/snapshots/{snapshot_id}/restore", unbuilt.snapshots, "stacks:restore_snapshot"),
    Route("DELETE", _STACK + "/abandon", unbuilt.abandoning, "stacks:abandon"),
    Route("GET", _STACK + "/export", unbuilt.abandoning, "stacks:export"),
    Route("GET", _STACK + "/outputs", stacks.outputs, "stacks:list_outputs"),
    Route("GET", _STACK + "/outputs/{output_key}", stacks.output, "stacks:show_output"),
    Route("GET", _STACK + "/events", resources.events, "events:index"),
    Route("GET", _STACK + "/progress", progress.show, "stacks:progress"),
    Route("GET", _STACK + "/logs", progress.output, "stacks:logs"),
    Route("GET", _STACK + "/resources", resources.index, "resource:index"),
    Route("GET", _RESOURCE, resources.show, "resource:show"),
    Route("PATCH", _RESOURCE, resources.mark_unhealthy, "resource:mark_unhealthy"),
    Route("GET", _RESOURCE + "/metadata", resources.metadata, "resource:metadata", agent_rest.metadata),
    Route("POST", _RESOURCE + "/signal", resources.signal, "resource:signal", agent_rest.signal),
    Route("GET", _RESOURCE + "/events", resources.events, "events:index"),
    Route("GET", _RESOURCE + "/events/{event_id}", resources.event, "events:show"),
    Route("GET", "/software_configs", software.configs, "software_configs:index"),
    Route("POST", "/software_configs", software.create_config, "software_configs:create"),
    Route("GET", "/software_configs/{config_id}", software.config, "software_configs:show"),
    Route("DELETE", "/software_configs/{config_id}", software.delete_config, "software_configs:delete"),
    Route("GET", "/software_deployments", software.deployments, "software_deployments:index"),
    Route("POST", "/software_deployments", software.create_deployment, "software_deployments:create"),
    Route(
        "GET",
        "/software_deployments/metadata/{server_id}",
        software.metadata,
        "software_deployments:metadata",
        agent_rest.deployments,
    ),
    Route("GET", "/software_deployments/{deployment_id}", software.deployment, "software_deployments:show"),
    Route("PUT", "/software_deployments/{deployment_id}", software.update_deployment, "software_deployments:update"),
    Route("DELETE", "/software_deployments/{deployment_id}", software.delete_deployment, "software_deployments:delete"),
    Route("POST", "/software_deployments/{deployment_id}/cancel", progress.cancel, "software_deployments:cancel"),
    Route("GET", "/software_deployments/{deployment_id}/logs", progress.output_of_deployment, "stacks:logs"),
    Route("GET", "/software_deployments/{deployment_id}/runs", progress.runs, "software_deployments:runs"),
    Route("POST", "/software_deployments/{deployment_id}/runs", progress.ask, "software_deployments:run"),
    Route("GET", "/software_deployments/{deployment_id}/runs/{run_id}", progress.run, "software_deployments:runs"),
)

_INSTANCE = "/guest/v1/instances/{instance_id}"
OPEN: tuple[tuple[str, str, Plain], ...] = (
    ("GET", "/", catalogue.versions),
    ("GET", "/versions", catalogue.versions),
    ("GET", "/v1", catalogue.versions),
    ("GET", "/v1/", catalogue.versions),
    ("GET", "/healthcheck", catalogue.healthcheck),
    ("GET", "/agent/{sha256:[0-9a-f]{64}}.pyz", guests.agent_file),
    ("POST", _INSTANCE + "/enrol", guests.enrol),
    ("POST", _INSTANCE + "/token", guests.token),
    ("GET", _INSTANCE + "/deployments", guests.deployments),
    ("POST", _INSTANCE + "/heartbeat", guests.heartbeat),
    ("POST", _INSTANCE + "/output", guests.output),
    ("POST", _INSTANCE + "/results", guests.results),
    ("POST", _INSTANCE + "/cfn", guests.cloudformation),
    ("POST", _INSTANCE + "/cloud-init", guests.verdict),
    *(("PUT", f"/{version}/queues/{{queue}}", messaging.queue) for version in messaging.VERSIONS),
    *(
        (method, f"/{version}/queues/{{queue}}/{{rest:.+}}", messaging.relay)
        for version in messaging.VERSIONS
        for method in ("GET", "POST", "PATCH", "DELETE")
    ),
    ("GET", "/v3", keystone_v3.version),
    ("GET", "/v3/", keystone_v3.version),
    ("POST", "/v3/auth/tokens", keystone_v3.create_token),
)
"""URLs that authenticate in their own way or not at all."""


def install(router: web.UrlDispatcher) -> None:
    for method, path, handler in OPEN:
        router.add_route(method, path, handler)
    for route in REST:
        router.add_route(route.method, "/v1/{tenant_id}" + route.path, guarded(route))


def guarded(route: Route) -> Plain:
    """The route's handler behind authentication, the check of the project and the rule."""

    async def handle(request: web.Request) -> web.StreamResponse:
        if route.agent is not None and is_instance_token(request.headers.get("X-Auth-Token", "")):
            return await route.agent(request)
        return await route.handler(await calls.authorise(request, route.rule))

    return handle
