"""Software configs as types and agents see them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from calor.server.engine.contract.views import ConfigView
from calor.server.engine.durable.clock import Clock
from calor.server.engine.durable.journal import Journal
from calor.server.engine.durable.sealing import Sealing
from calor.server.engine.guests import masking
from calor.server.resources.base import Config
from calor.server.store import guest_queries
from calor.server.store.database import Database
from calor.server.store.guest_models import SoftwareConfig
from calor.server.store.rows import ConfigRow
from calor.server.store.writes import Insert, Remove
from calor.server.template import secret_leaves

BODY = ("config", "inputs", "outputs", "options", "secrets", "is_secret")
"""What of a config is stored sealed."""


class StoredConfigs:
    """The software configs of all projects."""

    def __init__(self, database: Database, journal: Journal, sealing: Sealing, clock: Clock) -> None:
        self._database = database
        self._journal = journal
        self._sealing = sealing
        self._clock = clock

    async def put(self, project_id: str, config: Config, *, fresh: bool = False) -> Config:
        """Store a config; if its id is there already, that one stands. ``fresh``: it cannot be there."""
        found = None if fresh else await self.get(project_id, config.id)
        if found is not None:
            return found
        at = self._clock.now()
        row = {
            "id": config.id,
            "project_id": project_id,
            "name": config.name,
            "group": config.group,
            "body": self._sealing.secret({name: getattr(config, name) for name in BODY}),
            "created_at": at,
        }
        await self._journal.commit([Insert(SoftwareConfig, row)])
        return replace(config, created_at=at)

    async def get(self, project_id: str, ident: str) -> Config | None:
        row = await guest_queries.config(self._database, ident)
        return None if row is None or row.project_id != project_id else self.opened(row)

    async def of(self, idents: Sequence[str]) -> dict[str, Config]:
        rows = await guest_queries.configs_by_id(self._database, idents)
        return {row.id: self.opened(row) for row in rows}

    async def delete(self, ident: str) -> None:
        await self._journal.commit([Remove(SoftwareConfig, {"id": ident})])

    def opened(self, row: ConfigRow) -> Config:
        body = self._sealing.value(row.body)
        return Config(id=row.id, name=row.name, group=row.group, created_at=row.created_at, **body)

    def view(self, row: ConfigRow) -> ConfigView:
        return view_of(self.opened(row), row.project_id, row.created_at)


def view_of(config: Config, project_id: str, created_at: datetime) -> ConfigView:
    return ConfigView(
        id=config.id,
        name=config.name,
        group=config.group,
        config=config.config,
        inputs=config.inputs,
        outputs=config.outputs,
        options=config.options,
        created_at=created_at,
        project_id=project_id,
    )


class ProjectConfigs:
    """The configs of one project, as a resource may use them; ``properties`` are what the resource is given."""

    def __init__(self, stored: StoredConfigs, project_id: str, properties: Callable[[], Any]) -> None:
        self._stored = stored
        self._project_id = project_id
        self._properties = properties

    async def create(
        self,
        *,
        ident: str,
        name: str,
        group: str,
        config: Any,
        inputs: Sequence[Mapping[str, Any]] = (),
        outputs: Sequence[Mapping[str, Any]] = (),
        options: Mapping[str, Any] | None = None,
        made_of: Sequence[Config] = (),
    ) -> Config:
        own = secret_leaves(self._properties())
        content = [config, list(inputs), dict(options or {})]
        made = Config(
            id=ident,
            name=name,
            group=group,
            config=config,
            inputs=inputs,
            outputs=outputs,
            options=dict(options or {}),
            secrets=list(dict.fromkeys([*own, *(text for one in made_of for text in one.secrets)])),
            is_secret=any(one.is_secret for one in made_of) or not all(masking.is_seen(one, content) for one in own),
        )
        return await self._stored.put(self._project_id, made)

    async def get(self, ident: str) -> Config | None:
        return await self._stored.get(self._project_id, ident)

    async def delete(self, ident: str) -> None:
        if await self.get(ident) is not None:
            await self._stored.delete(ident)


def heat_json(config: Config) -> dict[str, Any]:
    """A config as agents get it (agents.json, ``deployment_json``)."""
    created: datetime | None = config.created_at
    return {
        "id": config.id,
        "name": config.name,
        "group": config.group,
        "config": config.config,
        "inputs": list(config.inputs),
        "outputs": list(config.outputs),
        "options": dict(config.options),
        "creation_time": created.strftime("%Y-%m-%dT%H:%M:%SZ") if created else None,
    }
