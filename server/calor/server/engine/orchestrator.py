"""One engine process: puts its parts together, takes up what is unfinished, and stops at a durable point."""

import asyncio
import logging
import socket
import uuid
from collections.abc import Awaitable, Callable
from datetime import timedelta

from calor.server.cloud.door import CloudDoor
from calor.server.engine.durable.clock import Clock, SystemClock
from calor.server.engine.durable.hub import Hub
from calor.server.engine.durable.journal import Journal
from calor.server.engine.durable.leases import Leases
from calor.server.engine.durable.mailboxes import Mailboxes
from calor.server.engine.durable.sealing import Sealing
from calor.server.engine.guests.contacts import Contacts
from calor.server.engine.guests.deployments import StoredDeployments
from calor.server.engine.guests.identities import GuestIdentities
from calor.server.engine.guests.inventory import StoredConfigs
from calor.server.engine.guests.pushing import Pushes
from calor.server.engine.guests.run_outputs import RunOutputs
from calor.server.engine.guests.run_secrets import RunSecrets
from calor.server.engine.guests.signals import Signals
from calor.server.engine.guests.verdicts import Verdicts
from calor.server.engine.reconcile.receiving import Receiver
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.reconcile.trees import Trees
from calor.server.engine.revision.gate import Gate
from calor.server.engine.revision.revisions import Blueprints
from calor.server.engine.services.catalogue import CatalogueService
from calor.server.engine.services.events import EventService
from calor.server.engine.services.guests import GuestService
from calor.server.engine.services.messaging import QueueService
from calor.server.engine.services.plans import PlanService
from calor.server.engine.services.progress import ProgressService
from calor.server.engine.services.resources import ResourceService
from calor.server.engine.services.runs import RunService
from calor.server.engine.services.software import ConfigService, DeploymentService
from calor.server.engine.services.stacks import StackService
from calor.server.engine.settings import Settings
from calor.server.engine.workers.workers import Workers
from calor.server.identity import BearerTokens, BootstrapTokens, Keys, UrlSigner, Vault
from calor.server.resources.base import Registry
from calor.server.resources.lookup import Lookup
from calor.server.store import queries
from calor.server.store.database import Database
from calor.server.store.models import Service
from calor.server.store.writes import Change, Insert

log = logging.getLogger(__name__)

RECOVER_EVERY = 3.0
LOOK_AROUND_EVERY = 2.0
NEIGHBOURS_EVERY = 10.0
"""Seconds after which to look whether there are other processes."""


def tools_of(
    database: Database, keys: Keys, door: CloudDoor, registry: Registry, settings: Settings, clock: Clock
) -> Tools:
    """The collaborators of one process, none of them started."""
    journal = Journal(database, clock, settings.lease_ttl)
    sealing, hub, signer = Sealing(Vault.of(keys)), Hub(), UrlSigner.of(keys)
    configs = StoredConfigs(database, journal, sealing, clock)
    contacts, mailboxes = Contacts(journal, clock), Mailboxes(database, journal, hub)
    blueprints = Blueprints(database, sealing, registry)
    secrets = RunSecrets(database, sealing, configs, blueprints)
    outputs = RunOutputs(database, journal, hub, sealing, clock, secrets)
    deployments = StoredDeployments(
        database, journal, mailboxes, configs, contacts, hub, sealing, clock, settings, outputs
    )
    return Tools(
        database=database,
        journal=journal,
        clock=clock,
        settings=settings,
        registry=registry,
        door=door,
        lookup=Lookup(),
        sealing=sealing,
        signer=signer,
        hub=hub,
        signals=Signals(database, journal, hub, sealing, clock),
        configs=configs,
        deployments=deployments,
        pushes=Pushes(database, journal, sealing, hub, door, deployments),
        blueprints=blueprints,
        secrets=secrets,
        outputs=outputs,
        verdicts=Verdicts(database, journal, hub, contacts, sealing, clock, settings),
        mailboxes=mailboxes,
        contacts=contacts,
        identities=GuestIdentities(database, journal, sealing, BootstrapTokens.of(keys), settings),
        gate=Gate(Workers(settings.workers), settings),
    )


