"""Networks and routers put on chosen agents: for administrators."""

from collections.abc import Iterable

from calor.server.cloud.errors import CloudConflict
from calor.server.resources.base import Context


async def place(at: Context, plural: str, key: str, want: Iterable[str], was: Iterable[str]) -> None:
    """Make the object hosted by the agents of ``want`` and no longer by others of ``was``.

    ``plural`` is the agents' collection (``dhcp-networks``, ``l3-routers``), ``key`` the id's name in the body.
    """
    wanted, had = set(want), set(was)
    for agent in sorted(had - wanted):
        await at.cloud.call("network", "delete", f"/agents/{agent}/{plural}/{at.me.physical_id}")
    for agent in sorted(wanted - had):
        try:
            await at.cloud.call("network", "post", f"/agents/{agent}/{plural}", json={key: at.me.physical_id})
        except CloudConflict:
            continue  # it is there already, from before a crash
