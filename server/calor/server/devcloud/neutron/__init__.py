"""Network v2.0: networks, subnets, ports, routers, floating IPs, security groups."""

from aiohttp import web

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Service
from calor.server.devcloud.neutron import (
    floating_ips,
    networks,
    ports,
    routers,
    security_groups,
    subnets,
    surroundings,
)


def refuse(error: ApiError) -> web.Response:
    if error.status == 401:
        body = {"error": {"code": 401, "title": "Unauthorized", "message": error.message}}
    else:
        body = {"NeutronError": {"type": error.kind or "HTTPBadRequest", "message": error.message, "detail": ""}}
    return web.json_response(body, status=error.status, headers=error.headers)


NEUTRON = Service(
    type="network",
    name="neutron",
    prefix="/network",
    endpoint="/network",
    routes=(
        *networks.ROUTES,
        *subnets.ROUTES,
        *ports.ROUTES,
        *routers.ROUTES,
        *floating_ips.ROUTES,
        *security_groups.ROUTES,
        *surroundings.ROUTES,
    ),
    refuse=refuse,
)
