"""Which resources may be replaced on the way to a revision, whatever its environment restricts."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("revision") as table:
        table.add_column(sa.Column("allow_replace", sa.JSON(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("revision") as table:
        table.drop_column("allow_replace")
