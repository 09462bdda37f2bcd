"""What the services of progress answer: plain values, free of secrets."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


class RunState(enum.Enum):
    """Where a deployment is on its way (F190)."""

    QUEUED = "QUEUED"  # its guest has not been told of it
    FETCHED = "FETCHED"  # its guest knows of it and has not begun
    RUNNING = "RUNNING"
    UNREACHABLE = "UNREACHABLE"  # it is in progress, and its guest has been silent for three intervals
    CANCELLING = "CANCELLING"
    FINISHED = "FINISHED"
    INTERRUPTED = "INTERRUPTED"  # a reboot or the loss of its supervisor cut it short
    CANCELLED = "CANCELLED"


@dataclass(frozen=True, kw_only=True)
class StackPlace:
    """Where in a tree something belongs. ``path`` is the resource's from the stack that was asked for, as
    ``group/0/install``; empty where no stack was."""

    stack_id: str | None
    stack_name: str
    resource_name: str
    path: str = ""


@dataclass(frozen=True, kw_only=True)
class GuestView:
    """What runs inside one server. ``verdict`` is what its cloud-init came to, where that is known."""

    place: StackPlace
    server_id: str | None
    state: str
    detail: str
    last_contact: datetime | None
    agent: str
    verdict: Mapping[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class RunView:
    """A deployment, or a run of one on demand, with where it is. ``percent`` is of its hook's steps, where the hook
    says how many there are."""

    id: str
    run_id: str
    source_id: str | None
    place: StackPlace
    server_id: str
    server_name: str
    name: str
    action: str
    status: str
    status_reason: str
    state: RunState
    step: str
    percent: int | None
    last_output: str
    last_output_at: datetime | None
    asked_by: str | None
    input_values: Mapping[str, Any]
    output_values: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class ProgressView:
    guests: Sequence[GuestView]
    runs: Sequence[RunView]


@dataclass(frozen=True, kw_only=True)
class OutputQuery:
    since: int = 0
    wait: float = 0.0
    resource: str | None = None


@dataclass(frozen=True, kw_only=True)
class PieceView:
    """Bytes ``begin`` to ``end`` of what a run printed; ``text`` is shorter or longer where a secret was hidden."""

    number: int
    place: StackPlace
    deployment_id: str
    run_id: str
    attempt: int
    stream: str
    begin: int
    end: int
    at: datetime
    data: bytes


@dataclass(frozen=True, kw_only=True)
class OutputPage:
    """``next`` is the ``since`` of the next question; ``over``: nothing more is to be expected."""

    pieces: Sequence[PieceView]
    next: int
    over: bool
