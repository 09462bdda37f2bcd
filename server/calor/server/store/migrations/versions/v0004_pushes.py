"""Where the metadata of servers is written that are told by an object or a queue."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from calor.server.store.base import UtcDateTime

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

LONG_TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


def upgrade() -> None:
    op.create_table(
        "push",
        sa.Column("resource_id", sa.String(length=36), nullable=False),
        sa.Column("target", LONG_TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("row_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("resource_id", name="pk_push"),
    )


def downgrade() -> None:
    op.drop_table("push")
