"""What an interrupted creation has made: looked for before anything is created again, or given up as never made."""

import asyncio
from datetime import datetime
from typing import Any

from calor.server.engine.reconcile.bench import Bench
from calor.server.engine.reconcile.context import ResourceContext
from calor.server.engine.reconcile.stopping import Stop
from calor.server.resources.base import ResourceType

PAUSE = 0.5


async def find(
    bench: Bench, kind: ResourceType[Any], at: ResourceContext, props: Any, stop: Stop, *, since: datetime | None
) -> str | None:
    """The physical id, or None. ``since``: when the request may have gone out whose end nobody saw. A cloud goes on
    with a request though its sender has died, so the twin may appear a while later (None: it has been answered)."""
    if type(kind).find_twin is ResourceType.find_twin:
        return None
    settings, clock = bench.tools.settings, bench.tools.clock
    grace = settings.create_grace.total_seconds()
    while True:
        twin = await stop.run(kind.find_twin(at, props), grace=grace)
        if twin is not None or since is None or clock.now() - since >= settings.twin_patience:
            return twin
        await stop.run(asyncio.sleep(PAUSE))
