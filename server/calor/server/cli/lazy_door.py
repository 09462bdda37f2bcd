"""The door to the cloud without its price at start: openstacksdk takes most of a second to import."""

import asyncio
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from calor.server.cloud.credentials import Credentials
from calor.server.cloud.door import Cloud, Collection, Delegator, Record
from calor.server.cloud.settings import CloudSettings

if TYPE_CHECKING:
    from calor.server.cloud.sdk import SdkDoor

_SDK = "calor.server.cloud.sdk"
IDLE_SECONDS = 2.0
"""How long after the start the SDK is imported if nobody has needed it before: an import takes the processor from the
first requests, of which many need no cloud."""


class LazyDoor:
    """`door.CloudDoor`: imports the SDK when a cloud is first spoken to, or a while after the start (`warm_up`)."""

    def __init__(self, settings: CloudSettings) -> None:
        self._settings = settings
        self._opened: SdkDoor | None = None
        self._importing = asyncio.Lock()

    async def warm_up(self) -> None:
        await asyncio.sleep(IDLE_SECONDS)
        await self.opened()

    def open(self, credentials: Credentials) -> Cloud:
        return LazyCloud(self, credentials) if self._opened is None else self._opened.open(credentials)

    async def delegate(self, caller: Delegator) -> Credentials:
        return await (await self.opened()).delegate(caller)

    async def revoke(self, credentials: Credentials) -> None:
        await (await self.opened()).revoke(credentials)

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.close()

    async def opened(self) -> "SdkDoor":
        """The SDK's door; imported in a thread, beside the requests."""
        async with self._importing:
            if self._opened is None:
                module = await asyncio.to_thread(importlib.import_module, _SDK)
                self._opened = module.SdkDoor(self._settings)
            return self._opened


class LazyCloud:
    """`door.Cloud`: opened when it is first spoken to."""

    def __init__(self, door: LazyDoor, credentials: Credentials) -> None:
        self._door = door
        self._credentials = credentials

    @property
    def project_id(self) -> str:
        return self._credentials.project_id

    async def create(self, of: Collection, **body: Any) -> Record:
        return await (await self._opened()).create(of, **body)

    async def get(self, of: Collection, ident: str) -> Record:
        return await (await self._opened()).get(of, ident)

    async def find(self, of: Collection, name_or_id: str) -> Record | None:
        return await (await self._opened()).find(of, name_or_id)

    async def update(self, of: Collection, ident: str, **body: Any) -> Record:
        return await (await self._opened()).update(of, ident, **body)

    async def delete(self, of: Collection, ident: str) -> bool:
        return await (await self._opened()).delete(of, ident)

    async def call(self, service: str, method: str, /, *args: Any, **kwargs: Any) -> Any:
        return await (await self._opened()).call(service, method, *args, **kwargs)

    async def settled(self, of: Collection, ident: str, *, ready: frozenset[str], failed: frozenset[str]) -> Record:
        return await (await self._opened()).settled(of, ident, ready=ready, failed=failed)

    async def gone(self, of: Collection, ident: str, *, failed: frozenset[str] = frozenset()) -> None:
        await (await self._opened()).gone(of, ident, failed=failed)

    async def listed(self, service: str, path: str, *, fresh: bool) -> Mapping[str, Record]:
        return await (await self._opened()).listed(service, path, fresh=fresh)

    async def endpoint(self, service_type: str, *, region: str | None = None) -> str:
        return await (await self._opened()).endpoint(service_type, region=region)

    async def list(self, of: Collection, **query: Any) -> list[Record]:
        return await (await self._opened()).list(of, **query)

    async def _opened(self) -> Cloud:
        return (await self._door.opened()).open(self._credentials)
