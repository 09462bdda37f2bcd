"""Software deployments: stored, waited for, and as agents see them."""

import uuid
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from calor.server.cloud.door import Cloud, Collection
from calor.server.cloud.errors import CloudError, CloudMissing
from calor.server.engine.durable.clock import Clock
from calor.server.engine.durable.hub import Hub
from calor.server.engine.durable.journal import Journal
from calor.server.engine.durable.mailboxes import Mailboxes
from calor.server.engine.durable.reasons import bounded
from calor.server.engine.durable.sealing import Sealing
from calor.server.engine.guests.consoles import last_words
from calor.server.engine.guests.contacts import Contact, Contacts, sentence
from calor.server.engine.guests.inventory import StoredConfigs, heat_json
from calor.server.engine.guests.run_outputs import RunOutputs
from calor.server.engine.settings import Settings
from calor.server.resources.base import Config, Deployment, ResourceFailed
from calor.server.store import guest_queries, queries
from calor.server.store.database import Database
from calor.server.store.guest_models import SoftwareConfig, SoftwareDeployment
from calor.server.store.rows import DeploymentRow, GuestRow, ResourceRow
from calor.server.store.writes import Change, Fence, Insert, Remove

SERVERS = Collection(service="compute", single="server", plural="servers")
KEPT = 256
LAST_OUTPUT = 600
"""Characters of a run's output in a reason."""
LOOK_AGAIN = 15.0
IN_PROGRESS = "IN_PROGRESS"
NOT_CANCELLED: Mapping[str, Any] = {"cancelled_by": None, "cancelled_at": None}


