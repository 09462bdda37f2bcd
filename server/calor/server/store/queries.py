"""Reading stacks, resources, events, leases and services."""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from calor.server.store.database import Database
from calor.server.store.models import Breakpoint, Event, Lease, Resource, Revision, Service, Stack
from calor.server.store.rows import (
    BreakpointRow,
    EventRow,
    LeaseRow,
    ResourceRow,
    RevisionRow,
    ServiceRow,
    StackKeys,
    StackRow,
)
from calor.server.store.states import Status

R = TypeVar("R")
K = TypeVar("K", StackKeys, StackRow)

AT_ONCE = 500
"""Values in one query, which databases bound."""


async def fetch(database: Database, row_type: type[R], query: sa.Select[Any]) -> list[R]:
    async def work(connection: AsyncConnection) -> list[R]:
        result = await connection.execute(query)
        names = ["meta" if name == "metadata" else name for name in result.keys()]  # noqa: SIM118 - it is no mapping
        return [row_type(**dict(zip(names, row, strict=True))) for row in result]

    return await database.read(work)


async def fetch_one(database: Database, row_type: type[R], query: sa.Select[Any]) -> R | None:
    rows = await fetch(database, row_type, query.limit(1))
    return rows[0] if rows else None


async def stack(database: Database, ident: str) -> StackRow | None:
    return await fetch_one(database, StackRow, sa.select(Stack.__table__).where(Stack.id == ident))


async def live_stack(database: Database, project_id: str, name: str) -> StackRow | None:
    query = sa.select(Stack.__table__).where(Stack.live_name == f"{project_id}/{name}")
    return await fetch_one(database, StackRow, query)


async def nested_stack(database: Database, project_id: str, name: str) -> StackRow | None:
    """The oldest of this name that is not deleted: names of nested stacks are unique by their making only."""
    query = sa.select(Stack.__table__).where(
        Stack.project_id == project_id, Stack.deleted_at.is_(None), Stack.name == name, Stack.owner_id.is_not(None)
    )
    return await fetch_one(database, StackRow, query.order_by(Stack.created_at))


async def tree(database: Database, root_id: str) -> list[StackRow]:
    """All stacks of a tree that are not deleted, parents first."""
    query = sa.select(Stack.__table__).where(Stack.root_id == root_id).order_by(Stack.depth, Stack.created_at)
    return [row for row in await fetch(database, StackRow, query) if row.deleted_at is None or row.id == root_id]


async def tree_resources(database: Database, root_id: str) -> list[ResourceRow]:
    query = sa.select(Resource.__table__).where(Resource.root_id == root_id).order_by(Resource.created_at)
    return await fetch(database, ResourceRow, query)


async def breakpoints(database: Database, stack_id: str, name: str, hooks: Sequence[str]) -> list[BreakpointRow]:
    query = sa.select(Breakpoint.__table__).where(
        Breakpoint.stack_id == stack_id, Breakpoint.resource_name == name, Breakpoint.hook.in_(hooks)
    )
    return await fetch(database, BreakpointRow, query)


async def stack_resources(database: Database, stack_id: str) -> list[ResourceRow]:
    query = sa.select(Resource.__table__).where(Resource.stack_id == stack_id).order_by(Resource.created_at)
    return await fetch(database, ResourceRow, query)


async def resource(database: Database, ident: str) -> ResourceRow | None:
    return await fetch_one(database, ResourceRow, sa.select(Resource.__table__).where(Resource.id == ident))


async def resource_by_physical_id(database: Database, project_id: str, physical_id: str) -> ResourceRow | None:
    query = (
        sa.select(Resource.__table__)
        .join(Stack.__table__, Stack.id == Resource.stack_id)
        .where(Resource.physical_id == physical_id, Stack.project_id == project_id)
    )
    return await fetch_one(database, ResourceRow, query)


async def resource_of_deployment(database: Database, project_id: str, ident: str) -> ResourceRow | None:
    """Also of one that its server knows already while the resource has no physical id yet: that will be its own id."""
    found = await resource_by_physical_id(database, project_id, ident)
    return found or await resource(database, ident)


async def revision(database: Database, ident: str) -> RevisionRow | None:
    return await fetch_one(database, RevisionRow, sa.select(Revision.__table__).where(Revision.id == ident))


async def shown_parameters(database: Database, revision_id: str) -> Mapping[str, Any]:
    """What a user may see of a revision's parameters, without the texts that lie beside them."""

    async def work(connection: AsyncConnection) -> Mapping[str, Any]:
        query = sa.select(Revision.shown).where(Revision.id == revision_id)
        return (await connection.execute(query)).scalar_one_or_none() or {}

    return await database.read(work)


async def count_live_stacks(database: Database, project_id: str) -> int:
    async def work(connection: AsyncConnection) -> int:
        query = sa.select(sa.func.count()).select_from(Stack.__table__)
        query = query.where(Stack.project_id == project_id, Stack.deleted_at.is_(None), Stack.owner_id.is_(None))
        return int((await connection.execute(query)).scalar_one())

    return await database.read(work)


Alternatives = Sequence[Mapping[str, Any]]
"""Values of columns: one of the maps must fit with all that it has."""


