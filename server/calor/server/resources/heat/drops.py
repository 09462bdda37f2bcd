"""Where guests that cannot call us leave their signals: an object of the user's object store, or a queue of his.

What lies there is looked at level by level: it has a key of its own, so that nothing is counted twice, and it is
removed only once what it says is durable.
"""

import json
from collections.abc import Mapping
from typing import Any, Protocol

from calor.server.resources import object_store, queues
from calor.server.resources.base import Context

SERVICES: Mapping[str, str] = {"TEMP_URL_SIGNAL": "object-store", "ZAQAR_SIGNAL": queues.SERVICE_TYPE}
"""What each of these transports needs of the cloud."""


class Drop(Protocol):
    async def open(self, at: Context) -> None:
        """Make the place. Idempotent."""
        ...

    async def arrived(self, at: Context, seen: Mapping[str, Any], *, fresh: bool) -> Mapping[str, Mapping[str, Any]]:
        """Key to details of what lies there beyond ``seen``, oldest first; waits a little for it."""
        ...

    async def close(self, at: Context) -> None:
        """Remove the place and all in it."""
        ...


def details_of(body: Any) -> Mapping[str, Any]:
    """A signal's body as a map: a text may be JSON (guests send it under any type), all else is no detail."""
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except ValueError:
            return {}
    return body if isinstance(body, Mapping) else {}


def needed(properties: Mapping[str, Any], name: str = "signal_transport") -> list[tuple[str, str]]:
    """For `ResourceType.needs_services`."""
    service = SERVICES.get(str(properties.get(name)))
    return [] if service is None else [(name, service)]


def recorded(record: Any) -> "Drop | None":
    """The drop that a handle remembers."""
    if not isinstance(record, Mapping):
        return None
    if "queue" in record:
        return QueueDrop(str(record["queue"]))
    return ObjectDrop(str(record["container"]), str(record["object"]), versioned=True)


class ObjectDrop:
    """``TEMP_URL_SIGNAL``: the guest puts the object; who waits shares one listing of the container."""

    def __init__(self, container: str, name: str, *, versioned: bool = False) -> None:
        self._container = container
        self._name = name
        self._versioned = versioned

    async def open(self, at: Context) -> None:
        await object_store.make(at, self._container, self._name, object_store.WAITING, versioned=self._versioned)

    async def url(self, at: Context) -> str:
        return await object_store.url(at, self._container, self._name, "PUT")

    async def arrived(self, at: Context, seen: Mapping[str, Any], *, fresh: bool) -> Mapping[str, Mapping[str, Any]]:
        known = await object_store.versions(at, self._container, self._name, fresh=fresh)
        found = {}
        for key, name in known.items():
            if key not in seen:
                body = await object_store.content(at, self._container, name)
                if body is not None:
                    found[key] = details_of(body)
        return found

    async def close(self, at: Context) -> None:
        await object_store.forget(at, self._container, self._name)


class QueueDrop:
    """``ZAQAR_SIGNAL``: the guest posts to a queue of this one run."""

    def __init__(self, queue: str) -> None:
        self.queue = queue

    async def open(self, at: Context) -> None:
        await queues.make(at, self.queue)

    async def arrived(self, at: Context, seen: Mapping[str, Any], *, fresh: bool) -> Mapping[str, Mapping[str, Any]]:
        if not fresh:
            await at.sleep(queues.LOOK_AGAIN)
        found = await queues.messages(at, self.queue)
        for old in found.keys() & seen.keys():
            await queues.remove(at, self.queue, old)
        return {key: details_of(body) for key, body in found.items() if key not in seen}

    async def close(self, at: Context) -> None:
        await queues.forget(at, self.queue)
