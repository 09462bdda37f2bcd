"""What all models share: naming of constraints, UTC datetimes, enums as words, text without a limit."""

import enum
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.types import TypeDecorator

from calor.server.store.states import Action, Status


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC. Naive in the column (every database has that), aware in Python."""

    impl = sa.DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        if dialect.name in ("mysql", "mariadb"):
            from sqlalchemy.dialects import mysql  # all its drivers' modules: not on the way to a start with SQLite

            return dialect.type_descriptor(mysql.DATETIME(fsp=6))
        return dialect.type_descriptor(sa.DateTime())

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


class LongText(TypeDecorator[str]):
    """Text of any length; MariaDB's plain TEXT ends at 64 KiB."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        if dialect.name in ("mysql", "mariadb"):
            from sqlalchemy.dialects import mysql

            return dialect.type_descriptor(mysql.LONGTEXT())
        return dialect.type_descriptor(sa.Text())


def long_text() -> sa.types.TypeEngine[str]:
    return LongText()


def word(of: type[enum.Enum]) -> sa.Enum:
    return sa.Enum(of, native_enum=False, create_constraint=False, length=16)


class Base(DeclarativeBase):
    metadata = sa.MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy reads it from the class
        datetime: UtcDateTime(),
        Action: word(Action),
        Status: word(Status),
        dict[str, Any]: sa.JSON(),
        list[str]: sa.JSON(),
    }
