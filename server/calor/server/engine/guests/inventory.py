"""Software configs as types and agents see them."""

from collections.abc import Callable, Mapping, Sequence
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


class StoredConfigs:
    """The software configs of all projects."""

    def __init__(self, database: Database, journal: Journal, sealing: Sealing, clock: Clock) -> None:
        self._database = database
        self._journal = journal
        self._sealing = sealing
        self._clock = clock

    async def put(
        self,
        project_id: str,
        *,
        ident: str,
        name: str,
        group: str,
        config: Any,
        inputs: Sequence[Mapping[str, Any]] = (),
        outputs: Sequence[Mapping[str, Any]] = (),
        options: Mapping[str, Any] | None = None,
        secrets: Sequence[str] = (),
        is_secret: bool = False,
        fresh: bool = False,
    ) -> Config:
        """Store a config; if ``ident`` is there already, that one stands. ``fresh``: it cannot be there."""
        found = None if fresh else await self.get(project_id, ident)
        if found is not None:
            return found
        at = self._clock.now()
        body: dict[str, Any] = {
            "config": config,
            "inputs": list(inputs),
            "outputs": list(outputs),
            "options": dict(options or {}),
        }
        if secrets or is_secret:
            body |= {"secrets": list(secrets), "is_secret": is_secret}
        row = {
            "id": ident,
            "project_id": project_id,
            "name": name,
            "group": group,
            "body": self._sealing.secret(body),
            "created_at": at,
        }
        await self._journal.commit([Insert(SoftwareConfig, row)])
        return Config(
            id=ident,
            name=name,
            group=group,
            config=config,
            inputs=tuple(inputs),
            outputs=tuple(outputs),
            options=dict(options or {}),
            created_at=at,
            secrets=tuple(secrets),
            is_secret=is_secret,
        )

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
        return Config(
            id=row.id,
            name=row.name,
            group=row.group,
            config=body["config"],
            inputs=tuple(body["inputs"]),
            outputs=tuple(body["outputs"]),
            options=body["options"],
            created_at=row.created_at,
            secrets=tuple(body.get("secrets") or ()),
            is_secret=bool(body.get("is_secret")),
        )

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
        return await self._stored.put(
            self._project_id,
            ident=ident,
            name=name,
            group=group,
            config=config,
            inputs=inputs,
            outputs=outputs,
            options=options,
            secrets=list(dict.fromkeys([*own, *(text for one in made_of for text in one.secrets)])),
            is_secret=any(one.is_secret for one in made_of) or not all(masking.is_seen(one, content) for one in own),
        )

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
