"""The cloud's one HTTP listener: finds the service, checks the token, runs the handler in a transaction."""

import asyncio
import json
import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from calor.server.devcloud import fault_routes
from calor.server.devcloud.access import ApiError, Token
from calor.server.devcloud.calls import Answer, Call, Route, Service
from calor.server.devcloud.cinder import CINDER
from calor.server.devcloud.cloud import Cloud
from calor.server.devcloud.faults import Rule, Trouble, striking
from calor.server.devcloud.glance import GLANCE
from calor.server.devcloud.keystone import KEYSTONE
from calor.server.devcloud.neutron import NEUTRON
from calor.server.devcloud.nova import NOVA
from calor.server.devcloud.swift import SWIFT
from calor.server.devcloud.tokens import UNAUTHORIZED
from calor.server.devcloud.zaqar import ZAQAR

SERVICES = (KEYSTONE, NOVA, GLANCE, NEUTRON, CINDER, SWIFT, ZAQAR)
CLOUD = web.AppKey("cloud", Cloud)
MAX_BODY = 64 * 1024 * 1024

log = logging.getLogger(__name__)

OVER_QUOTA = {
    "compute": (403, "Quota exceeded for instances: Requested 1, but already used 10 of 10 instances", ""),
    "network": (409, "Quota exceeded for resources: ['port'].", "OverQuota"),
    "block-storage": (
        413,
        "VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded for quota 'volumes'.",
        "",
    ),
}


def build(cloud: Cloud) -> web.Application:
    """The application of a cloud; the caller starts driver and workers."""
    cloud.services = SERVICES
    app = web.Application(client_max_size=MAX_BODY, middlewares=[request_id, troubles])
    app[CLOUD] = cloud
    app.add_routes(fault_routes.routes(cloud))
    app.router.add_get("/", index)
    for service in SERVICES:
        for route in service.routes:
            serve = _serve(cloud, service, route)
            app.router.add_route(route.method, service.prefix + route.path, serve)
            if route.method == "GET" and not route.stream:
                app.router.add_route("HEAD", service.prefix + route.path, serve)
        for prefix in (service.prefix, service.prefix + "/{rest:.*}"):
            app.router.add_route("*", prefix, _unknown(service))
    return app


async def index(request: web.Request) -> web.Response:
    """Where the services lie."""
    return web.json_response({"services": {service.type: service.prefix for service in SERVICES}})


@web.middleware
async def request_id(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Every answer carries a request id, as OpenStack's do."""
    ident = "req-" + secrets.token_hex(16)
    response = await handler(request)
    if not response.prepared:
        response.headers["x-openstack-request-id"] = ident
        if request.path.startswith("/compute"):
            response.headers["x-compute-request-id"] = ident
    return response


@web.middleware
async def troubles(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Strike as the fault layer was told."""
    if request.path.startswith("/faults"):
        return await handler(request)
    rule = request.app[CLOUD].faults.strike(request.method, request.path)
    if rule is None:
        return await handler(request)
    if rule.trouble in (Trouble.ERROR, Trouble.QUOTA, Trouble.BUSY):
        return _refusal(request, rule)
    if rule.trouble is Trouble.DELAY:
        await request.read()  # all of it is there: that the caller dies meanwhile changes nothing
        await asyncio.sleep(rule.seconds)
    with striking(rule):
        response = await handler(request)
    if rule.trouble is Trouble.LOST and request.transport is not None:
        request.transport.abort()
    return response


def _refusal(request: web.Request, rule: Rule) -> web.Response:
    service = next((s for s in SERVICES if request.path.startswith(s.prefix)), SERVICES[0])
    if rule.trouble is Trouble.BUSY:
        return service.refuse(ApiError(429, "Too many requests.", headers={"Retry-After": str(int(rule.seconds) or 1)}))
    if rule.trouble is Trouble.QUOTA:
        return service.refuse(ApiError(*OVER_QUOTA.get(service.type, (403, "Quota exceeded.", ""))))
    return service.refuse(ApiError(rule.status, rule.message, "DevCloudFault"))


def _unknown(service: Service) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(request: web.Request) -> web.Response:
        return service.refuse(ApiError(404, "The resource could not be found.", "HTTPNotFound"))

    return answer


def _serve(cloud: Cloud, service: Service, route: Route) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            caller = None if route.public else _authenticate(cloud, request)
            body = None if route.stream else await _body(request)
            call = Call(cloud=cloud, request=request, caller=caller, body=body)
            if route.stream:
                response: web.StreamResponse = await route.handler(call)
                return response
            with cloud.docs.transaction():
                result = route.handler(call)
        except ApiError as error:
            return service.refuse(error)
        return _respond(result)

    return answer


def _authenticate(cloud: Cloud, request: web.Request) -> Token:
    ident = request.headers.get("X-Auth-Token")
    if not ident:
        raise ApiError(401, UNAUTHORIZED, headers={"WWW-Authenticate": f'Keystone uri="{_identity(request)}"'})
    try:
        return cloud.tokens.validate(ident)
    except ApiError as exc:
        raise ApiError(401, UNAUTHORIZED, headers={"WWW-Authenticate": f'Keystone uri="{_identity(request)}"'}) from exc


def _identity(request: web.Request) -> str:
    return f"{request.scheme}://{request.host}/identity/v3"


async def _body(request: web.Request) -> Any:
    raw = await request.read()
    if not raw.strip():
        return None
    try:
        return json.loads(raw)
    except ValueError as exc:
        raise ApiError(400, "Malformed request body: it is no JSON.", "HTTPBadRequest") from exc


def _respond(result: Any) -> web.Response:
    answer = result if isinstance(result, Answer) else Answer(body=result)
    if answer.body is None:
        return web.Response(status=answer.status, headers=answer.headers)
    return web.json_response(answer.body, status=answer.status, headers=answer.headers)
