"""Opens the database: pragmas, retries, the check of the schema, and its upgrade."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from calor.server.store import schema

T = TypeVar("T")

ASYNC_DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "postgresql": "postgresql+asyncpg",
    "mysql": "mysql+aiomysql",
    "mysql+pymysql": "mysql+aiomysql",
    "mariadb": "mysql+aiomysql",
    "mariadb+pymysql": "mysql+aiomysql",
}
ATTEMPTS = 12
_RETRY_CODES = frozenset({"40001", "40P01", 1205, 1213, 1020})
_RETRY_WORDS = ("database is locked", "database table is locked", "deadlock", "could not serialize")


class SchemaUnknown(Exception):
    """The database has a schema that this server does not know."""


class Database:
    """Connections with short transactions; what the database asks to try again is tried again.

    SQLite has one writer at a time, and whoever finds it busy tries again by chance, some for seconds: there the
    transactions of this process take turns.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._turn: AbstractAsyncContextManager[Any] = (
            asyncio.Lock() if engine.dialect.name == "sqlite" else contextlib.nullcontext()
        )

    async def transaction(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """Run ``work`` in one transaction, again from its start after a deadlock or a serialisation failure."""
        for attempt in range(ATTEMPTS):
            try:
                async with self._turn, self._engine.begin() as connection:
                    return await work(connection)
            except DBAPIError as error:
                if not is_retryable(error) or attempt == ATTEMPTS - 1:
                    raise
            await asyncio.sleep(random.uniform(0.5, 1.0) * min(0.01 * 2**attempt, 0.5))
        raise AssertionError("the last attempt returns or raises")

    async def read(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        async with self._engine.connect() as connection:
            return await work(connection)

    async def close(self) -> None:
        await self._engine.dispose()


def is_retryable(error: DBAPIError) -> bool:
    origin = error.orig
    codes = {getattr(origin, "sqlstate", None), getattr(origin, "pgcode", None), *list(getattr(origin, "args", ()))[:1]}
    text = str(origin).lower()
    return bool(codes & _RETRY_CODES) or any(words in text for words in _RETRY_WORDS)


def async_url(url: str) -> sa.URL:
    """The URL with our asynchronous driver: operators write ``mysql+pymysql://`` or ``postgresql://``."""
    parsed = make_url(url)
    return parsed.set(drivername=ASYNC_DRIVERS.get(parsed.drivername, parsed.drivername))


def _engine(url: str) -> AsyncEngine:
    target = async_url(url)
    if target.get_backend_name() != "sqlite":
        return create_async_engine(target, pool_pre_ping=True, pool_recycle=1800)
    _keep_private(target.database or "")
    engine = create_async_engine(target, pool_size=8, max_overflow=8)

    @event.listens_for(engine.sync_engine, "connect")
    def _pragmas(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=10000", "cache_size=-16000"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    return engine


def _keep_private(file: str) -> None:
    """A new file is for its owner only; SQLite gives its journals the same mode. An operator's choice stays."""
    path = Path(file)
    if file and not file.startswith((":memory:", "file:")) and path.parent.is_dir():
        path.touch(mode=0o600)


async def open_database(url: str) -> Database:
    """Raises `SchemaUnknown` naming the command that helps, unless the schema is the one of this server."""
    engine = _engine(url)
    try:
        async with engine.connect() as connection:
            found = await connection.run_sync(schema.found)
    except BaseException:
        await engine.dispose()
        raise
    wanted = schema.needed()
    if found != wanted:
        await engine.dispose()
        state = "has no schema yet" if found is None else f"has the schema {found}"
        raise SchemaUnknown(
            f"The database {async_url(url).render_as_string()} {state}; this server needs {wanted}. "
            "Run `calor db upgrade` and start the server again."
        )
    return Database(engine)


async def upgrade(url: str, *, step_by_step: bool = False) -> None:
    """Bring the schema of the database to this server's. An empty database gets it at once, unless asked to take
    every migration."""
    engine = _engine(url)
    try:
        async with engine.begin() as connection:
            await connection.run_sync(_migrate if step_by_step else _upgrade)
    finally:
        await engine.dispose()


def _upgrade(connection: sa.Connection) -> None:
    if schema.is_empty(connection):
        schema.create(connection)
    elif schema.found(connection) != schema.needed():
        _migrate(connection)


def _migrate(connection: sa.Connection) -> None:
    from alembic import command  # imported here: it would take a third of a server's start
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(schema.MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
