"""Pauses of resources at the hooks of the resource registry."""

import sqlalchemy as sa
from alembic import op

from calor.server.store.base import UtcDateTime, word
from calor.server.store.states import Action, Status

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "breakpoint",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("stack_id", sa.String(length=36), nullable=False),
        sa.Column("root_id", sa.String(length=36), nullable=False),
        sa.Column("resource_name", sa.String(length=255), nullable=False),
        sa.Column("resource_id", sa.String(length=36), nullable=True),
        sa.Column("hook", sa.String(length=16), nullable=False),
        sa.Column("type", sa.String(length=1024), nullable=False),
        sa.Column("physical_id", sa.String(length=255), nullable=True),
        sa.Column("action", word(Action), nullable=False),
        sa.Column("status", word(Status), nullable=False),
        sa.Column("run_at", UtcDateTime(), nullable=False),
        sa.Column("cleared_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_breakpoint"),
    )
    op.create_index("ix_breakpoint_stack_id_resource_name", "breakpoint", ["stack_id", "resource_name"], unique=False)


def downgrade() -> None:
    op.drop_table("breakpoint")
