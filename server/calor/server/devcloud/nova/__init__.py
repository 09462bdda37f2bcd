"""Compute v2.1 with microversions."""

from calor.server.devcloud.calls import Service
from calor.server.devcloud.nova import actions, flavors, keypairs, server_parts, servers, surroundings
from calor.server.devcloud.service_faults import refuse

NOVA = Service(
    type="compute",
    name="nova",
    prefix="/compute",
    endpoint="/compute/v2.1",
    routes=(
        *surroundings.ROUTES,
        *flavors.ROUTES,
        *keypairs.ROUTES,
        *servers.ROUTES,
        *server_parts.ROUTES,
        *actions.ROUTES,
    ),
    refuse=refuse,
)
