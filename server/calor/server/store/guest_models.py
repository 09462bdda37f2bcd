"""The tables of signals, software configs, deployments and guests."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from calor.server.store.base import Base, long_text
from calor.server.store.models import BigId, Id, Word


class Signal(Base):
    __tablename__ = "signal"
    resource_id: Mapped[str] = mapped_column(Id, primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    details: Mapped[str] = mapped_column(long_text())
    received_at: Mapped[datetime]


class SoftwareConfig(Base):
    """``body`` is sealed: config, inputs, outputs, options (inputs may hold credentials)."""

    __tablename__ = "software_config"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    project_id: Mapped[str] = mapped_column(sa.String(64), index=True)
    name: Mapped[str] = mapped_column(Word)
    group: Mapped[str] = mapped_column(Word)
    body: Mapped[str] = mapped_column(long_text())
    created_at: Mapped[datetime]


class SoftwareDeployment(Base):
    """``run_id`` belongs to one (deployment, config, action); ``values`` is sealed: inputs and outputs. ``source_id``
    names the deployment that a run on demand is of, ``asked_by`` who asked for it."""

    __tablename__ = "software_deployment"
    id: Mapped[str] = mapped_column(Id, primary_key=True)
    project_id: Mapped[str] = mapped_column(sa.String(64), index=True)
    stack_id: Mapped[str | None] = mapped_column(Id, index=True)
    server_id: Mapped[str] = mapped_column(Word, index=True)
    config_id: Mapped[str] = mapped_column(Id, index=True)
    name: Mapped[str] = mapped_column(Word)
    run_id: Mapped[str] = mapped_column(Id)
    action: Mapped[str] = mapped_column(Word)
    status: Mapped[str] = mapped_column(Word)
    status_reason: Mapped[str] = mapped_column(long_text())
    values: Mapped[str] = mapped_column(long_text())
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime | None]
    source_id: Mapped[str | None] = mapped_column(Id, index=True)
    asked_by: Mapped[str | None] = mapped_column(Word)
    cancelled_by: Mapped[str | None] = mapped_column(Word)
    cancelled_at: Mapped[datetime | None]


class Mailbox(Base):
    """A counter per server that grows with each change its agent should see."""

    __tablename__ = "mailbox"
    server_id: Mapped[str] = mapped_column(Word, primary_key=True)
    version: Mapped[int]


class Push(Base):
    """Where a server's metadata is written (JSON: container and object, or queue), and what was written last: the
    mailbox's version, and when the server's row had changed."""

    __tablename__ = "push"
    resource_id: Mapped[str] = mapped_column(Id, primary_key=True)
    target: Mapped[str] = mapped_column(long_text())
    version: Mapped[int]
    row_at: Mapped[datetime | None]


class Guest(Base):
    """What runs inside one server resource. ``generation`` counts re-armings of the bootstrap
    token; ``secret_key`` and ``password`` are sealed;
    ``secret_hash`` is the SHA-256 of the guest's own secret; ``verdict`` (sealed) is what its cloud-init came to."""

    __tablename__ = "guest"
    resource_id: Mapped[str] = mapped_column(Id, primary_key=True)
    stack_id: Mapped[str] = mapped_column(Id, index=True)
    project_id: Mapped[str] = mapped_column(sa.String(64))
    generation: Mapped[int]
    secret_hash: Mapped[str | None] = mapped_column(sa.String(64))
    access_key: Mapped[str | None] = mapped_column(sa.String(64), unique=True)
    secret_key: Mapped[str | None] = mapped_column(long_text())
    user_id: Mapped[str | None] = mapped_column(sa.String(64), unique=True)
    password: Mapped[str | None] = mapped_column(long_text())
    agent_sha256: Mapped[str | None] = mapped_column(sa.String(64))
    state: Mapped[str] = mapped_column(Word)
    detail: Mapped[str] = mapped_column(long_text())
    last_contact: Mapped[datetime | None]
    verdict: Mapped[str | None] = mapped_column(long_text())


class Run(Base):
    """The one terminal result of a run."""

    __tablename__ = "run"
    run_id: Mapped[str] = mapped_column(Id, primary_key=True)
    deployment_id: Mapped[str] = mapped_column(Id, index=True)
    config_id: Mapped[str] = mapped_column(Id)
    outcome: Mapped[str] = mapped_column(Word)
    body: Mapped[str] = mapped_column(long_text())
    at: Mapped[datetime]


class OutputPiece(Base):
    """What a run printed: bytes ``begin`` to ``end`` of one stream of one attempt, secrets masked; ``data`` is sealed.
    It outlives its deployment and its stack until it is too old."""

    __tablename__ = "output_piece"
    number: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=True)
    run_id: Mapped[str] = mapped_column(Id)
    attempt: Mapped[int]
    stream: Mapped[str] = mapped_column(sa.String(16))
    begin: Mapped[int] = mapped_column(sa.BigInteger)
    end: Mapped[int] = mapped_column(sa.BigInteger)
    deployment_id: Mapped[str] = mapped_column(Id, index=True)
    stack_id: Mapped[str | None] = mapped_column(Id)
    root_id: Mapped[str | None] = mapped_column(Id)
    resource_name: Mapped[str] = mapped_column(Word)
    data: Mapped[str] = mapped_column(long_text())
    at: Mapped[datetime] = mapped_column(index=True)

    __table_args__ = (
        sa.UniqueConstraint("run_id", "attempt", "stream", "begin"),
        sa.Index("ix_output_piece_root_id_number", "root_id", "number"),
    )
