"""What cloud-init came to inside servers (F097): told by the agent, waited for by the server's resource."""

from collections.abc import Mapping
from typing import Any

from calor.server.engine.durable.clock import Clock
from calor.server.engine.durable.hub import Hub
from calor.server.engine.durable.journal import Journal
from calor.server.engine.durable.reasons import bounded
from calor.server.engine.durable.sealing import Sealing
from calor.server.engine.guests.contacts import Contacts, sentence
from calor.server.engine.settings import Settings
from calor.server.resources.base import BootVerdict, ResourceFailed
from calor.server.store import guest_queries, queries
from calor.server.store.database import Database
from calor.server.store.guest_models import Guest
from calor.server.store.rows import GuestRow
from calor.server.store.writes import Change

LOOK_AGAIN = 5.0
LONGEST = 4000


class Verdicts:
    def __init__(
        self,
        database: Database,
        journal: Journal,
        hub: Hub,
        contacts: Contacts,
        sealing: Sealing,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._database = database
        self._journal = journal
        self._hub = hub
        self._contacts = contacts
        self._sealing = sealing
        self._clock = clock
        self._settings = settings

    async def store(self, resource_id: str, sent: Mapping[str, Any]) -> None:
        errors = sent.get("errors")
        verdict = {
            "status": bounded(str(sent.get("status")), 100),
            "errors": [bounded(str(one), LONGEST) for one in (errors if isinstance(errors, list) else ())][:20],
            "log": bounded(str(sent.get("log") or ""), LONGEST),
            "time": self._clock.now().isoformat(timespec="seconds"),
        }
        write = Change(Guest, {"resource_id": resource_id}, {"verdict": self._sealing.secret(verdict)})
        await self._journal.commit([write])
        self._hub.wake(("verdict", resource_id))

    async def forget(self, resource_id: str) -> None:
        await self._journal.commit([Change(Guest, {"resource_id": resource_id}, {"verdict": None})])

    async def wait(self, resource_id: str) -> BootVerdict:
        """Raises `ResourceFailed` when the guest stays silent for longer than the contact time-out."""
        began = self._clock.steady()
        with self._hub.listen(("verdict", resource_id)) as listener:
            while True:
                guest = await guest_queries.guest(self._database, resource_id)
                if guest is not None and guest.verdict is not None:
                    found = self._sealing.value(guest.verdict)
                    return BootVerdict(status=found["status"], errors=tuple(found["errors"]), log=found["log"])
                await self._check_silence(resource_id, guest, began)
                await listener.wait(LOOK_AGAIN)

    async def _check_silence(self, resource_id: str, guest: GuestRow | None, began: float) -> None:
        server = await queries.resource(self._database, resource_id)
        limit = self._settings.contact_timeout
        if server is None or not limit:
            return
        contact = self._contacts.of(resource_id, guest)
        silent = contact.silence(self._clock.steady(), began)
        if silent >= limit:
            raise ResourceFailed(
                f"No word of cloud-init's end for {int(silent.total_seconds())} s (contact time-out). "
                + sentence(server.name, contact, self._clock.now())
            )
