"""Reading and pruning what runs printed."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from calor.server.store.database import Database
from calor.server.store.guest_models import OutputPiece
from calor.server.store.queries import fetch
from calor.server.store.rows import PieceRow


async def ends(database: Database, run_id: str, attempt: int) -> dict[str, int]:
    """How far each stream of an attempt has come."""

    async def work(connection: AsyncConnection) -> dict[str, int]:
        query = sa.select(OutputPiece.stream, sa.func.max(OutputPiece.end)).group_by(OutputPiece.stream)
        query = query.where(OutputPiece.run_id == run_id, OutputPiece.attempt == attempt)
        return {str(stream): int(end) for stream, end in (await connection.execute(query)).all()}

    return await database.read(work)


async def last(database: Database, run_id: str, limit: int) -> list[PieceRow]:
    """The last pieces of a run, in order."""
    query = sa.select(OutputPiece.__table__).where(OutputPiece.run_id == run_id)
    return (await fetch(database, PieceRow, query.order_by(OutputPiece.number.desc()).limit(limit)))[::-1]


async def is_known(database: Database, run_id: str) -> bool:
    """Whether anything is kept of a run."""

    async def work(connection: AsyncConnection) -> bool:
        query = sa.select(OutputPiece.number).where(OutputPiece.run_id == run_id).limit(1)
        return (await connection.execute(query)).first() is not None

    return await database.read(work)


async def newest(database: Database) -> int:
    """The greatest number of all pieces; 0 where there is none."""

    async def work(connection: AsyncConnection) -> int:
        return int((await connection.execute(sa.select(sa.func.max(OutputPiece.number)))).scalar() or 0)

    return await database.read(work)


async def numbers(database: Database, after: int, limit: int = 1000) -> list[int]:
    """The numbers of all pieces beyond one, in order."""

    async def work(connection: AsyncConnection) -> list[int]:
        query = sa.select(OutputPiece.number).where(OutputPiece.number > after)
        return list((await connection.execute(query.order_by(OutputPiece.number).limit(limit))).scalars())

    return await database.read(work)


async def after(
    database: Database,
    number: int,
    *,
    until: int,
    root_id: str | None = None,
    deployment_id: str | None = None,
    stack_ids: Sequence[str] = (),
    resource: str | None = None,
    limit: int = 200,
) -> list[PieceRow]:
    """The pieces of a tree (of some of its stacks, of one resource) or of one deployment beyond a number, up to one."""
    query = sa.select(OutputPiece.__table__).where(OutputPiece.number > number, OutputPiece.number <= until)
    if root_id is not None:
        query = query.where(OutputPiece.root_id == root_id)
    if deployment_id is not None:
        query = query.where(OutputPiece.deployment_id == deployment_id)
    if stack_ids:
        query = query.where(OutputPiece.stack_id.in_(stack_ids))
    if resource is not None:
        query = query.where(OutputPiece.resource_name == resource)
    return await fetch(database, PieceRow, query.order_by(OutputPiece.number).limit(limit))


async def cut(database: Database, run_id: str, attempt: int, stream: str, before: int) -> None:
    """Forget the pieces of one stream that end before an offset."""
    statement = sa.delete(OutputPiece).where(
        OutputPiece.run_id == run_id,
        OutputPiece.attempt == attempt,
        OutputPiece.stream == stream,
        OutputPiece.end <= before,
    )
    await _delete(database, statement)


async def forget_older(database: Database, moment: datetime) -> None:
    await _delete(database, sa.delete(OutputPiece).where(OutputPiece.at < moment))


async def _delete(database: Database, statement: sa.Delete) -> None:
    async def work(connection: AsyncConnection) -> None:
        await connection.execute(statement)

    await database.transaction(work)