def run_id(deployment_id: str, config_id: str, action: str) -> str:
    """The same for the same (deployment, config), also after a crash; another for another config."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"calor:{deployment_id}:{config_id}:{action}"))


class StoredDeployments:
    """The deployments of all projects."""

    def __init__(
        self,
        database: Database,
        journal: Journal,
        mailboxes: Mailboxes,
        configs: StoredConfigs,
        contacts: Contacts,
        hub: Hub,
        sealing: Sealing,
        clock: Clock,
        settings: Settings,
        outputs: RunOutputs,
    ) -> None:
        self._database = database
        self._journal = journal
        self._mailboxes = mailboxes
        self._configs = configs
        self._contacts = contacts
        self._hub = hub
        self._sealing = sealing
        self._clock = clock
        self._settings = settings
        self._outputs = outputs
        self._kept: OrderedDict[str, tuple[int, Sequence[tuple[DeploymentRow, dict[str, Any]]]]] = OrderedDict()

    async def put(
        self,
        project_id: str,
        *,
        ident: str,
        server_id: str,
        config_id: str,
        action: str,
        input_values: Mapping[str, Any],
        status: str,
        status_reason: str = "",
        stack_id: str | None = None,
        source_id: str | None = None,
        asked_by: str | None = None,
        fence: Fence | None = None,
        config: Config | None = None,
    ) -> DeploymentRow:
        """``config`` where the caller has read it, for a deployment that cannot be there yet."""
        found = None if config is not None else await guest_queries.deployment(self._database, ident)
        run = run_id(ident, config_id, action)
        if found is not None and (found.run_id, found.server_id) == (run, server_id):
            return found  # put again after a crash: the run of before stands, ended or not
        config = config or await self._configs.get(project_id, config_id)
        values: dict[str, Any] = {
            "project_id": project_id,
            "stack_id": stack_id,
            "server_id": server_id,
            "config_id": config_id,
            "name": config.name if config is not None else "",
            "run_id": run,
            "action": action,
            "status": status,
            "status_reason": bounded(status_reason),
            "values": self._sealing.secret({"inputs": dict(input_values), "outputs": {}}),
            "source_id": source_id,
            "asked_by": asked_by,
            **NOT_CANCELLED,
        }
        now = self._clock.now()
        if found is None:
            row = DeploymentRow(id=ident, created_at=now, updated_at=None, **values)
            write: Insert | Change = Insert(SoftwareDeployment, {"id": ident, "created_at": now, **values})
        else:
            row = DeploymentRow(id=ident, created_at=found.created_at, updated_at=now, **values)
            write = Change(SoftwareDeployment, {"id": ident}, {"updated_at": now, **values})
        await self._mailboxes.post(server_id, [write], fence, subject=ident)
        return row

    def coming(self, ident: str, server_id: str) -> AbstractContextManager[None]:
        return self._mailboxes.announced(server_id, ident)

    async def row(self, ident: str) -> DeploymentRow | None:
        return await guest_queries.deployment(self._database, ident)

    async def finish(
        self, row: DeploymentRow, *, status: str, status_reason: str, output_values: Mapping[str, Any]
    ) -> DeploymentRow:
        """End a run that is in progress; one that ended already stays as it is."""
        current = await self.row(row.id)
        if current is None or current.status != IN_PROGRESS or current.run_id != row.run_id:
            return current or row
        inputs = self._sealing.value(current.values)["inputs"]
        values = {
            "status": status,
            "status_reason": bounded(status_reason),
            "values": self._sealing.secret({"inputs": inputs, "outputs": dict(output_values)}),
            "updated_at": self._clock.now(),
        }
        await self._outputs.take_whole(current, output_values)
        key = {"id": row.id, "run_id": row.run_id, "status": IN_PROGRESS}
        write = Change(SoftwareDeployment, key, values)
        if row.source_id is None:
            await self._journal.commit([write])
        else:
            await self._mailboxes.post(row.server_id, [write])  # no agent is to see it any more
        self._hub.wake(("deployment", row.id))
        return await self.row(row.id) or row

    async def rewrite(
        self,
        row: DeploymentRow,
        *,
        config_id: str,
        action: str,
        input_values: Mapping[str, Any],
        output_values: Mapping[str, Any],
        status: str,
        status_reason: str,
    ) -> DeploymentRow:
        """What a user says of a deployment by hand; another config starts a new run."""
        run = run_id(row.id, config_id, action) if config_id != row.config_id else row.run_id
        values = {
            "config_id": config_id,
            "run_id": run,
            "action": action,
            "status": status,
            "status_reason": bounded(status_reason),
            "values": self._sealing.secret({"inputs": dict(input_values), "outputs": dict(output_values)}),
            "updated_at": self._clock.now(),
            **(NOT_CANCELLED if run != row.run_id else {}),
        }
        await self._mailboxes.post(row.server_id, [Change(SoftwareDeployment, {"id": row.id}, values)])
        self._hub.wake(("deployment", row.id))
        return await self.row(row.id) or row

    async def delete(self, ident: str, fence: Fence | None = None) -> None:
        row = await self.row(ident)
        if row is not None:
            runs = await guest_queries.runs_of(self._database, ident)
            writes = [Remove(SoftwareDeployment, {"id": one.id}) for one in (row, *runs)]
            writes += [Remove(SoftwareConfig, {"id": one.config_id}) for one in runs]
            await self._mailboxes.post(row.server_id, writes, fence)
            for one in (row, *runs):
                self._hub.wake(("deployment", one.id))

    async def cancel(self, row: DeploymentRow, who: str) -> DeploymentRow:
        """Ask the guest to end a run; durable and visible to it when this returns."""
        values = {"cancelled_by": who[:255], "cancelled_at": self._clock.now()}
        key = {"id": row.id, "run_id": row.run_id, "status": IN_PROGRESS}
        await self._mailboxes.post(row.server_id, [Change(SoftwareDeployment, key, values)])
        return await self.row(row.id) or row

    async def finished(self, ident: str, cloud: Cloud) -> DeploymentRow:
        """Wait for the end of a run. Raises `ResourceFailed` with what is known of the guest."""
        began = self._clock.steady()
        with self._hub.listen(("deployment", ident)) as listener:
            while True:
                row = await self.row(ident)
                if row is None:
                    raise ResourceFailed("The deployment was deleted while it was waited for.")
                if row.status != IN_PROGRESS:
                    return row
                await listener.wait(await self._hope(row, cloud, began))

    async def _hope(self, row: DeploymentRow, cloud: Cloud, began: float) -> float:
        """Seconds after which to ask again. Raises `ResourceFailed` where the guest will not answer any more."""
        if row.action == "DELETE" and await self._is_gone(row, cloud):
            raise ServerGone(f"The server {row.server_id} is gone; its DELETE deployment has nobody to run it.")
        server, guest = await self.guest_of(row)
        if server is None or guest is None:
            return LOOK_AGAIN
        now = self._clock.now()
        contact = self._contacts.of(server.id, guest)
        if contact.at is None and await guest_queries.push(self._database, server.id):
            return LOOK_AGAIN  # it is told by an object: whether it reads that is not seen here
        silent = contact.silence(self._clock.steady(), began)
        if row.action == "DELETE" and contact.at is None and silent >= self._settings.gone_server_patience:
            raise ServerGone(sentence(server.name, contact, now))
        limit = self._settings.contact_timeout
        if limit and silent >= limit:
            raise ResourceFailed(
                f"No contact for {int(silent.total_seconds())} s (contact time-out). "
                + await self._known(row, server, contact)
                + await last_words(cloud, row.server_id)
            )
        if limit and contact.is_stuck(self._clock.steady(), limit):
            raise ResourceFailed(await self._known(row, server, contact))
        return min(LOOK_AGAIN, (limit - silent).total_seconds()) if limit else LOOK_AGAIN

    async def _is_gone(self, row: DeploymentRow, cloud: Cloud) -> bool:
        server, _ = await self.guest_of(row)
        if server is not None and server.id == server.physical_id:
            return False  # an OS::Heat::DeployedServer: the cloud does not know it
        try:
            record = await cloud.get(SERVERS, row.server_id)
        except CloudMissing:
            return True
        except CloudError:  # not known: it may come back, the time-out decides
            return False
        return str(record.get("status", "")).upper() in {"DELETED", "SOFT_DELETED"}

    async def guest_of(self, row: DeploymentRow) -> tuple[ResourceRow | None, GuestRow | None]:
        server = await queries.resource_by_physical_id(self._database, row.project_id, row.server_id)
        guest = None if server is None else await guest_queries.guest(self._database, server.id)
        return server, guest

    async def knowledge(self, ident: str) -> str:
        """What is known of the guest that a deployment waits for; empty when it is none of ours."""
        row = await self.row(ident)
        if row is None:
            return ""
        server, guest = await self.guest_of(row)
        if server is None or guest is None:
            return ""
        return await self._known(row, server, self._contacts.of(server.id, guest))

    async def _known(self, row: DeploymentRow, server: ResourceRow, contact: Contact) -> str:
        """What is known of a guest and of its run, by its own word or by what it printed last. Of the runs of others
        it tells which this one waits behind, and nothing that they print."""
        own = [item for item in contact.running if item.get("run_id") == row.run_id]
        ahead = [] if own else [name async for name in self._ahead(contact)]
        said = sentence(server.name, replace(contact, running=own), self._clock.now(), ahead)
        if any(item.get("tail") for item in own):
            return said
        last = (await self._outputs.ending(row.run_id)).strip()[-LAST_OUTPUT:]
        return f"{said} Last output: {last}" if last else said

    async def _ahead(self, contact: Contact) -> AsyncIterator[str]:
        """The names of what a guest runs; what has ended since it said so is left out."""
        for item in contact.running:
            found = await self.row(str(item.get("deployment_id")))
            if found is not None and found.run_id == item.get("run_id") and found.status == IN_PROGRESS:
                ident = found.source_id or found.id
                resource = await queries.resource_of_deployment(self._database, found.project_id, ident)
                yield resource.name if resource is not None else found.name or found.id

    async def heat_json(self, server_id: str) -> list[dict[str, Any]]:
        """The deployments of a server in Heat's JSON, in name order."""
        return [document for _, document in await self.heat_documents(server_id)]

    async def heat_documents(self, server_id: str) -> Sequence[tuple[DeploymentRow, dict[str, Any]]]:
        """Agents of others know no cancelling, and signal a run on demand to the deployment that it is of: they see
        neither."""
        documents = await self._documents(server_id)
        return [(row, one) for row, one in documents if row.source_id is None and row.cancelled_at is None]

    async def native_json(self, server_id: str) -> list[dict[str, Any]]:
        """The same for our agent: with run ids."""
        documents = []
        for row, document in await self._documents(server_id):
            options = document["options"]
            mark = {
                "deployment_id": row.id,
                "run_id": row.run_id,
                "retries": options.get("retries", 0),
                "timeout": options.get("timeout"),
            }
            documents.append(document | {"calor": mark})
        return documents

    async def run_ids(self, server_id: str) -> list[str]:
        return [row.run_id for row, _ in await self._documents(server_id)]

    async def moot(self, server_id: str, running: Sequence[Mapping[str, Any]]) -> list[str]:
        """The runs that a guest has to end: those ``running`` (as heartbeats name them) which nobody wants any more,
        and the cancelled ones. One without a deployment's id came by another transport, with an id of its own: it is
        not ours to end."""
        rows = [row for row, _ in await self._documents(server_id)]
        wanted = {row.run_id for row in rows}
        ours = [str(one.get("run_id")) for one in running if one.get("deployment_id")]
        return [run for run in ours if run not in wanted] + [row.run_id for row in rows if row.cancelled_at]

    async def rows(
        self, *, project_id: str | None = None, server_id: str | None = None, config_id: str | None = None
    ) -> Sequence[DeploymentRow]:
        return await guest_queries.deployments(
            self._database, project_id=project_id, server_id=server_id, config_id=config_id
        )

    async def _documents(self, server_id: str) -> Sequence[tuple[DeploymentRow, dict[str, Any]]]:
        """Kept in memory for the version of the server's mailbox: most polls ask for what has not changed."""
        version = await self._mailboxes.version(server_id)
        kept = self._kept.get(server_id)
        if kept is not None and kept[0] == version:
            return kept[1]
        found = await guest_queries.deployments(self._database, server_id=server_id, on_demand=True)
        rows = [row for row in found if row.source_id is None or row.status == IN_PROGRESS]
        configs = await self._configs.of([row.config_id for row in rows])
        documents = [(row, heat_json(configs[row.config_id])) for row in rows if row.config_id in configs]
        self._kept[server_id] = version, documents
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return documents

    def value(self, row: DeploymentRow) -> Deployment:
        values = self._sealing.value(row.values)
        return Deployment(
            id=row.id,
            server_id=row.server_id,
            config_id=row.config_id,
            action=row.action,
            status=row.status,
            status_reason=row.status_reason,
            input_values=values["inputs"],
            output_values=values["outputs"],
        )


class ServerGone(ResourceFailed):
    """Nobody is left to run a DELETE deployment: the deletion goes on, with a warning."""
