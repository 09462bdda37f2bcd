"""What the engine's services answer: plain values, already free of secrets (masked where hidden).

The API turns them into Heat's JSON; key names of Heat's answers are the API's business.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from calor.server.store.states import Action as Action
from calor.server.store.states import Status as Status


@dataclass(frozen=True, kw_only=True)
class StackIdentity:
    project_id: str
    name: str
    id: str


@dataclass(frozen=True, kw_only=True)
class OutputView:
    name: str
    description: str
    value: Any = None
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class StackView:
    identity: StackIdentity
    action: Action
    status: Status
    status_reason: str
    created_at: datetime
    updated_at: datetime | None
    deleted_at: datetime | None
    description: str
    parameters: Mapping[str, Any]  # with the OS::stack_id … pseudo parameters; hidden ones "******"
    timeout_mins: int | None
    disable_rollback: bool
    tags: Sequence[str]
    owner_id: str | None  # parent stack's id
    user_project_id: str | None
    creator_name: str
    outputs: Sequence[OutputView] | None = None  # None where they were not asked for


@dataclass(frozen=True, kw_only=True)
class Retained:
    """A resource that its stack forgets and the cloud keeps. ``name`` has the names of its parents before it."""

    name: str
    type: str
    physical_id: str | None


@dataclass(frozen=True, kw_only=True)
class ResourceView:
    stack: StackIdentity
    name: str
    type: str
    physical_id: str | None
    action: Action
    status: Status
    status_reason: str
    created_at: datetime
    updated_at: datetime
    required_by: Sequence[str]
    description: str = ""
    attributes: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    nested_id: str | None = None
    nested_name: str | None = None  # the child stack's name, for the ``nested`` link that clients follow
    parent_resource: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class EventView:
    id: str
    stack: StackIdentity
    root_stack_id: str
    resource_name: str  # the stack's own name for stack events
    resource_type: str  # OS::Heat::Stack for stack events
    physical_id: str | None
    action: Action
    status: Status
    status_reason: str
    at: datetime
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ConfigView:
    id: str
    name: str
    group: str
    config: Any
    inputs: Sequence[Mapping[str, Any]]
    outputs: Sequence[Mapping[str, Any]]
    options: Mapping[str, Any]
    created_at: datetime
    project_id: str


@dataclass(frozen=True, kw_only=True)
class DeploymentView:
    id: str
    server_id: str
    config_id: str
    action: str
    status: str
    status_reason: str
    input_values: Mapping[str, Any]
    output_values: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class ResourceTypeView:
    name: str
    support_status: str
    since: str | None
    description: str
    properties: Mapping[str, Any]  # Heat's schema JSON
    attributes: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class ServiceView:
    id: str
    engine_id: str
    binary: str
    host: str
    hostname: str
    topic: str
    created_at: datetime
    updated_at: datetime
    report_interval: int
    is_up: bool


class Guard(enum.Enum):
    """What an update is refused for as a whole, before anything is done."""

    NONE = "none"  # as Heat: it fails at the resource
    RESTRICTED = "restricted"  # what restricted_actions or an immutable property forbid
    DATA = "data"  # that, and whatever destroys data


@dataclass(frozen=True, kw_only=True)
class StackRequest:
    """The body of create, update, preview and validate, as sent. ``None``: not given.

    ``environment_files`` are names in ``files``, merged in order; when given, ``environment`` is ignored.
    ``files_container`` names a container of the caller's object store with more files. ``clear_parameters`` and
    ``existing`` belong to PATCH. ``plan`` binds a creation or an update to a plan's id. ``guard`` says what an update
    is refused for before anything is done; ``allow_replace`` names resources that may be replaced nevertheless.
    """

    template: Mapping[str, Any] | str | None = None
    name: str = ""
    environment: Mapping[str, Any] | str | None = None
    environment_files: Sequence[str] | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    files_container: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    timeout_mins: int | None = None
    disable_rollback: bool | None = None
    tags: Sequence[str] | None = None
    clear_parameters: Sequence[str] = ()
    existing: bool = False
    converge: bool = False
    plan: str = ""
    guard: Guard = Guard.NONE
    allow_replace: Sequence[str] = ()
    template_name: str = "template"
    """What faults call the template: a translated one has lines of its own."""


@dataclass(frozen=True, kw_only=True)
class StackQuery:
    """Filters, order and page of a stack list (api-routes.json, ``stacks:index``)."""

    filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    limit: int | None = None
    marker: str | None = None
    sort_keys: Sequence[str] = ()
    sort_dir: str | None = None
    tags: Sequence[str] = ()
    tags_any: Sequence[str] = ()
    not_tags: Sequence[str] = ()
    not_tags_any: Sequence[str] = ()
    show_deleted: bool = False
    show_nested: bool = False
    show_hidden: bool = False
    global_tenant: bool = False


@dataclass(frozen=True, kw_only=True)
class EventQuery:
    filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    limit: int | None = None
    marker: str | None = None
    sort_keys: Sequence[str] = ()
    sort_dir: str | None = None
    nested_depth: int = 0


@dataclass(frozen=True, kw_only=True)
class GuestDeployments:
    """What one instance is to apply. ``version`` grows with each visible change of this server."""

    version: int
    deployments: Sequence[Mapping[str, Any]]  # Heat's deployment JSON, in name order
    cancelled: Sequence[str] = ()  # run ids to end


@dataclass(frozen=True, kw_only=True)
class InstanceIdentity:
    """An enrolled instance (or an agent with EC2 or password credentials): one server resource, nothing else."""

    resource_id: str
    stack_id: str
    project_id: str
