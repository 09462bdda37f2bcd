"""Identities of guests: bootstrap tokens, EC2 pairs and passwords, each made when first asked for and gone with the
server resource."""

import asyncio
from collections.abc import Mapping
from typing import Any

from calor.server.engine.durable.journal import Journal
from calor.server.engine.durable.sealing import Sealing
from calor.server.engine.guests.contacts import NEVER
from calor.server.engine.guests.pushing import Pushes
from calor.server.engine.guests.verdicts import Verdicts
from calor.server.engine.settings import Settings
from calor.server.identity import BootstrapTokens, random_access_key, random_id, random_secret
from calor.server.resources.base import BootVerdict
from calor.server.store import guest_queries
from calor.server.store.database import Database
from calor.server.store.guest_models import Guest
from calor.server.store.rows import GuestRow
from calor.server.store.writes import Change, Insert, Remove, Write


class GuestIdentities:
    def __init__(
        self, database: Database, journal: Journal, sealing: Sealing, bootstraps: BootstrapTokens, settings: Settings
    ) -> None:
        self._database = database
        self._journal = journal
        self._sealing = sealing
        self._bootstraps = bootstraps
        self._settings = settings
        self._making = asyncio.Lock()

    async def row(self, resource_id: str) -> GuestRow | None:
        return await guest_queries.guest(self._database, resource_id)

    async def ensured(self, resource_id: str, stack_id: str, project_id: str) -> GuestRow:
        async with self._making:
            found = await self.row(resource_id)
            if found is not None:
                return found
            values: dict[str, Any] = {
                "resource_id": resource_id,
                "stack_id": stack_id,
                "project_id": project_id,
                "generation": 0,
                "state": NEVER,
                "detail": "",
                "agent_sha256": self.agent_file()[1] or None,
            }
            await self._journal.commit([Insert(Guest, values)])
            return GuestRow(**values)

    async def change(self, resource_id: str, values: Mapping[str, Any]) -> None:
        await self._journal.commit([Change(Guest, {"resource_id": resource_id}, values)])

    def bootstrap_token(self, row: GuestRow) -> str:
        return self._bootstraps.mint(row.resource_id, row.generation)

    def opens(self, token: str, row: GuestRow) -> bool:
        return self._bootstraps.is_valid(token, row.resource_id, row.generation)

    async def ec2_pair(self, row: GuestRow) -> tuple[str, str]:
        async with self._making:
            row = await self.row(row.resource_id) or row
            if row.access_key is not None:
                return row.access_key, str(self._sealing.value(row.secret_key))
            access, secret = random_access_key(), random_secret()
            await self.change(row.resource_id, {"access_key": access, "secret_key": self._sealing.secret(secret)})
            return access, secret

    async def password(self, row: GuestRow) -> tuple[str, str]:
        async with self._making:
            row = await self.row(row.resource_id) or row
            if row.user_id is not None:
                return row.user_id, str(self._sealing.value(row.password))
            user, secret = random_id().replace("-", ""), random_secret()
            await self.change(row.resource_id, {"user_id": user, "password": self._sealing.secret(secret)})
            return user, secret

    def agent_file(self) -> tuple[str, str]:
        """(URL path, SHA-256) of the agent that new instances get; empty texts where there is none."""
        released = list(self._settings.agent_files)
        return (f"/agent/{released[-1]}.pyz", released[-1]) if released else ("", "")

    def gone(self, resource_id: str) -> Write:
        return Remove(Guest, {"resource_id": resource_id})


class StackGuests:
    """The identities of one stack's guests, as a resource type may use them."""

    def __init__(
        self, identities: GuestIdentities, pushes: Pushes, verdicts: Verdicts, stack_id: str, project_id: str
    ) -> None:
        self._identities = identities
        self._pushes = pushes
        self._verdicts = verdicts
        self._stack_id = stack_id
        self._project_id = project_id

    async def bootstrap_token(self, resource_id: str) -> str:
        return self._identities.bootstrap_token(await self._row(resource_id))

    async def rearm(self, resource_id: str) -> None:
        if await self._identities.row(resource_id) is not None:
            await self._identities.change(resource_id, {"secret_hash": None})
            await self._verdicts.forget(resource_id)

    async def boot_verdict(self, resource_id: str) -> BootVerdict:
        return await self._verdicts.wait(resource_id)

    async def ec2_pair(self, resource_id: str) -> tuple[str, str]:
        return await self._identities.ec2_pair(await self._row(resource_id))

    async def password(self, resource_id: str) -> tuple[str, str]:
        return await self._identities.password(await self._row(resource_id))

    async def push_to(self, resource_id: str, target: Mapping[str, str] | None) -> None:
        await self._pushes.register(resource_id, target)

    def agent_file(self) -> tuple[str, str]:
        return self._identities.agent_file()

    async def _row(self, resource_id: str) -> GuestRow:
        return await self._identities.ensured(resource_id, self._stack_id, self._project_id)
