"""Block storage v3."""

from calor.server.devcloud.calls import Service
from calor.server.devcloud.cinder import snapshots, surroundings, volumes
from calor.server.devcloud.service_faults import refuse

CINDER = Service(
    type="block-storage",
    name="cinder",
    prefix="/volume",
    endpoint="/volume/v3/{project_id}",
    routes=(*surroundings.ROUTES, *volumes.ROUTES, *snapshots.ROUTES),
    refuse=refuse,
    aliases=("volumev3",),
)
