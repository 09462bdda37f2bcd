"""Which schema a database has, and which one this server needs, without Alembic: it takes long to import."""

import re
from pathlib import Path

import sqlalchemy as sa

from calor.server.store import guest_models

MIGRATIONS = Path(__file__).with_name("migrations")

_NAMES = re.compile(r'^(revision|down_revision)\b[^=\n]*= *"([^"]+)"', re.MULTILINE)


def needed() -> str:
    """The last migration: the one that no other builds on."""
    revisions: set[str] = set()
    built_on: set[str] = set()
    for file in sorted((MIGRATIONS / "versions").glob("v*.py")):
        for kind, name in _NAMES.findall(file.read_text(encoding="utf-8")):
            (revisions if kind == "revision" else built_on).add(name)
    (last,) = revisions - built_on
    return last


def is_empty(connection: sa.Connection) -> bool:
    """Whether nobody has made anything in the database yet."""
    return not sa.inspect(connection).get_table_names()


def create(connection: sa.Connection) -> None:
    """All tables at once, as the migrations would leave them, and Alembic's note of it."""
    guest_models.Guest.metadata.create_all(connection)
    note = sa.Table(
        "alembic_version",
        sa.MetaData(),
        sa.Column("version_num", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
    )
    note.create(connection)
    connection.execute(note.insert(), {"version_num": needed()})


def found(connection: sa.Connection) -> str | None:
    """What Alembic noted in the database; None where it has been at no work yet."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    name: str | None = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    return name
