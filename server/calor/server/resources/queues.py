"""Queues of the cloud's messaging service (Zaqar, v2): messages are read without taking them, and removed once what
they say is durable here."""

import uuid
from collections.abc import Mapping
from typing import Any

from calor.server.cloud.errors import CloudMissing
from calor.server.resources.base import Context

SERVICE = "message"
SERVICE_TYPE = "messaging"
PAGE = 20
LOOK_AGAIN = 2.0
"""Seconds between two looks at a queue: the service has no listing that serves several."""


def headers(subject: str) -> Mapping[str, str]:
    """The service wants a client's id, by which it hides from a reader what he has written himself."""
    return {"Client-ID": str(uuid.uuid5(uuid.NAMESPACE_URL, f"calor:{subject}"))}


async def make(at: Context, queue: str) -> None:
    await at.cloud.call(SERVICE, "put", f"/queues/{queue}", json={}, headers=headers(at.me.id))


async def forget(at: Context, queue: str) -> None:
    try:
        await at.cloud.call(SERVICE, "delete", f"/queues/{queue}", headers=headers(at.me.id))
    except CloudMissing:
        return


async def messages(at: Context, queue: str) -> Mapping[str, Any]:
    """Id to body of the messages that lie there now, oldest first. What a guest wrote as text stays text."""
    found: dict[str, Any] = {}
    params: Mapping[str, str] = {"echo": "true", "limit": str(PAGE)}
    path = f"/queues/{queue}/messages"
    while True:
        answer = await at.cloud.call(SERVICE, "get", path, params=params, headers=headers(at.me.id))
        page = answer.get("messages") if isinstance(answer, Mapping) else None
        known = len(found)
        for one in page or ():
            found[str(one.get("id") or str(one["href"]).rpartition("/")[2].partition("?")[0])] = one.get("body")
        marker = _marker(answer)
        if len(found) == known or marker is None:
            return found
        params = {**params, "marker": marker}


def _marker(answer: Any) -> str | None:
    links = answer.get("links") if isinstance(answer, Mapping) else None
    href = next((str(one.get("href")) for one in links or () if one.get("rel") == "next"), "")
    return next((part.partition("=")[2] for part in href.partition("?")[2].split("&") if "marker=" in part), None)


async def remove(at: Context, queue: str, message: str) -> None:
    try:
        await at.cloud.call(SERVICE, "delete", f"/queues/{queue}/messages/{message}", headers=headers(at.me.id))
    except CloudMissing:
        return
