"""Changes of rows as data, and the one transaction that carries a group of them out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from calor.server.store.base import Base
from calor.server.store.models import Lease

Model = type[Base]


class LeaseLost(Exception):
    """Another engine has taken the tree over: this process must not write it any more."""


@dataclass(frozen=True, slots=True)
class Insert:
    into: Model
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """New values for the rows that have ``key``."""

    of: Model
    key: Mapping[str, Any]
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Remove:
    of: Model
    key: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Add:
    """Add to numbers of the rows that have ``key``, whatever they are: others may add at the same time."""

    of: Model
    key: Mapping[str, Any]
    values: Mapping[str, int]


Write = Insert | Change | Add | Remove


@dataclass(frozen=True, slots=True)
class Fence:
    """The right to write a tree: the lease must still be this owner's, with this epoch."""

    root_id: str
    owner: str
    epoch: int


async def holds(connection: AsyncConnection, fence: Fence, until: datetime) -> bool:
    """Whether the fence still holds; renews the lease and locks its row till the transaction ends, so that no
    other engine can take the tree over between this check and the commit."""
    result = await connection.execute(
        sa.update(Lease)
        .where(Lease.root_id == fence.root_id, Lease.owner == fence.owner, Lease.epoch == fence.epoch)
        .values(expires_at=until)
    )
    return result.rowcount == 1


async def carry_out(connection: AsyncConnection, writes: Iterable[Write]) -> None:
    """Inserts first, then changes in their order, additions, removals: few statements with many rows each."""
    inserts: dict[Model, list[Mapping[str, Any]]] = {}
    changes: list[Change] = []
    additions: list[Add] = []
    removals: dict[tuple[Model, tuple[str, ...]], list[Mapping[str, Any]]] = {}
    for write in writes:
        if isinstance(write, Insert):
            inserts.setdefault(write.into, []).append(write.values)
        elif isinstance(write, Change):
            changes.append(write)
        elif isinstance(write, Add):
            additions.append(write)
        else:
            removals.setdefault((write.of, tuple(sorted(write.key))), []).append(write.key)
    for model, rows in inserts.items():
        await _insert(connection, model, rows)
    for group in _grouped(changes):
        await _change(connection, group)
    for addition in additions:
        table = addition.of.__table__
        more = {name: table.c[name] + value for name, value in addition.values.items()}
        where = [table.c[name] == value for name, value in addition.key.items()]
        await connection.execute(sa.update(table).where(*where).values(more))  # type: ignore[arg-type]  # a Table, always
    for (model, names), keys in removals.items():
        await _remove(connection, model, names, keys)


async def _insert(connection: AsyncConnection, model: Model, rows: Sequence[Mapping[str, Any]]) -> None:
    by_columns: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        by_columns.setdefault(tuple(row), []).append(row)
    for names, group in by_columns.items():
        columns = [_column(model, name) for name in names]
        parameters = group
        if columns != list(names):
            parameters = [dict(zip(columns, row.values(), strict=True)) for row in group]
        await connection.execute(sa.insert(model.__table__), parameters)  # type: ignore[arg-type]  # a Table, always


def _column(model: Model, name: str) -> str:
    """A column's name by its attribute's: they differ where Python or SQLAlchemy has a word reserved."""
    return "metadata" if name == "meta" and "metadata" in model.__table__.c else name


def _grouped(changes: Sequence[Change]) -> Iterable[list[Change]]:
    """Consecutive changes of one row become one; those with the same columns go out together."""
    merged: dict[tuple[Model, tuple[tuple[str, Any], ...]], dict[str, Any]] = {}
    for change in changes:
        merged.setdefault((change.of, tuple(sorted(change.key.items()))), {}).update(change.values)
    groups: dict[tuple[Model, tuple[str, ...], tuple[str, ...]], list[Change]] = {}
    for (model, key), values in merged.items():
        shape = (model, tuple(name for name, _ in key), tuple(sorted(values)))
        groups.setdefault(shape, []).append(Change(model, dict(key), values))
    return groups.values()


async def _change(connection: AsyncConnection, group: Sequence[Change]) -> None:
    model, table = group[0].of, group[0].of.__table__
    statement = sa.update(table).values(  # type: ignore[arg-type]  # a Table, always
        {_column(model, name): sa.bindparam(f"new_{name}") for name in group[0].values}
    )
    for name in group[0].key:
        statement = statement.where(table.c[_column(model, name)] == sa.bindparam(f"key_{name}"))
    parameters = [
        {f"new_{name}": value for name, value in change.values.items()}
        | {f"key_{name}": value for name, value in change.key.items()}
        for change in group
    ]
    await connection.execute(statement, parameters)


async def _remove(
    connection: AsyncConnection, model: Model, names: Sequence[str], keys: Sequence[Mapping[str, Any]]
) -> None:
    table = model.__table__
    statement = sa.delete(table)  # type: ignore[arg-type]  # a Table, always
    for name in names:
        statement = statement.where(table.c[_column(model, name)] == sa.bindparam(f"key_{name}"))
    await connection.execute(statement, [{f"key_{name}": key[name] for name in names} for key in keys])
