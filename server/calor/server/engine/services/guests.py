"""The service of guests: enrolment, tokens, the long poll, results, metadata. Everything is bounded to one server."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy.exc import IntegrityError

from calor.server.engine.contract.views import GuestDeployments, InstanceIdentity, ResourceView
from calor.server.engine.durable.reasons import bounded
from calor.server.engine.guests import outcomes
from calor.server.engine.guests.contacts import MOST_RUNNING
from calor.server.engine.guests.pushing import metadata_of
from calor.server.engine.reconcile import happenings
from calor.server.engine.reconcile.receiving import Receiver
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.services import presenting
from calor.server.errors import BadRequest, Conflict, EntityNotFound, Forbidden, Unauthorized
from calor.server.identity import BearerTokens, InstanceClaims, UrlSigner, hash_secret, same
from calor.server.store import guest_queries, queries
from calor.server.store.guest_models import Run
from calor.server.store.rows import GuestRow, ResourceRow, StackRow
from calor.server.store.states import Action, Status
from calor.server.store.writes import Insert
from calor.server.template import reveal

MOST_PIECES = 8
LONGEST_TEXT = 4000
DELETED = "The server of this token has been deleted."
REFUSED = "The secret is not the one that was enrolled for this instance."
OWN_ONLY = "An instance may read its own resource only."


class GuestService:
    def __init__(self, tools: Tools, receiver: Receiver, bearers: BearerTokens, signer: UrlSigner) -> None:
        self._tools = tools
        self._receiver = receiver
        self._bearers = bearers
        self._signer = signer
        self._servers: dict[str, tuple[str, str]] = {}
        self._enrolling = asyncio.Lock()
        self._agents: dict[str, bytes] = {}

    # --- identity ---------------------------------------------------------------------------------------

    async def enrol(self, resource_id: str, bootstrap_token: str, secret_hash: str) -> None:
        async with self._enrolling:
            row = await self._guest(resource_id)
            if not self._tools.identities.opens(bootstrap_token, row):
                raise Forbidden("The bootstrap token is not this instance's.")
            if row.secret_hash is None:
                await self._tools.identities.change(resource_id, {"secret_hash": secret_hash})
            elif not same(row.secret_hash, secret_hash):
                await self._report(row, "Another secret tried to enrol for this server; it was refused.")
                raise Conflict("Another secret is enrolled for this instance. Rebuild the server to enrol anew.")
        self._tools.contacts.seen(resource_id)

    async def mint(self, resource_id: str, secret: str) -> tuple[str, int]:
        row = await guest_queries.guest(self._tools.database, resource_id)
        if row is None or row.secret_hash is None or not same(hash_secret(secret), row.secret_hash):
            raise Unauthorized(REFUSED)
        self._tools.contacts.seen(resource_id)
        return self._token(row), self._tools.settings.bearer_seconds

    async def instance_of_bearer(self, token: str) -> InstanceIdentity:
        """From memory, but for the first time: a bearer token is good until its server is deleted."""
        claims = self._bearers.read(token, now=self._tools.clock.now().timestamp())
        if self._tools.contacts.is_gone(claims.resource_id):
            raise Unauthorized(DELETED)
        known = claims.resource_id in self._servers
        if not known and await guest_queries.guest(self._tools.database, claims.resource_id) is None:
            raise Unauthorized(DELETED)
        self._tools.contacts.seen(claims.resource_id)
        return InstanceIdentity(resource_id=claims.resource_id, stack_id=claims.stack_id, project_id=claims.project_id)

    async def instance_of_access_key(self, access_key: str) -> tuple[InstanceIdentity, str]:
        row = await guest_queries.guest_of_access_key(self._tools.database, access_key)
        if row is None:
            raise Unauthorized("The access key is not known.")
        self._tools.contacts.seen(row.resource_id)
        return _identity(row), str(reveal(self._tools.sealing.value(row.secret_key)))

    async def instance_of_password(self, user_id: str, password: str) -> tuple[InstanceIdentity, str]:
        row = await guest_queries.guest_of_user(self._tools.database, user_id)
        if row is None or not same(str(reveal(self._tools.sealing.value(row.password))), password):
            raise Unauthorized("The user or the password is wrong.")
        self._tools.contacts.seen(row.resource_id)
        return _identity(row), self._token(row)

    def _token(self, row: GuestRow) -> str:
        expires = int(self._tools.clock.now().timestamp()) + self._tools.settings.bearer_seconds
        return self._bearers.mint(
            InstanceClaims(
                resource_id=row.resource_id,
                stack_id=row.stack_id,
                project_id=row.project_id,
                expires_at=expires,
            )
        )

    # --- deployments ------------------------------------------------------------------------------------

    async def deployments(self, who: InstanceIdentity, *, since: int, wait: float) -> GuestDeployments | None:
        server_id = await self._server_of(who)
        with self._tools.hub.listen(("mailbox", server_id)) as listener:
            deadline = asyncio.get_running_loop().time() + wait
            while True:
                version = await self._tools.mailboxes.version(server_id)
                if version != since:
                    break
                left = deadline - asyncio.get_running_loop().time()
                if left <= 0 or not await listener.wait(left):
                    self._tools.contacts.seen(who.resource_id)
                    return None
        self._tools.contacts.seen(who.resource_id)
        documents = await self._tools.deployments.native_json(server_id)
        self._tools.contacts.told(who.resource_id, [document["calor"]["run_id"] for document in documents])
        running = self._tools.contacts.of(who.resource_id).running
        return GuestDeployments(
            version=version,
            deployments=documents,
            cancelled=await self._tools.deployments.moot(server_id, running),
        )

    async def heartbeat(self, who: InstanceIdentity, body: Mapping[str, Any]) -> Sequence[str]:
        sent = [item for item in body.get("running") or () if isinstance(item, Mapping)][:MOST_RUNNING]
        running = [await self._hidden(item) for item in sent]
        await self._tools.contacts.heartbeat(who.resource_id, body, running)
        if not running:
            return []
        return await self._tools.deployments.moot(await self._server_of(who), running)

    async def _hidden(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        """A run as a heartbeat names it, bounded and without secrets. What nobody knows of any more shows no text."""
        run_id = str(item.get("run_id"))
        masker = self._tools.secrets.known(run_id)
        if masker is None:
            row = await self._tools.deployments.row(str(item.get("deployment_id")))
            masker = await self._tools.secrets.of(row) if row is not None and row.run_id == run_id else None
        texts = {name: bounded(str(item.get(name) or ""), LONGEST_TEXT) for name in ("step", "doing", "tail")}
        shown = {name: masker.text(text) if masker is not None else "" for name, text in texts.items()}
        return {"run_id": run_id, "deployment_id": str(item.get("deployment_id") or ""), **shown}

    async def output(self, who: InstanceIdentity, body: Mapping[str, Any]) -> Mapping[str, int] | None:
        self._tools.contacts.seen(who.resource_id)
        row = await self._tools.deployments.row(str(body.get("deployment_id")))
        if row is None or row.run_id != str(body.get("run_id")):
            return None
        if row.server_id != await self._server_of(who):
            raise Forbidden("The deployment belongs to another server.")
        attempt, pieces = body.get("attempt"), body.get("pieces")
        if not isinstance(attempt, int) or not isinstance(pieces, list) or len(pieces) > MOST_PIECES:
            raise BadRequest(f"Output comes with the number of the attempt and at most {MOST_PIECES} pieces.")
        sent = [one for one in pieces if isinstance(one, Mapping)]
        return await self._tools.outputs.take(row, attempt, sent, final=bool(body.get("final")))

    async def verdict(self, who: InstanceIdentity, body: Mapping[str, Any]) -> None:
        await self._tools.verdicts.store(who.resource_id, body)

    async def result(self, who: InstanceIdentity, body: Mapping[str, Any]) -> bool:
        self._tools.contacts.seen(who.resource_id)
        server_id = await self._server_of(who)
        row = await self._tools.deployments.row(str(body.get("deployment_id")))
        if row is not None and row.server_id != server_id:
            raise Forbidden("The deployment belongs to another server.")
        run_id = str(body.get("run_id"))
        if await guest_queries.run(self._tools.database, run_id) is not None:
            return False
        if row is not None and row.run_id == run_id:
            config = await self._tools.configs.get(row.project_id, row.config_id)
            outcome = outcomes.of_run(body, config.outputs if config is not None else (), cancelled_by=row.cancelled_by)
            masker = await self._tools.secrets.of(row)
            await self._tools.deployments.finish(
                row,
                status=outcome.status,
                status_reason=masker.text(outcome.reason),
                output_values=outcome.outputs,
            )
            if row.cancelled_by is not None and body.get("outcome") == outcomes.INTERRUPTED:
                return await self._recorded(run_id, {**body, "outcome": outcomes.CANCELLED})
        return await self._recorded(run_id, body)

    async def _recorded(self, run_id: str, body: Mapping[str, Any]) -> bool:
        """After the deployment was finished: a crash between the two only lets the agent send it again."""
        values = {
            "run_id": run_id[:36],
            "deployment_id": str(body.get("deployment_id"))[:36],
            "config_id": str(body.get("config_id") or "")[:36],
            "outcome": str(body.get("outcome"))[:255],
            "body": self._tools.sealing.secret(dict(body)),
            "at": self._tools.clock.now(),
        }
        try:
            await self._tools.journal.commit([Insert(Run, values)])
        except IntegrityError:
            return False
        return True

    # --- metadata and signals ---------------------------------------------------------------------------

    async def metadata(self, who: InstanceIdentity, stack_name: str, resource: str) -> Mapping[str, Any]:
        _, row = await self._own(who, stack_name, resource)
        known = await metadata_of(self._tools.deployments, self._tools.sealing, row)
        self._tools.contacts.told(row.id, await self._tools.deployments.run_ids(row.physical_id or ""))
        return known

    async def describe(self, who: InstanceIdentity, stack_name: str, resource: str) -> ResourceView:
        stack, row = await self._own(who, stack_name, resource)
        return presenting.resource(row, stack, self._tools.sealing, required_by=(), parent=None)

    async def signal(
        self, who: InstanceIdentity, stack_name: str, stack_id: str, resource: str, details: Mapping[str, Any]
    ) -> None:
        stack = await queries.stack(self._tools.database, stack_id)
        if stack is None or stack.project_id != who.project_id or stack.name != stack_name:
            raise Forbidden("The agent may signal only what belongs to its server.")
        rows = await queries.stack_resources(self._tools.database, stack.id)
        row = next((one for one in reversed(rows) if one.name == resource and one.replaced_by is None), None)
        if row is None or not await self._may_signal(who, stack, row):
            raise Forbidden("The agent may signal only what belongs to its server.")
        await self._receiver.take(stack, row, details)

    async def signal_resource(
        self, who: InstanceIdentity, stack_name: str, resource: str, unique_id: str, status: str
    ) -> None:
        stack = await queries.stack(self._tools.database, who.stack_id)
        if stack is None or stack_name not in (stack.name, stack.id):
            raise Forbidden("An instance may signal resources of its own stack only.")
        rows = await queries.stack_resources(self._tools.database, stack.id)
        current = {one.name: one for one in rows if one.replaced_by is None}
        row = current.get(resource)
        if row is None:
            raise EntityNotFound(f"The Resource ({resource}) could not be found in Stack {stack_name}.")
        if not self._takes(row):  # a condition is met through its handle
            row = next((current[name] for name in row.requires if name in current and self._takes(current[name])), row)
        if not await self._may_signal(who, stack, row):
            raise Forbidden("An instance may signal only what belongs to its server.")
        kind = self._tools.registry.get(row.type)
        details = {} if kind is None else kind.aws_signal(unique_id, status == "SUCCESS")
        await self._receiver.take(stack, row, details)

    def _takes(self, row: ResourceRow) -> bool:
        kind = self._tools.registry.get(row.type)
        return kind is not None and "signal" in kind.supports

    async def _may_signal(self, who: InstanceIdentity, stack: StackRow, row: ResourceRow) -> bool:
        if row.id == who.resource_id:
            return True
        deployment = await self._tools.deployments.row(row.physical_id or "")
        if deployment is not None:
            return deployment.server_id == await self._server_of(who)
        return stack.id == who.stack_id

    async def signed_signal(self, path: str, query: Mapping[str, str], method: str, details: Mapping[str, Any]) -> None:
        target = self._signer.read(path, query)
        row = await queries.resource(self._tools.database, target.resource_id)
        stack = None if row is None else await queries.stack(self._tools.database, row.stack_id)
        if row is None or stack is None or stack.id != target.stack_id:
            raise EntityNotFound(f"The Resource ({target.resource_name}) is not there any more.")
        await self._receiver.take(stack, row, details)

    def agent_file(self, sha256: str) -> bytes:
        path: Path | None = self._tools.settings.agent_files.get(sha256)
        if path is None:
            raise EntityNotFound("There is no released agent with this hash.")
        if sha256 not in self._agents:
            self._agents[sha256] = path.read_bytes()
        return self._agents[sha256]

    # --- inside -----------------------------------------------------------------------------------------

    async def _guest(self, resource_id: str) -> GuestRow:
        row = await guest_queries.guest(self._tools.database, resource_id)
        if row is None:
            raise EntityNotFound(f"There is no instance {resource_id}.")
        return row

    async def _server_of(self, who: InstanceIdentity) -> str:
        """The compute id of the server: known for good once it exists."""
        known = self._servers.get(who.resource_id)
        if known is None:
            row = await queries.resource(self._tools.database, who.resource_id)
            if row is None or row.physical_id is None:
                raise EntityNotFound(f"There is no server of the instance {who.resource_id} yet.")
            known = self._servers[who.resource_id] = (row.physical_id, row.name)
        return known[0]

    async def _own(self, who: InstanceIdentity, stack_name: str, resource: str) -> tuple[StackRow, ResourceRow]:
        row = await queries.resource(self._tools.database, who.resource_id)
        stack = None if row is None else await queries.stack(self._tools.database, row.stack_id)
        if row is None or stack is None or stack_name not in (stack.name, stack.id):
            raise Forbidden(OWN_ONLY)
        if row.name == resource:
            return stack, row
        kind = self._tools.registry.get(row.type)
        if kind is None or not kind.opens_stack:
            raise Forbidden(OWN_ONLY)
        rows = await queries.stack_resources(self._tools.database, stack.id)
        found = next((one for one in reversed(rows) if one.name == resource and one.replaced_by is None), None)
        if found is None:  # an instance that sees it go acts on that
            raise EntityNotFound(f"The Resource ({resource}) could not be found in Stack {stack_name}.")
        opened = self._tools.registry.get(found.type)
        if opened is None or not opened.has_metadata_endpoint:
            raise Forbidden("These keys open the metadata of their stack's instances only.")
        return stack, found

    async def _report(self, guest: GuestRow, reason: str) -> None:
        row = await queries.resource(self._tools.database, guest.resource_id)
        stack = None if row is None else await queries.stack(self._tools.database, row.stack_id)
        if row is not None and stack is not None:
            event = happenings.of_resource(
                stack, row, Action.SIGNAL, Status.FAILED, self._tools.clock.now(), f"Warning: {reason}"
            )
            await self._tools.journal.commit([event])


def _identity(row: GuestRow) -> InstanceIdentity:
    return InstanceIdentity(resource_id=row.resource_id, stack_id=row.stack_id, project_id=row.project_id)
