"""The deployments of one stack, as its resources put them, wait for them and end them."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from calor.server.cloud.door import Cloud
from calor.server.engine.guests.deployments import IN_PROGRESS, StoredDeployments
from calor.server.resources.base import Deployment, ResourceFailed
from calor.server.store.writes import Fence


class StackDeployments:
    """The deployments of one stack, as a resource type may use them."""

    def __init__(self, stored: StoredDeployments, project_id: str, stack_id: str, fence: Fence, cloud: Cloud) -> None:
        self._stored = stored
        self._project_id = project_id
        self._stack_id = stack_id
        self._fence = fence
        self._cloud = cloud
        self.awaited: str | None = None

    async def put(
        self,
        *,
        ident: str,
        server_id: str,
        config_id: str,
        action: str,
        input_values: Mapping[str, Any],
        status: str,
        status_reason: str = "",
    ) -> Deployment:
        row = await self._stored.put(
            self._project_id,
            ident=ident,
            server_id=server_id,
            config_id=config_id,
            action=action,
            input_values=input_values,
            status=status,
            status_reason=status_reason,
            stack_id=self._stack_id,
            fence=self._fence,
        )
        self.awaited = ident if row.status == IN_PROGRESS else None  # whatever ends the work from here on
        return self._stored.value(row)

    def coming(self, ident: str, server_id: str) -> AbstractContextManager[None]:
        return self._stored.coming(ident, server_id)

    async def get(self, ident: str) -> Deployment | None:
        row = await self._stored.row(ident)
        return None if row is None or row.project_id != self._project_id else self._stored.value(row)

    async def finish(
        self, ident: str, *, status: str, status_reason: str, output_values: Mapping[str, Any]
    ) -> Deployment:
        row = await self._stored.row(ident)
        if row is None:
            raise ResourceFailed(f"There is no deployment {ident}.")
        ended = await self._stored.finish(row, status=status, status_reason=status_reason, output_values=output_values)
        return self._stored.value(ended)

    async def finished(self, ident: str) -> Deployment:
        self.awaited = ident
        row = await self._stored.finished(ident, self._cloud)
        self.awaited = None
        return self._stored.value(row)

    async def delete(self, ident: str) -> None:
        await self._stored.delete(ident, self._fence)
