"""The floor of what the server stores: its own rows, inserted again by the same driver into an empty database."""

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from calor.server import store
from calor.server.store import guest_models

TABLES = tuple(guest_models.Guest.metadata.sorted_tables)


class Floor(NamedTuple):
    """Seconds."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Rows:
    """All rows of a database, by table and primary key."""

    by_key: Mapping[tuple[str, Any], Mapping[str, Any]]

    @classmethod
    async def of(cls, path: Path) -> "Rows":
        async def work(connection: AsyncConnection) -> dict[tuple[str, Any], Mapping[str, Any]]:
            found: dict[tuple[str, Any], Mapping[str, Any]] = {}
            for table in TABLES:
                keys = [column.name for column in table.primary_key]
                for row in (await connection.execute(sa.select(table))).mappings():
                    found[table.name, tuple(row[key] for key in keys)] = dict(row)
            return found

        database = await store.open_database(f"sqlite:///{path}")
        try:
            return cls(await database.read(work))
        finally:
            await database.close()

    def __sub__(self, other: "Rows") -> "Rows":
        """Those that are new."""
        return Rows({key: row for key, row in self.by_key.items() if key not in other.by_key})

    async def inserted(self, times: int = 3) -> Floor:
        """The fastest of a few insertions: SQLAlchemy's ``executemany`` through the asynchronous engine that the
        server uses, with its settings, in one transaction, one statement a table."""
        return min([await self._inserted() for _ in range(times)])

    async def _inserted(self) -> Floor:
        async def work(connection: AsyncConnection) -> None:
            for table in TABLES:
                if rows := self.of_table(table.name):
                    await connection.execute(sa.insert(table), rows)

        with tempfile.TemporaryDirectory(prefix="calor-bench-") as folder:
            url = f"sqlite:///{folder}/floor.sqlite"
            await store.upgrade(url)
            database = await store.open_database(url)
            wall, cpu = time.perf_counter(), time.process_time()
            await database.transaction(work)
            floor = Floor(round(time.perf_counter() - wall, 4), round(time.process_time() - cpu, 4))
            await database.close()
        return floor

    def of_table(self, table: str) -> list[dict[str, Any]]:
        return [dict(row) for (name, _), row in self.by_key.items() if name == table]