async def stacks(
    database: Database,
    row_type: type[K],
    *,
    project_id: str | None,
    show_deleted: bool,
    show_nested: bool,
    where: Sequence[Alternatives] = (),
) -> list[K]:
    """Newest first, as far as ``row_type`` has it; ``where``: all of these must hold."""
    query = sa.select(*(Stack.__table__.c[field.name] for field in dataclasses.fields(row_type)))
    for alternatives in where:
        query = query.where(sa.or_(sa.false(), *(_fits(one) for one in alternatives)))
    if project_id is not None:
        query = query.where(Stack.project_id == project_id)
    if not show_deleted:
        query = query.where(Stack.deleted_at.is_(None))
    if not show_nested:
        query = query.where(Stack.owner_id.is_(None))
    return await fetch(database, row_type, query.order_by(Stack.created_at.desc(), Stack.id))


def _fits(values: Mapping[str, Any]) -> sa.ColumnElement[bool]:
    columns = Stack.__table__.c
    return sa.and_(
        *(columns[name].is_(None) if value is None else columns[name] == value for name, value in values.items())
    )


async def stacks_by_id(database: Database, idents: Sequence[str]) -> dict[str, StackRow]:
    """Those that are still there."""
    found: dict[str, StackRow] = {}
    for begin in range(0, len(idents), AT_ONCE):
        query = sa.select(Stack.__table__).where(Stack.id.in_(idents[begin : begin + AT_ONCE]))
        found |= {row.id: row for row in await fetch(database, StackRow, query)}
    return found


async def unfinished_roots(database: Database) -> list[str]:
    """Roots of the trees in which anything is IN_PROGRESS."""

    async def work(connection: AsyncConnection) -> list[str]:
        query = sa.select(Stack.root_id).distinct()
        query = query.where(Stack.status == Status.IN_PROGRESS, Stack.deleted_at.is_(None))
        return list((await connection.execute(query)).scalars())

    return await database.read(work)


async def events(
    database: Database,
    stack_ids: Sequence[str],
    *,
    resource: str | None = None,
    only: Mapping[str, Sequence[Any]] | None = None,
    after: str | None = None,
    newest_first: bool = False,
    limit: int | None = None,
) -> list[EventRow]:
    """In the order in which they happened, or the other way round. ``only`` has the values that columns may have;
    ``after`` is the id of the event before the page, from the start where there is none of that id."""
    query = sa.select(Event.__table__).where(Event.stack_id.in_(stack_ids)).limit(limit)
    query = query.order_by(Event.number.desc() if newest_first else Event.number)
    if resource is not None:
        query = query.where(Event.resource_name == resource)
    for column, values in (only or {}).items():
        query = query.where(Event.__table__.c[column].in_(values))
    last = None if after is None else await event(database, after)
    if last is not None and last.stack_id in stack_ids:
        query = query.where(Event.number < last.number if newest_first else Event.number > last.number)
    return await fetch(database, EventRow, query)


async def event(database: Database, ident: str) -> EventRow | None:
    return await fetch_one(database, EventRow, sa.select(Event.__table__).where(Event.id == ident))


async def lease(database: Database, root_id: str) -> LeaseRow | None:
    return await fetch_one(database, LeaseRow, sa.select(Lease.__table__).where(Lease.root_id == root_id))


async def acquire(database: Database, root_id: str, owner: str, *, now: datetime, until: datetime) -> LeaseRow | None:
    """Take the lease of a tree if it is free, expired or ours already; None if another holds it.

    One that was given back has no owner: it is free whatever the clock says, which may have been set back since.
    """
    return await _take(database, root_id, owner, until, Lease.expires_at <= now, Lease.owner.in_((owner, "")))


async def seize(database: Database, root_id: str, owner: str, dead: str, *, until: datetime) -> LeaseRow | None:
    """Take the lease from an owner that is known to be dead."""
    return await _take(database, root_id, owner, until, Lease.owner == dead)


async def _take(
    database: Database, root_id: str, owner: str, until: datetime, *any_of: sa.ColumnElement[bool]
) -> LeaseRow | None:
    async def work(connection: AsyncConnection) -> LeaseRow | None:
        query = sa.select(Lease.__table__).where(Lease.root_id == root_id)
        found = (await connection.execute(query)).mappings().first()
        if found is None:
            fresh = {"root_id": root_id, "owner": owner, "epoch": 1, "expires_at": until}
            await connection.execute(sa.insert(Lease), fresh)
            return LeaseRow(**fresh)  # type: ignore[arg-type]  # a mapping of the row's own names
        epoch = found["epoch"] + (found["owner"] != owner)
        result = await connection.execute(
            sa.update(Lease)
            .where(Lease.root_id == root_id, Lease.epoch == found["epoch"], sa.or_(*any_of))
            .values(owner=owner, epoch=epoch, expires_at=until)
        )
        return LeaseRow(root_id=root_id, owner=owner, epoch=epoch, expires_at=until) if result.rowcount == 1 else None

    return await database.transaction(work)


async def other_services(database: Database, ident: str, since: datetime) -> bool:
    """Whether another process has reported since a moment."""
    query = sa.select(Service.__table__).where(Service.id != ident, Service.updated_at >= since)
    return await fetch_one(database, ServiceRow, query) is not None


async def services(database: Database) -> list[ServiceRow]:
    return await fetch(database, ServiceRow, sa.select(Service.__table__).order_by(Service.created_at))


async def stacks_of_tree(database: Database, root_id: str) -> list[StackRow]:
    """All stacks of a tree, deleted ones too, parents first."""
    query = sa.select(Stack.__table__).where(Stack.root_id == root_id).order_by(Stack.depth, Stack.created_at)
    return await fetch(database, StackRow, query)
