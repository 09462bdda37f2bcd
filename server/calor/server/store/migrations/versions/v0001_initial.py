"""The first schema."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from calor.server.store.base import UtcDateTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

LONG_TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
STATUS = sa.Enum("IN_PROGRESS", "COMPLETE", "FAILED", name="status", native_enum=False, length=16)
ACTION = sa.Enum(
    "INIT",
    "CREATE",
    "UPDATE",
    "DELETE",
    "ROLLBACK",
    "SUSPEND",
    "RESUME",
    "CHECK",
    "SNAPSHOT",
    "RESTORE",
    "ADOPT",
    "SIGNAL",
    name="action",
    native_enum=False,
    length=16,
)


def upgrade() -> None:
    op.create_table(
        "event",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("stack_id", sa.String(length=36), nullable=False),
        sa.Column("root_id", sa.String(length=36), nullable=False),
        sa.Column("resource_name", sa.String(length=255), nullable=False),
        sa.Column("resource_type", sa.String(length=1024), nullable=False),
        sa.Column("physical_id", sa.String(length=255), nullable=True),
        sa.Column("action", ACTION, nullable=False),
        sa.Column("status", STATUS, nullable=False),
        sa.Column("reason", LONG_TEXT, nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=("pk_event")),
        sa.UniqueConstraint("id", name=("uq_event_id")),
    )
    op.create_index(("ix_event_root_id"), "event", ["root_id"], unique=False)
    op.create_index("ix_event_stack_id_number", "event", ["stack_id", "number"], unique=False)
    op.create_table(
        "guest",
        sa.Column("resource_id", sa.String(length=36), nullable=False),
        sa.Column("stack_id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=64), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("secret_hash", sa.String(length=64), nullable=True),
        sa.Column("access_key", sa.String(length=64), nullable=True),
        sa.Column("secret_key", LONG_TEXT, nullable=True),
        sa.Column("user_id", sa.String(length=64), nullable=True),
        sa.Column("password", LONG_TEXT, nullable=True),
        sa.Column("agent_sha256", sa.String(length=64), nullable=True),
        sa.Column("state", sa.String(length=255), nullable=False),
        sa.Column("detail", LONG_TEXT, nullable=False),
        sa.Column("last_contact", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("resource_id", name=("pk_guest")),
        sa.UniqueConstraint("access_key", name=("uq_guest_access_key")),
        sa.UniqueConstraint("user_id", name=("uq_guest_user_id")),
    )
    op.create_index(("ix_guest_stack_id"), "guest", ["stack_id"], unique=False)
    op.create_table(
        "lease",
        sa.Column("root_id", sa.String(length=36), nullable=False),
        sa.Column("owner", sa.String(length=255), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("root_id", name=("pk_lease")),
    )
    op.create_table(
        "mailbox",
        sa.Column("server_id", sa.String(length=255), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("server_id", name=("pk_mailbox")),
    )
    op.create_table(
        "operation",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("stack_id", sa.String(length=36), nullable=False),
        sa.Column("action", ACTION, nullable=False),
        sa.Column("revision_id", sa.String(length=36), nullable=True),
        sa.Column("user_id", sa.String(length=64), nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.Column("asked_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=("pk_operation")),
    )
    op.create_index(("ix_operation_stack_id"), "operation", ["stack_id"], unique=False)
    op.create_table(
        "resource",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("stack_id", sa.String(length=36), nullable=False),
        sa.Column("root_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("type", sa.String(length=1024), nullable=False),
        sa.Column("action", ACTION, nullable=False),
        sa.Column("status", STATUS, nullable=False),
        sa.Column("status_reason", LONG_TEXT, nullable=False),
        sa.Column("physical_id", sa.String(length=255), nullable=True),
        sa.Column("attempted", sa.Boolean(), nullable=False),
        sa.Column("properties", LONG_TEXT, nullable=True),
        sa.Column("pending", LONG_TEXT, nullable=True),
        sa.Column("data", LONG_TEXT, nullable=True),
        sa.Column("metadata", LONG_TEXT, nullable=True),
        sa.Column("attributes", LONG_TEXT, nullable=True),
        sa.Column("requires", sa.JSON(), nullable=False),
        sa.Column("replaces", sa.String(length=36), nullable=True),
        sa.Column("replaced_by", sa.String(length=36), nullable=True),
        sa.Column("revision_id", sa.String(length=36), nullable=True),
        sa.Column("child_id", sa.String(length=36), nullable=True),
        sa.Column("deletion_policy", sa.String(length=16), nullable=False),
        sa.Column("external", sa.Boolean(), nullable=False),
        sa.Column("uses_signals", sa.Boolean(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=("pk_resource")),
    )
    op.create_index(("ix_resource_physical_id"), "resource", ["physical_id"], unique=False)
    op.create_index(("ix_resource_root_id"), "resource", ["root_id"], unique=False)
    op.create_index(("ix_resource_stack_id"), "resource", ["stack_id"], unique=False)
    op.create_table(
        "revision",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("stack_id", sa.String(length=36), nullable=False),
        sa.Column("template", LONG_TEXT, nullable=False),
        sa.Column("template_file", sa.String(length=1024), nullable=False),
        sa.Column("files", LONG_TEXT, nullable=True),
        sa.Column("files_of", sa.String(length=36), nullable=True),
        sa.Column("environment", LONG_TEXT, nullable=False),
        sa.Column("parameters", LONG_TEXT, nullable=False),
        sa.Column("shown", sa.JSON(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=("pk_revision")),
    )
    op.create_index(("ix_revision_stack_id"), "revision", ["stack_id"], unique=False)
    op.create_table(
        "run",
        sa.Column("run_id", sa.String(length=36), nullable=False),
        sa.Column("deployment_id", sa.String(length=36), nullable=False),
        sa.Column("config_id", sa.String(length=36), nullable=False),
        sa.Column("outcome", sa.String(length=255), nullable=False),
        sa.Column("body", LONG_TEXT, nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", name=("pk_run")),
    )
    op.create_index(("ix_run_deployment_id"), "run", ["deployment_id"], unique=False)
    op.create_table(
        "service",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("engine_id", sa.String(length=255), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.Column("report_interval", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=("pk_service")),
    )
    op.create_table(
        "signal",
        sa.Column("resource_id", sa.String(length=36), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("details", LONG_TEXT, nullable=False),
        sa.Column("received_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("resource_id", "number", name=("pk_signal")),
    )
    op.create_table(
        "software_config",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("group", sa.String(length=255), nullable=False),
        sa.Column("body", LONG_TEXT, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=("pk_software_config")),
    )
    op.create_index(("ix_software_config_project_id"), "software_config", ["project_id"], unique=False)
    op.create_table(
        "software_deployment",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=64), nullable=False),
        sa.Column("stack_id", sa.String(length=36), nullable=True),
        sa.Column("server_id", sa.String(length=255), nullable=False),
        sa.Column("config_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("run_id", sa.String(length=36), nullable=False),
        sa.Column("action", sa.String(length=255), nullable=False),
        sa.Column("status", sa.String(length=255), nullable=False),
        sa.Column("status_reason", LONG_TEXT, nullable=False),
        sa.Column("values", LONG_TEXT, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=("pk_software_deployment")),
    )
    op.create_index(("ix_software_deployment_config_id"), "software_deployment", ["config_id"], unique=False)
    op.create_index(("ix_software_deployment_project_id"), "software_deployment", ["project_id"], unique=False)
    op.create_index(("ix_software_deployment_server_id"), "software_deployment", ["server_id"], unique=False)
    op.create_index(("ix_software_deployment_stack_id"), "software_deployment", ["stack_id"], unique=False)
    op.create_table(
        "stack",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("live_name", sa.String(length=330), nullable=True),
        sa.Column("project_id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=64), nullable=False),
        sa.Column("user_name", sa.String(length=255), nullable=False),
        sa.Column("root_id", sa.String(length=36), nullable=False),
        sa.Column("owner_id", sa.String(length=36), nullable=True),
        sa.Column("owner_resource_id", sa.String(length=36), nullable=True),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("revision_id", sa.String(length=36), nullable=True),
        sa.Column("good_revision_id", sa.String(length=36), nullable=True),
        sa.Column("action", ACTION, nullable=False),
        sa.Column("status", STATUS, nullable=False),
        sa.Column("status_reason", LONG_TEXT, nullable=False),
        sa.Column("description", LONG_TEXT, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=True),
        sa.Column("deleted_at", UtcDateTime(), nullable=True),
        sa.Column("started_at", UtcDateTime(), nullable=False),
        sa.Column("timeout_mins", sa.Integer(), nullable=True),
        sa.Column("disable_rollback", sa.Boolean(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("region", sa.String(length=255), nullable=True),
        sa.Column("credentials", LONG_TEXT, nullable=True),
        sa.Column("outputs", LONG_TEXT, nullable=True),
        sa.PrimaryKeyConstraint("id", name=("pk_stack")),
        sa.UniqueConstraint("live_name", name=("uq_stack_live_name")),
    )
    op.create_index("ix_stack_owner_id", "stack", ["owner_id"], unique=False)
    op.create_index("ix_stack_project_id_deleted_at", "stack", ["project_id", "deleted_at"], unique=False)
    op.create_index(("ix_stack_root_id"), "stack", ["root_id"], unique=False)
    op.create_index("ix_stack_status", "stack", ["status"], unique=False)


def downgrade() -> None:
    op.drop_table("event")
    op.drop_table("guest")
    op.drop_table("lease")
    op.drop_table("mailbox")
    op.drop_table("operation")
    op.drop_table("resource")
    op.drop_table("revision")
    op.drop_table("run")
    op.drop_table("service")
    op.drop_table("signal")
    op.drop_table("software_config")
    op.drop_table("software_deployment")
    op.drop_table("stack")
