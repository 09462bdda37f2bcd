"""The collaborators that work on resources needs, put together once by the orchestrator."""

from dataclasses import dataclass

from calor.server.cloud.door import CloudDoor
from calor.server.engine.clock import Clock
from calor.server.engine.contacts import Contacts
from calor.server.engine.deployments import StoredDeployments
from calor.server.engine.gate import Gate
from calor.server.engine.hub import Hub
from calor.server.engine.identities import GuestIdentities
from calor.server.engine.inventory import StoredConfigs
from calor.server.engine.journal import Journal
from calor.server.engine.mailboxes import Mailboxes
from calor.server.engine.pushing import Pushes
from calor.server.engine.revisions import Blueprints
from calor.server.engine.run_outputs import RunOutputs
from calor.server.engine.run_secrets import RunSecrets
from calor.server.engine.sealing import Sealing
from calor.server.engine.settings import Settings
from calor.server.engine.signals import Signals
from calor.server.engine.verdicts import Verdicts
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
