"""The services of software configs and deployments."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from calor.server.engine.contract.views import ConfigView, DeploymentView
from calor.server.engine.guests.inventory import view_of
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.services.software_shown import Shown
from calor.server.errors import BadRequest, Conflict, EntityNotFound, RequestLimitExceeded
from calor.server.identity import Caller
from calor.server.resources.base import Config
from calor.server.store import guest_queries
from calor.server.store.rows import DeploymentRow

TYPES = ("String", "Number", "CommaDelimitedList", "Json", "Boolean")
STATUSES = frozenset({"IN_PROGRESS", "COMPLETE", "FAILED"})


class NotFound(EntityNotFound):
    """Heat's name for a config or deployment that is not there."""


def missing_config(ident: Any) -> NotFound:
    return NotFound(f"Software config with id {ident} not found")


class ConfigService:
    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._shown = Shown(tools)

    async def create(self, caller: Caller, body: Mapping[str, Any]) -> ConfigView:
        limit = self._tools.settings.max_software_configs_per_tenant
        count = await guest_queries.count_configs(self._tools.database, caller.project_id)
        if 0 <= limit <= count:
            raise RequestLimitExceeded(f"max_software_configs_per_tenant: at most {limit}, there are {count}.")
        made = Config(
            id=str(uuid.uuid4()),
            name=str(body.get("name") or ""),
            group=str(body.get("group") or "Heat::Ungrouped"),
            config=body.get("config"),
            inputs=_items(body, "inputs"),
            outputs=[{"error_output": False, **item} for item in _items(body, "outputs")],
            options=_values(body, "options"),
        )
        config = await self._tools.configs.put(caller.project_id, made, fresh=True)
        return view_of(config, caller.project_id, config.created_at or self._tools.clock.now())

    async def show(self, caller: Caller, ident: str) -> ConfigView:
        row = await guest_queries.config(self._tools.database, ident)
        if row is None or row.project_id != caller.project_id:
            raise missing_config(ident)
        return await self._shown.config(row)

    async def list(
        self, caller: Caller, *, limit: int | None, marker: str | None, global_tenant: bool
    ) -> Sequence[ConfigView]:
        project = None if global_tenant else caller.project_id
        after = await guest_queries.config(self._tools.database, marker) if marker is not None else None
        rows = await guest_queries.configs(self._tools.database, project, after=after, limit=limit)
        return [self._tools.configs.view(row) for row in rows]

    async def delete(self, caller: Caller, ident: str) -> None:
        await self.show(caller, ident)
        users = await guest_queries.deployments(self._tools.database, config_id=ident)
        if users:
            names = ", ".join(row.id for row in users[:10])
            raise Conflict(f"The software config {ident} is in use by the deployments {names}.")
        await self._tools.configs.delete(ident)


def _items(body: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    """Declared inputs or outputs, with the keys that Heat always shows."""
    given = body.get(name) or []
    if not isinstance(given, list) or not all(isinstance(item, Mapping) and item.get("name") for item in given):
        raise BadRequest(f"{name} must be a list of maps, each with a name.")
    wrong = [str(item["type"]) for item in given if item.get("type", "String") not in TYPES]
    if wrong:
        raise BadRequest(f"{name}: the type {wrong[0]!r} is not one of {', '.join(TYPES)}.")
    return [{"type": "String", **item} for item in given]


class DeploymentService:
    """Deployments that users make themselves, beside those of stacks."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._shown = Shown(tools)

    async def create(self, caller: Caller, body: Mapping[str, Any]) -> DeploymentView:
        config_id, server_id = body.get("config_id"), body.get("server_id")
        config = await self._tools.configs.get(caller.project_id, config_id) if isinstance(config_id, str) else None
        if config is None:
            raise missing_config(config_id)
        if not isinstance(server_id, str) or not server_id:
            raise BadRequest("A deployment needs a server_id.")
        limit = self._tools.settings.max_software_deployments_per_tenant
        count = await guest_queries.count_deployments(self._tools.database, caller.project_id)
        if 0 <= limit <= count:
            raise RequestLimitExceeded(f"max_software_deployments_per_tenant: at most {limit}, there are {count}.")
        row = await self._tools.deployments.put(
            caller.project_id,
            ident=str(uuid.uuid4()),
            server_id=server_id,
            config_id=config.id,
            config=config,
            action=str(body.get("action") or "INIT"),
            input_values=_values(body, "input_values"),
            status=_status(body) or "COMPLETE",
            status_reason=str(body.get("status_reason") or ""),
        )
        return await self._shown.deployment(row)

    async def show(self, caller: Caller, ident: str) -> DeploymentView:
        return await self._shown.deployment(await self._found(caller, ident))

    async def list(self, caller: Caller, server_id: str | None) -> Sequence[DeploymentView]:
        rows = await self._tools.deployments.rows(project_id=caller.project_id, server_id=server_id)
        return [await self._shown.deployment(row) for row in rows]

    async def update(self, caller: Caller, ident: str, body: Mapping[str, Any]) -> DeploymentView:
        row = await self._found(caller, ident)
        config_id = body.get("config_id") or row.config_id
        if config_id != row.config_id and await self._tools.configs.get(caller.project_id, config_id) is None:
            raise missing_config(config_id)
        known = self._tools.deployments.value(row)
        row = await self._tools.deployments.rewrite(
            row,
            config_id=config_id,
            action=str(body.get("action") or row.action),
            input_values=_values(body, "input_values") or known.input_values,
            output_values=_values(body, "output_values") or known.output_values,
            status=_status(body) or row.status,
            status_reason=str(body.get("status_reason") or row.status_reason),
        )
        return await self._shown.deployment(row)

    async def delete(self, caller: Caller, ident: str) -> None:
        await self._found(caller, ident)
        await self._tools.deployments.delete(ident)

    async def metadata(self, caller: Caller, server_id: str) -> Sequence[Mapping[str, Any]]:
        """What the server's agent is given, whoever asks: agents of others log in as users."""
        rows = await self._tools.deployments.rows(project_id=caller.project_id, server_id=server_id)
        return await self._tools.deployments.heat_json(server_id) if rows else []

    async def _found(self, caller: Caller, ident: str) -> DeploymentRow:
        row = await self._tools.deployments.row(ident)
        if row is None or row.project_id != caller.project_id:
            raise NotFound(f"Deployment with id {ident} not found")
        return row


def _values(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    given = body.get(name) or {}
    if not isinstance(given, Mapping):
        raise BadRequest(f"{name} must be a map.")
    return given


def _status(body: Mapping[str, Any]) -> str | None:
    status = body.get("status")
    if status is not None and status not in STATUSES:
        raise BadRequest(f"The status {status!r} is not one of {', '.join(sorted(STATUSES))}.")
    return status