class Orchestrator:
    """All services of one engine process (`services.Orchestrator`)."""

    def __init__(
        self,
        database: Database,
        keys: Keys,
        door: CloudDoor,
        registry: Registry,
        settings: Settings | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._settings = settings or Settings()
        self._tools = tools_of(database, keys, door, registry, self._settings, clock or SystemClock())
        tools = self._tools
        self._leases = Leases(database, tools.journal, tools.clock, self._settings.lease_ttl)
        blueprints = tools.blueprints
        self._trees = Trees(tools, self._leases, blueprints)
        receiver = Receiver(tools, self._trees)
        self.stacks = StackService(tools, self._trees, blueprints)
        self.resources = ResourceService(tools, self._trees, blueprints, receiver)
        self.events = EventService(tools)
        self.plans = PlanService(tools, blueprints)
        self.configs = ConfigService(tools)
        self.deployments = DeploymentService(tools)
        self.runs = RunService(tools)
        self.progress = ProgressService(tools)
        self.guests = GuestService(tools, receiver, BearerTokens.of(keys), tools.signer)
        self.queues = QueueService(tools)
        self.catalogue = CatalogueService(tools)
        self._service_id = str(uuid.uuid4())
        self._chores: list[asyncio.Task[None]] = []
        self._has_neighbours = False
        self._asked_around: float | None = None

    async def start(self) -> None:
        self._tools.journal.start()
        await self._announce()
        await self._trees.recover()
        ttl = self._settings.lease_ttl.total_seconds()
        self._chores = [
            asyncio.create_task(_each(ttl / 3, self._renew), name="lease renewal"),
            asyncio.create_task(_each(RECOVER_EVERY, self._trees.recover), name="recovery"),
            asyncio.create_task(self._tools.pushes.run(), name="pushes"),
            asyncio.create_task(_each(30.0, self._tools.contacts.write_down), name="contacts"),
            asyncio.create_task(_each(self._settings.report_interval, self._beat), name="heartbeat"),
            asyncio.create_task(_each(5.0, self.runs.end_overdue), name="cancelled runs"),
            asyncio.create_task(_each(LOOK_AROUND_EVERY, self._look_around), name="neighbours"),
            asyncio.create_task(_each(3600.0, self._forget_output), name="old output"),
        ]

    async def stop(self) -> None:
        for chore in self._chores:
            chore.cancel()
        await asyncio.gather(*self._chores, return_exceptions=True)
        await self._trees.stop()
        await self._tools.gate.close()
        await self._tools.contacts.write_down()
        held = list(self._leases.held.values())
        if held:
            await self._tools.journal.commit([self._leases.given_back(fence) for fence in held])
        await self._tools.journal.stop()

    async def _renew(self) -> None:
        self._trees.lost(await self._leases.renew())

    async def _look_around(self) -> None:
        """What other processes have delivered to agents that ask here; nothing where there are none."""
        now = self._tools.clock.steady()
        if self._asked_around is None or now - self._asked_around >= NEIGHBOURS_EVERY:
            self._asked_around = now
            since = self._tools.clock.now() - timedelta(seconds=2 * self._settings.report_interval)
            self._has_neighbours = await queries.other_services(self._tools.database, self._service_id, since)
        if self._has_neighbours:
            await self._tools.mailboxes.look_around()

    async def _forget_output(self) -> None:
        await self._tools.outputs.forget_older(self._settings.keep_run_output)

    async def _announce(self) -> None:
        now = self._tools.clock.now()
        row = {
            "id": self._service_id,
            "engine_id": self._leases.owner[-36:],
            "host": socket.gethostname(),
            "created_at": now,
            "updated_at": now,
            "report_interval": self._settings.report_interval,
        }
        await self._tools.journal.commit([Insert(Service, row)])

    async def _beat(self) -> None:
        await self._tools.journal.commit(
            [Change(Service, {"id": self._service_id}, {"updated_at": self._tools.clock.now()})]
        )


async def _each(seconds: float, chore: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        try:
            await chore()
        except Exception:  # the outermost frame of a chore: it is tried again at its next turn
            log.exception("a chore failed", extra={"chore": getattr(chore, "__qualname__", "")})
