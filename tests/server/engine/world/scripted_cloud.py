"""The cloud in memory for tests of the engine: told to fail, to be slow, to change what it has just made."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from calor.server.cloud.credentials import CredentialKind, Credentials
from calor.server.cloud.door import Collection, Record
from calor.server.cloud.memory import MemoryCloud
from calor.server.identity import Caller


class ScriptedCloud(MemoryCloud):
    """``asked`` are all calls. ``faults`` are called before each and may raise or wait; ``after`` with what is made."""

    def __init__(self) -> None:
        super().__init__(project_id="p1")
        self.asked: list[tuple[str, str]] = []
        self.faults: list[Callable[[str, str, dict[str, Any]], Any]] = []
        self.after: list[Callable[[str, str, dict[str, Any]], Any]] = []

    async def _enter(self, verb: str, kind: str, facts: dict[str, Any]) -> None:
        self.asked.append((verb, kind))
        for fault in self.faults:
            answer = fault(verb, kind, facts)
            if asyncio.iscoroutine(answer):
                await answer
        await asyncio.sleep(0)

    async def create(self, of: Collection, **body: Any) -> Record:
        await self._enter("create", of.single, body)
        made = await super().create(of, **{"status": "ACTIVE", **body})
        record = self.records[of.single][made["id"]]
        for one in self.after:
            one("create", of.single, record)
        return dict(record)

    async def get(self, of: Collection, ident: str) -> Record:
        await self._enter("get", of.single, {"id": ident})
        return await super().get(of, ident)

    async def list(self, of: Collection, **query: Any) -> list[Record]:
        await self._enter("list", of.single, query)
        return await super().list(of, **query)

    async def update(self, of: Collection, ident: str, **body: Any) -> Record:
        await self._enter("update", of.single, {"id": ident, **body})
        return await super().update(of, ident, **body)

    async def delete(self, of: Collection, ident: str) -> bool:
        await self._enter("delete", of.single, {"id": ident})
        return await super().delete(of, ident)

    async def call(self, service: str, method: str, /, *args: Any, **kwargs: Any) -> Any:
        await self._enter(method, service, {})
        return await super().call(service, method, *args, **kwargs)

    async def gone(self, of: Collection, ident: str, *, failed: frozenset[str] = frozenset()) -> None:
        while ident in self.records[of.single]:
            await asyncio.sleep(0.02)

    def names(self, single: str) -> Sequence[str]:
        return sorted(str(one.get("name")) for one in self.records[single].values())


@dataclass
class ScriptedDoor:
    cloud: ScriptedCloud
    opened: list[Credentials] = field(default_factory=list)
    revoked: list[Credentials] = field(default_factory=list)

    def open(self, credentials: Credentials) -> ScriptedCloud:
        self.opened.append(credentials)
        return self.cloud

    async def delegate(self, caller: Caller) -> Credentials:
        return Credentials(
            kind=CredentialKind.TRUST, project_id=caller.project_id, user_id=caller.user_id, ident="trust-1"
        )

    async def revoke(self, credentials: Credentials) -> None:
        self.revoked.append(credentials)

    async def close(self) -> None:
        """Nothing is open."""
