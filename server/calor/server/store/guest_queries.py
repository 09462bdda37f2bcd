"""Reading signals, software configs, deployments and guests."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from calor.server.store.database import Database
from calor.server.store.guest_models import Guest, Mailbox, Push, Run, Signal, SoftwareConfig, SoftwareDeployment
from calor.server.store.models import Resource
from calor.server.store.queries import AT_ONCE, fetch, fetch_one
from calor.server.store.rows import ConfigRow, DeploymentRow, GuestRow, PushRow, RunRow, SignalRow


async def signals(database: Database, resource_id: str) -> list[SignalRow]:
    query = sa.select(Signal.__table__).where(Signal.resource_id == resource_id).order_by(Signal.number)
    return await fetch(database, SignalRow, query)


async def config(database: Database, ident: str) -> ConfigRow | None:
    query = sa.select(SoftwareConfig.__table__).where(SoftwareConfig.id == ident)
    return await fetch_one(database, ConfigRow, query)


async def configs(
    database: Database, project_id: str | None, *, after: ConfigRow | None = None, limit: int | None = None
) -> list[ConfigRow]:
    """Oldest first; those that come after one, at most so many."""
    query = sa.select(SoftwareConfig.__table__).order_by(SoftwareConfig.created_at, SoftwareConfig.id).limit(limit)
    if project_id is not None:
        query = query.where(SoftwareConfig.project_id == project_id)
    if after is not None:
        same_time = sa.and_(SoftwareConfig.created_at == after.created_at, SoftwareConfig.id > after.id)
        query = query.where(sa.or_(SoftwareConfig.created_at > after.created_at, same_time))
    return await fetch(database, ConfigRow, query)


async def count_configs(database: Database, project_id: str) -> int:
    return await _count(database, SoftwareConfig.project_id == project_id)


async def count_deployments(database: Database, project_id: str) -> int:
    return await _count(
        database, sa.and_(SoftwareDeployment.project_id == project_id, SoftwareDeployment.source_id.is_(None))
    )


async def _count(database: Database, which: sa.ColumnElement[bool]) -> int:
    async def work(connection: AsyncConnection) -> int:
        return int((await connection.execute(sa.select(sa.func.count()).where(which))).scalar_one())

    return await database.read(work)


async def configs_by_id(database: Database, idents: Sequence[str]) -> list[ConfigRow]:
    query = sa.select(SoftwareConfig.__table__).where(SoftwareConfig.id.in_(idents))
    return await fetch(database, ConfigRow, query)


async def deployment(database: Database, ident: str) -> DeploymentRow | None:
    query = sa.select(SoftwareDeployment.__table__).where(SoftwareDeployment.id == ident)
    return await fetch_one(database, DeploymentRow, query)


async def deployments(
    database: Database,
    *,
    project_id: str | None = None,
    server_id: str | None = None,
    config_id: str | None = None,
    on_demand: bool = False,
) -> list[DeploymentRow]:
    """In name order, as agents apply them. ``on_demand``: with the runs that users asked for."""
    query = sa.select(SoftwareDeployment.__table__)
    if not on_demand:
        query = query.where(SoftwareDeployment.source_id.is_(None))
    if project_id is not None:
        query = query.where(SoftwareDeployment.project_id == project_id)
    if server_id is not None:
        query = query.where(SoftwareDeployment.server_id == server_id)
    if config_id is not None:
        query = query.where(SoftwareDeployment.config_id == config_id)
    return await fetch(database, DeploymentRow, query.order_by(SoftwareDeployment.name, SoftwareDeployment.created_at))


async def runs_of(database: Database, source_id: str) -> list[DeploymentRow]:
    """The runs on demand of one deployment, oldest first."""
    query = sa.select(SoftwareDeployment.__table__).where(SoftwareDeployment.source_id == source_id)
    return await fetch(database, DeploymentRow, query.order_by(SoftwareDeployment.created_at))


async def deployments_of_stacks(database: Database, stack_ids: Sequence[str]) -> list[DeploymentRow]:
    query = sa.select(SoftwareDeployment.__table__).where(SoftwareDeployment.stack_id.in_(stack_ids))
    return await fetch(database, DeploymentRow, query.order_by(SoftwareDeployment.created_at, SoftwareDeployment.name))


async def cancelled_before(database: Database, moment: datetime) -> list[DeploymentRow]:
    """Runs in progress whose end was asked for before a moment."""
    query = sa.select(SoftwareDeployment.__table__).where(
        SoftwareDeployment.status == "IN_PROGRESS", SoftwareDeployment.cancelled_at < moment
    )
    return await fetch(database, DeploymentRow, query)


async def mailbox(database: Database, server_id: str) -> int:
    async def work(connection: AsyncConnection) -> int:
        query = sa.select(Mailbox.version).where(Mailbox.server_id == server_id)
        return int((await connection.execute(query)).scalar_one_or_none() or 0)

    return await database.read(work)


async def mailboxes(database: Database, server_ids: Sequence[str]) -> dict[str, int]:
    """The versions of those that there are."""
    found: dict[str, int] = {}

    async def work(connection: AsyncConnection) -> None:
        for begin in range(0, len(server_ids), AT_ONCE):
            query = sa.select(Mailbox.server_id, Mailbox.version)
            query = query.where(Mailbox.server_id.in_(server_ids[begin : begin + AT_ONCE]))
            found.update({str(server): int(version) for server, version in (await connection.execute(query)).all()})

    await database.read(work)
    return found


async def guest(database: Database, resource_id: str) -> GuestRow | None:
    return await fetch_one(database, GuestRow, sa.select(Guest.__table__).where(Guest.resource_id == resource_id))


async def guest_of_access_key(database: Database, access_key: str) -> GuestRow | None:
    return await fetch_one(database, GuestRow, sa.select(Guest.__table__).where(Guest.access_key == access_key))


async def guest_of_user(database: Database, user_id: str) -> GuestRow | None:
    return await fetch_one(database, GuestRow, sa.select(Guest.__table__).where(Guest.user_id == user_id))


async def guests_of_stack(database: Database, stack_id: str) -> list[GuestRow]:
    return await fetch(database, GuestRow, sa.select(Guest.__table__).where(Guest.stack_id == stack_id))


async def guests_of_stacks(database: Database, stack_ids: Sequence[str]) -> list[GuestRow]:
    return await fetch(database, GuestRow, sa.select(Guest.__table__).where(Guest.stack_id.in_(stack_ids)))


async def run_outcomes(database: Database, run_ids: Sequence[str]) -> dict[str, str]:
    """How the runs ended of which a result came."""

    async def work(connection: AsyncConnection) -> dict[str, str]:
        query = sa.select(Run.run_id, Run.outcome).where(Run.run_id.in_(run_ids))
        return {str(ident): str(outcome) for ident, outcome in (await connection.execute(query)).all()}

    return await database.read(work)


async def run(database: Database, run_id: str) -> RunRow | None:
    return await fetch_one(database, RunRow, sa.select(Run.__table__).where(Run.run_id == run_id))


async def push(database: Database, resource_id: str) -> bool:
    """Whether a server's metadata is written to somewhere."""
    found = await fetch(database, dict, sa.select(Push.resource_id).where(Push.resource_id == resource_id))
    return bool(found)


async def due_pushes(database: Database) -> list[PushRow]:
    """Those whose metadata or deployments have changed since they were written."""
    due = sa.func.coalesce(Mailbox.version, 0)
    query = (
        sa.select(Push.__table__, due.label("due"), Resource.updated_at.label("due_at"))
        .join(Resource.__table__, Resource.id == Push.resource_id)
        .outerjoin(Mailbox.__table__, Mailbox.server_id == Resource.physical_id)
        .where(
            Resource.physical_id.is_not(None),
            sa.or_(Push.version < due, Push.row_at.is_(None), Push.row_at != Resource.updated_at),
        )
    )
    return await fetch(database, PushRow, query)
