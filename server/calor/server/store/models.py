"""The tables of stacks and their resources. No foreign keys: a group of changes is written in any order in one
transaction, and the engine removes what belongs to a row together with it."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from calor.server.store.base import Base, long_text
from calor.server.store.states import Action, Status

Id = sa.String(36)
Word = sa.String(255)
BigId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


class Stack(Base):
    """``live_name`` is PROJECT/NAME while a root stack exists, else NULL: unique in every database.

    ``revision_id`` is the wanted revision, ``good_revision_id`` the last that was reached: the way back.
    ``credentials`` and ``outputs`` are sealed texts.
    """

    __tablename__ = "stack"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    name: Mapped[str] = mapped_column(Word)
    live_name: Mapped[str | None] = mapped_column(sa.String(330), unique=True)
    project_id: Mapped[str] = mapped_column(sa.String(64))
    user_id: Mapped[str] = mapped_column(sa.String(64))
    user_name: Mapped[str] = mapped_column(Word)
    root_id: Mapped[str] = mapped_column(Id, index=True)
    owner_id: Mapped[str | None] = mapped_column(Id)
    owner_resource_id: Mapped[str | None] = mapped_column(Id)
    depth: Mapped[int]
    revision_id: Mapped[str | None] = mapped_column(Id)
    good_revision_id: Mapped[str | None] = mapped_column(Id)
    action: Mapped[Action]
    status: Mapped[Status]
    status_reason: Mapped[str] = mapped_column(long_text())
    description: Mapped[str] = mapped_column(long_text())
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime | None]
    deleted_at: Mapped[datetime | None]
    started_at: Mapped[datetime]
    timeout_mins: Mapped[int | None]
    disable_rollback: Mapped[bool]
    tags: Mapped[list[str]]
    region: Mapped[str | None] = mapped_column(Word)
    credentials: Mapped[str | None] = mapped_column(long_text())
    outputs: Mapped[str | None] = mapped_column(long_text())

    __table_args__ = (
        sa.Index("ix_stack_project_id_deleted_at", "project_id", "deleted_at"),
        sa.Index("ix_stack_status", "status"),
        sa.Index("ix_stack_owner_id", "owner_id"),
    )


class Revision(Base):
    """Immutable. ``files_of`` names the revision that holds the files, where this one shares its parent's.
    ``environment`` and ``parameters`` are sealed; ``shown`` is what a user may see of the parameters; ``allow_replace``
    names resources that may be replaced on the way to it, whatever the environment restricts."""

    __tablename__ = "revision"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    stack_id: Mapped[str] = mapped_column(Id, index=True)
    template: Mapped[str] = mapped_column(long_text())
    template_file: Mapped[str] = mapped_column(sa.String(1024))
    files: Mapped[str | None] = mapped_column(long_text())
    files_of: Mapped[str | None] = mapped_column(Id)
    environment: Mapped[str] = mapped_column(long_text())
    parameters: Mapped[str] = mapped_column(long_text())
    shown: Mapped[dict[str, Any]]
    allow_replace: Mapped[list[str] | None]
    created_at: Mapped[datetime]


class Operation(Base):
    __tablename__ = "operation"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    stack_id: Mapped[str] = mapped_column(Id, index=True)
    action: Mapped[Action]
    revision_id: Mapped[str | None] = mapped_column(Id)
    user_id: Mapped[str] = mapped_column(sa.String(64))
    request_id: Mapped[str] = mapped_column(sa.String(64))
    asked_at: Mapped[datetime]


class Resource(Base):
    """One physical incarnation. ``properties`` are those applied, ``pending`` those of an update that began and
    has not ended; both sealed, as are ``data`` and ``attributes``."""

    __tablename__ = "resource"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    stack_id: Mapped[str] = mapped_column(Id, index=True)
    root_id: Mapped[str] = mapped_column(Id, index=True)
    name: Mapped[str] = mapped_column(Word)
    type: Mapped[str] = mapped_column(sa.String(1024))
    action: Mapped[Action]
    status: Mapped[Status]
    status_reason: Mapped[str] = mapped_column(long_text())
    physical_id: Mapped[str | None] = mapped_column(sa.String(255), index=True)
    attempted: Mapped[bool]
    properties: Mapped[str | None] = mapped_column(long_text())
    pending: Mapped[str | None] = mapped_column(long_text())
    data: Mapped[str | None] = mapped_column(long_text())
    meta: Mapped[str | None] = mapped_column("metadata", long_text())
    attributes: Mapped[str | None] = mapped_column(long_text())
    requires: Mapped[list[str]]
    replaces: Mapped[str | None] = mapped_column(Id)
    replaced_by: Mapped[str | None] = mapped_column(Id)
    revision_id: Mapped[str | None] = mapped_column(Id)
    child_id: Mapped[str | None] = mapped_column(Id)
    deletion_policy: Mapped[str] = mapped_column(sa.String(16))
    external: Mapped[bool]
    uses_signals: Mapped[bool]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class Breakpoint(Base):
    """A pause of one resource at a hook of the registry. ``run_at`` is the root's ``started_at``: a pause of another
    run means nothing. ``resource_id`` is the incarnation, NULL before there is one; ``action`` and ``status`` are its
    state."""

    __tablename__ = "breakpoint"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    stack_id: Mapped[str] = mapped_column(Id)
    root_id: Mapped[str] = mapped_column(Id)
    resource_name: Mapped[str] = mapped_column(Word)
    resource_id: Mapped[str | None] = mapped_column(Id)
    hook: Mapped[str] = mapped_column(sa.String(16))
    type: Mapped[str] = mapped_column(sa.String(1024))
    physical_id: Mapped[str | None] = mapped_column(sa.String(255))
    action: Mapped[Action]
    status: Mapped[Status]
    run_at: Mapped[datetime]
    cleared_at: Mapped[datetime | None]

    __table_args__ = (sa.Index("ix_breakpoint_stack_id_resource_name", "stack_id", "resource_name"),)


class Event(Base):
    __tablename__ = "event"
    number: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(Id, unique=True)
    stack_id: Mapped[str] = mapped_column(Id)
    root_id: Mapped[str] = mapped_column(Id, index=True)
    resource_name: Mapped[str] = mapped_column(Word)
    resource_type: Mapped[str] = mapped_column(sa.String(1024))
    physical_id: Mapped[str | None] = mapped_column(sa.String(255))
    action: Mapped[Action]
    status: Mapped[Status]
    reason: Mapped[str] = mapped_column(long_text())
    at: Mapped[datetime]

    __table_args__ = (sa.Index("ix_event_stack_id_number", "stack_id", "number"),)


class Lease(Base):
    """Who works on a tree. ``epoch`` grows with each owner; a write with an older one fails."""

    __tablename__ = "lease"
    root_id: Mapped[str] = mapped_column(Id, primary_key=True)
    owner: Mapped[str] = mapped_column(Word)
    epoch: Mapped[int]
    expires_at: Mapped[datetime]


class Service(Base):
    """One engine process and its last heartbeat."""

    __tablename__ = "service"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    engine_id: Mapped[str] = mapped_column(Word)
    host: Mapped[str] = mapped_column(Word)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    report_interval: Mapped[int]
