"""The rows as frozen values, as queries return them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from calor.server.store.states import Action, Status


@dataclass(frozen=True, kw_only=True, slots=True)
class StackRow:
    id: str
    name: str
    live_name: str | None
    project_id: str
    user_id: str
    user_name: str
    root_id: str
    owner_id: str | None
    owner_resource_id: str | None
    depth: int
    revision_id: str | None
    good_revision_id: str | None
    action: Action
    status: Status
    status_reason: str
    description: str
    created_at: datetime
    updated_at: datetime | None
    deleted_at: datetime | None
    started_at: datetime
    timeout_mins: int | None
    disable_rollback: bool
    tags: Sequence[str]
    region: str | None
    credentials: str | None
    outputs: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class StackKeys:
    """What stacks are chosen and put in order by."""

    id: str
    name: str
    project_id: str
    user_name: str
    owner_id: str | None
    action: Action
    status: Status
    created_at: datetime
    updated_at: datetime | None
    tags: Sequence[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class RevisionRow:
    id: str
    stack_id: str
    template: str
    template_file: str
    files: str | None
    files_of: str | None
    environment: str
    parameters: str
    shown: Mapping[str, Any]
    allow_replace: Sequence[str] | None
    created_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class ResourceRow:
    id: str
    stack_id: str
    root_id: str
    name: str
    type: str
    action: Action
    status: Status
    status_reason: str
    physical_id: str | None
    attempted: bool
    properties: str | None
    pending: str | None
    data: str | None
    meta: str | None
    attributes: str | None
    requires: Sequence[str]
    replaces: str | None
    replaced_by: str | None
    revision_id: str | None
    child_id: str | None
    deletion_policy: str
    external: bool
    uses_signals: bool
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class BreakpointRow:
    id: str
    stack_id: str
    root_id: str
    resource_name: str
    resource_id: str | None
    hook: str
    type: str
    physical_id: str | None
    action: Action
    status: Status
    run_at: datetime
    cleared_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class EventRow:
    number: int
    id: str
    stack_id: str
    root_id: str
    resource_name: str
    resource_type: str
    physical_id: str | None
    action: Action
    status: Status
    reason: str
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaseRow:
    root_id: str
    owner: str
    epoch: int
    expires_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceRow:
    id: str
    engine_id: str
    host: str
    created_at: datetime
    updated_at: datetime
    report_interval: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SignalRow:
    resource_id: str
    number: int
    details: str
    received_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigRow:
    id: str
    project_id: str
    name: str
    group: str
    body: str
    created_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class DeploymentRow:
    id: str
    project_id: str
    stack_id: str | None
    server_id: str
    config_id: str
    name: str
    run_id: str
    action: str
    status: str
    status_reason: str
    values: str
    created_at: datetime
    updated_at: datetime | None
    source_id: str | None = None
    asked_by: str | None = None
    cancelled_by: str | None = None
    cancelled_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class GuestRow:
    resource_id: str
    stack_id: str
    project_id: str
    generation: int = 0
    secret_hash: str | None = None
    access_key: str | None = None
    secret_key: str | None = None
    user_id: str | None = None
    password: str | None = None
    agent_sha256: str | None = None
    state: str
    detail: str
    last_contact: datetime | None = None
    verdict: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PushRow:
    """``due`` and ``due_at`` are what would be written now."""

    resource_id: str
    target: str
    version: int
    row_at: datetime | None
    due: int
    due_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRow:
    run_id: str
    deployment_id: str
    config_id: str
    outcome: str
    body: str
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class PieceRow:
    number: int
    run_id: str
    attempt: int
    stream: str
    begin: int
    end: int
    deployment_id: str
    stack_id: str | None
    root_id: str | None
    resource_name: str
    data: str
    at: datetime
