"""Servers whose guests are told by an object or a queue (POLL_TEMP_URL, ZAQAR_MESSAGE): their metadata is written there
whenever it or their deployments change.

Level-triggered: each round compares what was written with what there is, so that a crash, or another process, between a
change and its writing costs time only. Writing the same twice does no harm.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote
from weakref import WeakValueDictionary

from sqlalchemy.exc import IntegrityError

from calor.server.cloud.credentials import Credentials
from calor.server.cloud.door import Cloud, CloudDoor
from calor.server.cloud.errors import CloudError, CloudMissing
from calor.server.engine.durable.hub import Hub
from calor.server.engine.durable.journal import Journal
from calor.server.engine.durable.mailboxes import POSTED
from calor.server.engine.durable.sealing import Sealing
from calor.server.engine.guests.deployments import StoredDeployments
from calor.server.identity import SealBroken
from calor.server.resources import queues
from calor.server.store import guest_queries, queries
from calor.server.store.database import Database
from calor.server.store.guest_models import Push
from calor.server.store.rows import PushRow, ResourceRow
from calor.server.store.writes import Change, Insert, Remove, Write
from calor.server.template import reveal

log = logging.getLogger(__name__)

EVERY = 15.0
"""Seconds between two rounds that nothing asked for: another process may have left something to write."""
GATHER = 0.05
AT_ONCE = 16
UNREAD = 20
LONGEST = 1209600
"""Seconds that a message may lie in a queue, by the service's default limit."""


async def metadata_of(deployments: StoredDeployments, sealing: Sealing, row: ResourceRow) -> dict[str, Any]:
    """A server's metadata as its agent sees it, secrets in the clear."""
    known = dict(reveal(sealing.value(row.meta) or {}))
    known["deployments"] = await deployments.heat_json(row.physical_id or "")
    return known


class Pushes:
    def __init__(
        self,
        database: Database,
        journal: Journal,
        sealing: Sealing,
        hub: Hub,
        door: CloudDoor,
        deployments: StoredDeployments,
    ) -> None:
        self._database = database
        self._journal = journal
        self._sealing = sealing
        self._hub = hub
        self._door = door
        self._deployments = deployments
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def register(self, resource_id: str, target: Mapping[str, str] | None) -> None:
        """From now on write there; None: to nowhere."""
        if target is None:
            await self._journal.commit([self.gone(resource_id)])
            async with self._turn(resource_id):  # what is being written now is there before it is taken away
                return
        values = {"target": json.dumps(dict(target)), "version": -1, "row_at": None}
        try:
            await self._journal.commit([Insert(Push, {"resource_id": resource_id, **values})])
        except IntegrityError:
            await self._journal.commit([Change(Push, {"resource_id": resource_id}, values)])
        self._hub.wake(POSTED)

    def _turn(self, resource_id: str) -> asyncio.Lock:
        return self._turns.setdefault(resource_id, asyncio.Lock())

    def gone(self, resource_id: str) -> Write:
        return Remove(Push, {"resource_id": resource_id})

    async def run(self) -> None:
        """For ever; first what a process that died has left to write."""
        with self._hub.listen(POSTED) as listener:
            while True:
                try:
                    await self.round()
                except Exception:  # the outermost frame of a task: the next round tries again
                    log.exception("metadata could not be written out")
                await listener.wait(EVERY)
                await asyncio.sleep(GATHER)

    async def round(self) -> None:
        """Write all that is not yet written as it is now."""
        due = await guest_queries.due_pushes(self._database)
        for begin in range(0, len(due), AT_ONCE):
            await asyncio.gather(*(self._write(row) for row in due[begin : begin + AT_ONCE]))

    async def _write(self, push: PushRow) -> None:
        async with self._turn(push.resource_id):
            if await guest_queries.push(self._database, push.resource_id):
                await self._write_out(push)

    async def _write_out(self, push: PushRow) -> None:
        row = await queries.resource(self._database, push.resource_id)
        if row is None or row.physical_id is None:
            return
        try:
            cloud = await self._cloud(row)
            await deliver(cloud, json.loads(push.target), await metadata_of(self._deployments, self._sealing, row))
        except (CloudError, SealBroken) as error:
            said = error.detail if isinstance(error, CloudError) else str(error)
            log.warning("metadata could not be written out", extra={"resource": row.name, "error": said})
            return
        values = {"version": push.due, "row_at": push.due_at}
        await self._journal.commit([Change(Push, {"resource_id": push.resource_id}, values)])

    async def _cloud(self, row: ResourceRow) -> Cloud:
        """With the rights kept for the tree of stacks."""
        root = await queries.stack(self._database, row.root_id)
        known = self._sealing.value(root.credentials) if root is not None else None
        record = (known or {}).get("owner")
        if record is None:
            raise CloudMissing(f"The stack of {row.name} has no rights of its own to write with.")
        return self._door.open(Credentials.from_record(record))


async def deliver(cloud: Cloud, target: Mapping[str, str], document: Mapping[str, Any]) -> None:
    """Put the document in the object's place, or as the queue's one message."""
    if "queue" not in target:
        path = f"/{quote(target['container'], safe='')}/{quote(target['object'])}"
        text = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
        await cloud.call("object_store", "put", path, data=text, headers={"Content-Type": "application/json"})
        return
    path, headers = f"/queues/{target['queue']}/messages", queues.headers(target["queue"])
    await cloud.call(queues.SERVICE, "delete", path, params={"pop": str(UNREAD)}, headers=headers)
    message = {"body": document, "ttl": LONGEST}
    await cloud.call(queues.SERVICE, "post", path, json={"messages": [message]}, headers=headers)
