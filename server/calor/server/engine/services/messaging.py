"""Queues for guests: an agent with a password of ours reaches the queues made for it, and no others, with the rights of
its stack's owner. It has no Keystone user of its own, so that the real service would not know it."""

from collections.abc import Mapping
from typing import Any

from calor.server.cloud.credentials import Credentials
from calor.server.cloud.errors import CloudError
from calor.server.engine.contract.views import InstanceIdentity
from calor.server.engine.reconcile.tools import Tools
from calor.server.errors import EntityNotFound, Forbidden, ServiceUnavailable
from calor.server.resources import queues
from calor.server.store import queries

ID_LENGTH = 36
WAYS = frozenset(
    {("get", "messages"), ("post", "messages"), ("delete", "messages"), ("post", "claims"), ("get", "claims")}
)
WAYS |= {("delete", "claims"), ("patch", "claims")}


class QueueService:
    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def call(
        self, who: InstanceIdentity, method: str, queue: str, path: str, params: Mapping[str, str], body: Any
    ) -> Any:
        """The service's own answer. ``path`` is what follows the queue's name. Raises `Forbidden` for a queue of
        another, `ServiceUnavailable` where the service does not answer."""
        if queue[:ID_LENGTH] != who.resource_id or not _is_plain(queue[ID_LENGTH:]):
            raise Forbidden("The agent may use only the queues that were made for it.")
        parts = path.strip("/").split("/")
        if (method, parts[0]) not in WAYS or len(parts) > 2:
            raise Forbidden(f"{method.upper()} of {path or 'a queue'} is not for agents.")
        stack = await queries.stack(self._tools.database, who.stack_id)
        root = await queries.stack(self._tools.database, stack.root_id) if stack is not None else None
        owner = (self._tools.sealing.value(root.credentials) or {}).get("owner") if root is not None else None
        if owner is None:
            raise EntityNotFound("The stack of this agent is not there any more.")
        cloud = self._tools.door.open(Credentials.from_record(owner))
        more = {} if body is None else {"json": body}
        try:
            return await cloud.call(
                queues.SERVICE,
                method,
                f"/queues/{queue}/{'/'.join(parts)}",
                params=dict(params),
                headers=queues.headers(f"guest {who.resource_id}"),
                **more,
            )
        except CloudError as error:
            if error.code == 404:
                raise EntityNotFound(error.detail) from error
            if 400 <= error.code < 500:
                raise Forbidden(error.detail) from error
            raise ServiceUnavailable(f"The messaging service does not answer: {error.detail}") from error


def _is_plain(rest: str) -> bool:
    """``-NUMBER``, or nothing."""
    return not rest or (rest[0] == "-" and rest[1:].isdecimal())
