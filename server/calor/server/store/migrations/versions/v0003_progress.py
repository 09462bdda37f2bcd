"""What runs print, runs on demand, cancelled runs, and cloud-init's verdict."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from calor.server.store.base import UtcDateTime

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

LONG_TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


def upgrade() -> None:
    op.create_table(
        "output_piece",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("run_id", sa.String(length=36), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("stream", sa.String(length=16), nullable=False),
        sa.Column("begin", sa.BigInteger(), nullable=False),
        sa.Column("end", sa.BigInteger(), nullable=False),
        sa.Column("deployment_id", sa.String(length=36), nullable=False),
        sa.Column("stack_id", sa.String(length=36), nullable=True),
        sa.Column("root_id", sa.String(length=36), nullable=True),
        sa.Column("resource_name", sa.String(length=255), nullable=False),
        sa.Column("data", LONG_TEXT, nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_output_piece"),
        sa.UniqueConstraint("run_id", "attempt", "stream", "begin", name="uq_output_piece_run_id_attempt_stream_begin"),
    )
    op.create_index("ix_output_piece_root_id_number", "output_piece", ["root_id", "number"], unique=False)
    op.create_index("ix_output_piece_deployment_id", "output_piece", ["deployment_id"], unique=False)
    op.create_index("ix_output_piece_at", "output_piece", ["at"], unique=False)
    with op.batch_alter_table("software_deployment") as table:
        table.add_column(sa.Column("source_id", sa.String(length=36), nullable=True))
        table.add_column(sa.Column("asked_by", sa.String(length=255), nullable=True))
        table.add_column(sa.Column("cancelled_by", sa.String(length=255), nullable=True))
        table.add_column(sa.Column("cancelled_at", UtcDateTime(), nullable=True))
        table.create_index("ix_software_deployment_source_id", ["source_id"], unique=False)
    with op.batch_alter_table("guest") as table:
        table.add_column(sa.Column("verdict", LONG_TEXT, nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("guest") as table:
        table.drop_column("verdict")
    with op.batch_alter_table("software_deployment") as table:
        table.drop_index("ix_software_deployment_source_id")
        for name in ("cancelled_at", "cancelled_by", "asked_by", "source_id"):
            table.drop_column(name)
    op.drop_table("output_piece")
