"""The door to the cloud without its price at start: openstacksdk takes most of a second to import."""

import asyncio
import importlib
from typing import TYPE_CHECKING

from calor.server.cloud.credentials import Credentials
from calor.server.cloud.door import Cloud, Delegator
from calor.server.cloud.settings import CloudSettings

if TYPE_CHECKING:
    from calor.server.cloud.sdk import SdkDoor

_SDK = "calor.server.cloud.sdk"


class LazyDoor:
    """`door.CloudDoor`: imports the SDK in the background (`warm_up`), or when first needed."""

    def __init__(self, settings: CloudSettings) -> None:
        self._settings = settings
        self._opened: SdkDoor | None = None

    async def warm_up(self) -> None:
        """Import in a thread, beside the first requests."""
        await asyncio.to_thread(importlib.import_module, _SDK)

    def open(self, credentials: Credentials) -> Cloud:
        return self._door.open(credentials)

    async def delegate(self, caller: Delegator) -> Credentials:
        await self.warm_up()
        return await self._door.delegate(caller)

    async def revoke(self, credentials: Credentials) -> None:
        await self.warm_up()
        await self._door.revoke(credentials)

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.close()

    @property
    def _door(self) -> "SdkDoor":
        if self._opened is None:
            from calor.server.cloud.sdk import SdkDoor

            self._opened = SdkDoor(self._settings)
        return self._opened
