"""The collaborators that work on resources needs, put together once by the orchestrator."""

from dataclasses import dataclass

from calor.server.cloud.door import CloudDoor
from calor.server.engine.durable.clock import Clock
from calor.server.engine.durable.hub import Hub
from calor.server.engine.durable.journal import Journal
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
from calor.server.engine.revision.gate import Gate
from calor.server.engine.revision.revisions import Blueprints
from calor.server.engine.settings import Settings
from calor.server.identity import UrlSigner
from calor.server.resources.base import Registry
from calor.server.resources.lookup import Lookup
from calor.server.store.database import Database


@dataclass(frozen=True, kw_only=True)
class Tools:
    database: Database
    journal: Journal
    clock: Clock
    settings: Settings
    registry: Registry
    door: CloudDoor
    lookup: Lookup
    sealing: Sealing
    signer: UrlSigner
    hub: Hub
    signals: Signals
    configs: StoredConfigs
    deployments: StoredDeployments
    blueprints: Blueprints
    secrets: RunSecrets
    outputs: RunOutputs
    verdicts: Verdicts
    mailboxes: Mailboxes
    pushes: Pushes
    contacts: Contacts
    identities: GuestIdentities
    gate: Gate
