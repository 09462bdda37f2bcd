"""The tables of signals, software configs, deployments and guests."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from calor.server.store.base import Base, long_text
from calor.server.store.models import Id, Word


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
    """``run_id`` belongs to one (deployment, config, action); ``values`` is sealed: inputs and outputs."""

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


class Mailbox(Base):
    """A counter per server that grows with each change its agent should see."""

    __tablename__ = "mailbox"
    server_id: Mapped[str] = mapped_column(Word, primary_key=True)
    version: Mapped[int]


class Guest(Base):
    """What runs inside one server resource. ``generation`` counts re-armings of the bootstrap
    token; ``secret_key`` and ``password`` are sealed;
    ``secret_hash`` is the SHA-256 of the guest's own secret."""

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


class Run(Base):
    """The one terminal result of a run."""

    __tablename__ = "run"
    run_id: Mapped[str] = mapped_column(Id, primary_key=True)
    deployment_id: Mapped[str] = mapped_column(Id, index=True)
    config_id: Mapped[str] = mapped_column(Id)
    outcome: Mapped[str] = mapped_column(Word)
    body: Mapped[str] = mapped_column(long_text())
    at: Mapped[datetime]
