"""The database: schema check, changes in groups, fences, retries."""

import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy.exc import OperationalError

from calor.server import store
from calor.server.store import database, guest_models, models, queries
from calor.server.store.base import Base
from calor.server.store.states import Action, Status
from calor.server.store.writes import Change, Fence, Insert, Remove, carry_out, holds

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


@pytest.fixture
async def db(tmp_path: Path) -> Any:
    url = f"sqlite:///{tmp_path}/store.sqlite"
    await store.upgrade(url)
    opened = await store.open_database(url)
    yield opened
    await opened.close()


def event(reason: str) -> Insert:
    return Insert(
        models.Event,
        {
            "id": str(uuid.uuid4()),
            "stack_id": "s",
            "root_id": "s",
            "resource_name": "r",
            "resource_type": "t",
            "physical_id": None,
            "action": Action.CREATE,
            "status": Status.COMPLETE,
            "reason": reason,
            "at": NOW,
        },
    )


async def write(db: store.Database, *writes: Any) -> None:
    await db.transaction(lambda connection: carry_out(connection, writes))


async def test_an_unknown_schema_is_refused_with_the_command_that_helps(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/empty.sqlite"
    with pytest.raises(store.SchemaUnknown, match="calor db upgrade"):
        await store.open_database(url)
    await store.upgrade(url)
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(store.SchemaUnknown, match="9999"):
        await store.open_database(url)


async def test_the_migrations_make_what_the_models_say(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.sqlite"
    await store.upgrade(url, step_by_step=True)
    await store.upgrade(url)
    engine = sa.create_engine(url)
    assert guest_models.Guest.metadata is Base.metadata
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    engine.dispose()


async def test_an_empty_database_gets_at_once_what_the_migrations_lead_to(tmp_path: Path) -> None:
    urls = [f"sqlite:///{tmp_path}/{name}.sqlite" for name in ("at_once", "step_by_step")]
    await store.upgrade(urls[0])
    await store.upgrade(urls[1], step_by_step=True)
    assert _shape(urls[0]) == _shape(urls[1])


def _shape(url: str) -> dict[str, object]:
    engine = sa.create_engine(url)
    look = sa.inspect(engine)
    found: dict[str, object] = {}
    for name in look.get_table_names():
        columns = {one["name"]: (str(one["type"]), one["nullable"]) for one in look.get_columns(name)}
        indexes = sorted((one["name"] or "", one["column_names"], one["unique"]) for one in look.get_indexes(name))
        unique = sorted((one["name"] or "", one["column_names"]) for one in look.get_unique_constraints(name))
        found[name] = columns, indexes, unique, look.get_pk_constraint(name)
    with engine.connect() as connection:
        found["version"] = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    engine.dispose()
    return found


@pytest.mark.parametrize("dialect", ["postgresql", "mysql"])
def test_the_tables_can_be_made_elsewhere(dialect: str) -> None:
    from sqlalchemy.dialects import mysql, postgresql

    target = {"postgresql": postgresql.dialect(), "mysql": mysql.dialect()}[dialect]
    for table in Base.metadata.sorted_tables:
        text = str(sa.schema.CreateTable(table).compile(dialect=target))
        assert "NVARCHAR" not in text
    if dialect == "mysql":
        assert "LONGTEXT" in str(sa.schema.CreateTable(models.Event.__table__).compile(dialect=target))


async def test_moments_keep_their_microseconds_and_their_zone(db: store.Database) -> None:
    await write(db, event("one"))
    (row,) = await queries.events(db, stack_ids=["s"])
    assert row.at == NOW
    assert row.at.tzinfo is UTC
    assert row.action is Action.CREATE


async def test_changes_of_one_row_in_a_group_end_in_the_last(db: store.Database) -> None:
    first = event("first")
    key = {"id": first.values["id"]}
    changes = [Change(models.Event, key, {"reason": "second"}), Change(models.Event, key, {"reason": "third"})]
    await write(db, *changes, first, event("other"))
    assert [row.reason for row in await queries.events(db, stack_ids=["s"])] == ["third", "other"]
    await write(db, Remove(models.Event, key))
    assert [row.reason for row in await queries.events(db, stack_ids=["s"])] == ["other"]


async def test_a_fence_holds_for_its_epoch_only(db: store.Database) -> None:
    lease = await queries.acquire(db, "root", "one", now=NOW, until=NOW + timedelta(seconds=5))
    assert lease is not None and lease.epoch == 1
    assert await queries.acquire(db, "root", "two", now=NOW, until=NOW) is None
    late = NOW + timedelta(seconds=6)
    taken = await queries.acquire(db, "root", "two", now=late, until=late + timedelta(seconds=5))
    assert taken is not None and taken.epoch == 2
    held = [
        await db.transaction(lambda c, f=fence: holds(c, f, late))
        for fence in (Fence("root", "one", 1), Fence("root", "two", 2), Fence("root", "two", 1))
    ]
    assert held == [False, True, False]


async def test_what_the_database_asks_to_repeat_is_repeated(db: store.Database) -> None:
    tries = []

    async def deadlocked(connection: Any) -> str:
        tries.append(1)
        if len(tries) < 3:
            raise OperationalError("UPDATE", {}, Exception("Deadlock found when trying to get lock"))
        return "done"

    assert await db.transaction(deadlocked) == "done"
    assert len(tries) == 3


def test_operators_urls_get_our_drivers() -> None:
    names = {
        url: database.async_url(url).drivername for url in ("mysql+pymysql://h/d", "postgresql://h/d", "sqlite:///f")
    }
    assert list(names.values()) == ["mysql+aiomysql", "postgresql+asyncpg", "sqlite+aiosqlite"]


async def test_a_new_database_file_is_for_its_owner_only(db: Any, tmp_path: Path) -> None:
    await db.transaction(lambda connection: connection.execute(sa.text("DELETE FROM stack")))
    assert {file.name: file.stat().st_mode & 0o777 for file in tmp_path.glob("store.sqlite*")} == {
        "store.sqlite": 0o600,
        "store.sqlite-wal": 0o600,
        "store.sqlite-shm": 0o600,
    }
