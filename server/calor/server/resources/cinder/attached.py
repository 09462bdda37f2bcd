"""Attaching volumes to servers and taking them off: the pair of volume and server is the natural key."""

import contextlib
from collections.abc import AsyncIterator

from calor.server.cloud.door import Record
from calor.server.cloud.errors import CloudError, CloudMissing
from calor.server.resources.base import Context
from calor.server.resources.collections import VOLUMES

PAUSE = 0.5
FAILED = frozenset({"ERROR", "ERROR_ATTACHING", "ERROR_DETACHING"})


async def attach(at: Context, server: str, volume: str, device: str | None) -> str:
    """The attachment's id, which is the volume's; of one that is there already too."""
    body = {"volumeId": volume, **({"device": device} if device else {})}
    path = f"/servers/{server}/os-volume_attachments"
    try:
        answer = await at.cloud.call("compute", "post", path, json={"volumeAttachment": body})
    except CloudError:
        there = await attachment(at, server, volume)
        if there is None:
            raise
        return str(there["id"])
    return str(answer["volumeAttachment"]["id"])


async def attached(at: Context, volume: str) -> None:
    """Wait until the volume says so."""
    await at.cloud.settled(VOLUMES, volume, ready=frozenset({"IN-USE"}), failed=FAILED)


async def detach(at: Context, server: str, volume: str) -> None:
    try:
        await at.cloud.call("compute", "delete", f"/servers/{server}/os-volume_attachments/{volume}")
    except CloudMissing:
        return


async def detached(at: Context, server: str, volume: str) -> None:
    """Wait until the volume is free of the server; a volume or server that is gone is."""
    while True:
        try:
            record = await at.cloud.settled(VOLUMES, volume, ready=frozenset({"AVAILABLE", "IN-USE"}), failed=FAILED)
        except CloudMissing:
            return
        if not any(one.get("server_id") == server for one in record.get("attachments") or ()):
            return
        await at.sleep(PAUSE)


async def attachment(at: Context, server: str, volume: str) -> Record | None:
    try:
        answer = await at.cloud.call("compute", "get", f"/servers/{server}/os-volume_attachments")
    except CloudMissing:
        return None
    return next((one for one in answer["volumeAttachments"] if one["volumeId"] == volume), None)


@contextlib.asynccontextmanager
async def while_detached(at: Context, record: Record) -> AsyncIterator[None]:
    """Take a volume off its servers for a moment. What was attached is durable, so that a crash leaves nothing off."""
    volume = str(record["id"])
    held = at.me.data.get("reattach") or [
        [one["server_id"], one.get("device")] for one in record.get("attachments") or ()
    ]
    await at.remember(reattach=held or None)
    for server, _ in held:
        await detach(at, server, volume)
        await detached(at, server, volume)
    yield
    for server, device in held:
        await attach(at, server, volume, device)
        await attached(at, volume)
    await at.remember(reattach=None)
