"""What a resource type is, and what it may ask of the engine.

A type declares its properties, attributes and rules, and writes only the code that no declaration can say. The
engine calls the methods below; each may be called again after a crash at any line, so each is idempotent.

    class KeyPair(ResourceType[KeyPairProps]):
        name, props = "OS::Nova::KeyPair", KeyPairProps
        collection = KEYPAIRS
        async def create(self, at: Context, want: KeyPairProps) -> str: ...
"""

import enum
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from calor.server.cloud.door import Cloud, Collection
from calor.server.resources import moved
from calor.server.resources.guest_services import BootVerdict as BootVerdict
from calor.server.resources.guest_services import Config as Config
from calor.server.resources.guest_services import Configs as Configs
from calor.server.resources.guest_services import Deployment as Deployment
from calor.server.resources.guest_services import Deployments as Deployments
from calor.server.resources.guest_services import Guests as Guests
from calor.server.resources.guest_services import Urls as Urls
from calor.server.template.properties import AttributeSchema, PropertySchema, Support

P = TypeVar("P")


class ReferenceId(enum.Enum):
    """What ``get_resource`` gives once the resource exists (resource-types.json, ``reference_id``)."""

    PHYSICAL_ID = "physical_id"
    LOGICAL_NAME = "logical_name"
    PHYSICAL_NAME = "physical_name"
    OWN = "own"  # the type overrides `reference`


class UpdateReplace(Exception):
    """Raised by `update`: this change cannot be made in place after all."""


class ResourceFailed(Exception):
    """The resource reached a failed state. The message becomes the status reason."""


@dataclass(frozen=True, kw_only=True)
class StackFacts:
    """The stack a resource belongs to."""

    id: str
    name: str
    project_id: str
    user_id: str
    root_id: str
    region: str | None = None


@dataclass(frozen=True, kw_only=True)
class Incarnation:
    """One physical incarnation of a template resource, as the store has it.

    ``id`` is the row's UUID, made before any call to the cloud: the token by which a twin is found after a
    crash, and the instance id of a server. ``physical_name`` is STACK-RESOURCE-SUFFIX, cut to the type's
    limit, unique and the same after a crash. ``data`` is what the type remembered (encrypted at rest).
    """

    id: str
    name: str
    type: str
    physical_name: str
    physical_id: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    attempted: bool = False  # a `create` of this incarnation may have reached the cloud before


@dataclass(frozen=True, kw_only=True)
class Signal:
    """One received signal. ``number`` counts from 1 per resource; ``details`` is the body, parsed."""

    number: int
    details: Mapping[str, Any]
    received_at: datetime


class SignalTransport(enum.Enum):
    CFN_SIGNAL = "CFN_SIGNAL"
    TEMP_URL_SIGNAL = "TEMP_URL_SIGNAL"
    HEAT_SIGNAL = "HEAT_SIGNAL"
    NO_SIGNAL = "NO_SIGNAL"
    ZAQAR_SIGNAL = "ZAQAR_SIGNAL"


class Context(Protocol):
    """All that a type's methods may use. One per call."""

    @property
    def cloud(self) -> Cloud: ...
    @property
    def stack(self) -> StackFacts: ...
    @property
    def me(self) -> Incarnation:
        """The row as it is now (after `remember`, with the new data)."""
        ...

    @property
    def urls(self) -> Urls: ...
    @property
    def guests(self) -> Guests: ...
    @property
    def configs(self) -> Configs: ...
    @property
    def deployments(self) -> Deployments: ...
    @property
    def options(self) -> Mapping[str, Any]:
        """Server settings a type may read: ``max_server_user_data_size`` …"""
        ...

    async def remember(self, **data: Any) -> None:
        """Durable before it returns. A value of None forgets the key."""
        ...

    async def write_metadata(self, metadata: Mapping[str, Any]) -> None: ...

    async def signals(self) -> Sequence[Signal]:
        """All signals this incarnation has received, oldest first (for a WaitCondition: of its handle)."""
        ...

    async def signals_of(self, reference: str) -> Sequence[Signal]:
        """Signals of a handle of the same stack, by what ``get_resource`` gave for it."""
        ...

    def handle(self, reference: str) -> Incarnation | None:
        """The resource of the same stack that ``get_resource`` gave this for; None if it is of elsewhere."""
        ...

    async def another_signal(self, seen: int, *, of: str | None = None) -> None:
        """Wait until more than ``seen`` signals are there."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    def now(self) -> datetime: ...


@dataclass(frozen=True, kw_only=True)
class Nested:
    """A child stack that a type wants. The engine makes, updates and deletes it inside the same tree.

    ``template`` is a parsed mapping or a source text; ``parameters`` are resolved values; ``files`` and the
    environment are the parent's unless given. ``batch`` is the rolling-update rule, if any.
    """

    template: Mapping[str, Any] | str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    file: str = ""
    timeout_mins: int | None = None
    batch: Mapping[str, Any] | None = None
    environment: Mapping[str, Any] | None = None
    files: Mapping[str, str] | None = None


class Child(Protocol):
    """A child stack as attributes see it."""

    @property
    def stack_id(self) -> str: ...
    def arn(self) -> str: ...
    async def output(self, name: str) -> Any:
        """Raises `BadRequest` for one that could not be had."""

    def members(self) -> Sequence[str]:
        """Names of the resources, in template order."""
        ...

    async def reference(self, member: str) -> Any: ...
    async def attribute(self, member: str, *path: Any) -> Any: ...


class ResourceType(Generic[P]):
    """One type. Instances are stateless and shared."""

    name: ClassVar[str]
    props: ClassVar[type[Any]]
    attributes: ClassVar[Mapping[str, AttributeSchema]] = {}
    collection: ClassVar[Collection | None] = None
    support: ClassVar[Support] = Support()
    ready: ClassVar[frozenset[str]] = frozenset({"ACTIVE"})
    failed: ClassVar[frozenset[str]] = frozenset({"ERROR"})
    reference_id: ClassVar[ReferenceId] = ReferenceId.PHYSICAL_ID
    physical_name_limit: ClassVar[int] = 255
    pure: ClassVar[bool] = False
    """No side effects and no waiting: one commit in its life (RandomString, Value, SoftwareConfig …)."""
    instant: ClassVar[bool] = False
    """Pure, its methods await nothing, and its end needs no `delete`: many are done in one go, with one commit."""
    needs_trust: ClassVar[bool] = False
    """Work that happens without a user's token (signals to the cloud, later polling)."""
    no_signal_actions: ClassVar[frozenset[str]] = frozenset({"SUSPEND", "DELETE"})
    supports: ClassVar[frozenset[str]] = frozenset()
    """Of ``signal``, ``suspend``, ``resume``, ``check``, ``snapshot``."""
    is_nested: ClassVar[bool] = False
    handed_on: ClassVar[frozenset[str]] = frozenset()
    """Of a nested type: properties of which it only hands on what is in them, so that members are known without it."""
    holds_data: ClassVar[bool] = False
    """Its end takes what users have put there with it (a server, a volume, a database): plans mark that."""
    has_metadata_endpoint: ClassVar[bool] = False
    """Its metadata is polled by instances (OS::Nova::Server)."""
    opens_stack: ClassVar[bool] = False
    """Its EC2 pair reads the metadata of all instances of its stack (AWS::IAM::AccessKey)."""
    any_properties: ClassVar[bool] = False
    """Takes properties that its schema does not name (OS::Heat::None)."""
    any_attributes: ClassVar[bool] = False
    """Has attributes that only its properties or child stack know (outputs of a deployment, of a nested template)."""
    follows: ClassVar[Mapping[str, frozenset[str]]] = {}
    """Attributes that an update of properties of other names changes: for plans."""
    update_policy: ClassVar[Mapping[str, PropertySchema]] = {}
    deletion_policies: ClassVar[tuple[str, ...]] = ("Delete", "Retain")
    set_by: ClassVar[Mapping[str, str]] = {}
    """Properties whose default an operator sets, and by which option. A resource keeps what it was made with."""
    name_limit: ClassVar[str] = ""
    """The option that sets `physical_name_limit`, if any."""
    moved: ClassVar[Mapping[str, str]] = {}
    """Former names of properties to today's: ``{"network_id": "network", "fixed_ips.subnet_id": "fixed_ips.subnet"}``.
    """

    operator_defaults: Mapping[str, Any] = MappingProxyType({})
    """What the operator has set of ``set_by``, by property; the registry fills it in."""

    # --- deciding: pure ---------------------------------------------------------------------------------

    def translate(self, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        """The properties under today's names (Heat's translation rules). Called on the template's properties before
        they are validated, and again on resolved ones, since a function may give a map with old names."""
        return moved.translate(properties, self.moved)

    def validate(self, properties: Mapping[str, Any]) -> Sequence[str]:
        """Rules beyond the schema, on the raw properties (values not yet known are `UNKNOWN`): messages."""
        return ()

    def must_replace(self, was: Mapping[str, Any], want: Mapping[str, Any], changed: frozenset[str]) -> str | None:
        """A reason to replace although every changed property may be updated, or None."""
        return None

    def keeps(self, was: Mapping[str, Any], want: Mapping[str, Any], changed: frozenset[str]) -> frozenset[str]:
        """Changed properties that, given the others, do not force a replacement after all."""
        return frozenset()

    def changing_attributes(self, changed: frozenset[str]) -> frozenset[str] | None:
        """The attributes that may be others after an update of these properties; None: any."""
        if self.any_attributes:
            return None
        return changed | {"show"} | {name for name, causes in self.follows.items() if causes & changed}

    def overwrites(self, was: Mapping[str, Any], want: Mapping[str, Any], changed: frozenset[str]) -> str | None:
        """Why an update in place takes with it what users have put into a type that `holds_data`, or None. Values in
        ``want`` may be UNKNOWN."""
        return None

    hidden_types: ClassVar[frozenset[str] | None] = None
    """The types that `hidden_dependencies` looks at, so that it is handed no others; None: all."""

    def needs_services(self, properties: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
        """(property, service type of the catalog) that these properties ask for: a cloud without it is told at once."""
        return ()

    def deploys_to(self, mine: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
        """Of a software deployment: (property, resource of its template that the property names as a server).
        ``mine`` are unresolved properties."""
        return ()

    def takes_deployments(self, properties: Mapping[str, Any]) -> str:
        """Why no software deployment can ever reach a server with these properties; empty: one can."""
        return ""

    def refuses_metadata(self, properties: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
        """Why a resource with these properties cannot have this ``metadata``, as the template has it; empty: it can."""
        return ""

    def new_metadata(self, known: Mapping[str, Any], written: Mapping[str, Any]) -> Mapping[str, Any]:
        """What is stored once the template's metadata is ``written``; a type keeps what it has added itself."""
        return dict(written)

    def is_deferred(self, properties: Mapping[str, Any]) -> bool:
        """Whether a resource with these properties, as the template has them, needs work without the user's token."""
        return self.needs_trust

    def hidden_dependencies(
        self, mine: Mapping[str, Any], others: Mapping[str, tuple[str, Mapping[str, Any]]]
    ) -> frozenset[str]:
        """Names of resources this one needs though it does not refer to them.

        ``others`` maps a name to (type, unresolved properties); references in them are the template's nodes.
        """
        return frozenset()

    # --- doing ------------------------------------------------------------------------------------------

    async def create(self, at: Context, want: P) -> str | None:
        """Start creating; answer the physical id as soon as it is known.

        When ``at.me.attempted``, look for the twin first (by name, natural key or metadata).
        """
        raise NotImplementedError(self.name)

    async def settle(self, at: Context, want: P) -> None:
        """Wait until it is ready. Raises `ResourceFailed`."""
        if self.collection is not None and at.me.physical_id:
            await at.cloud.settled(self.collection, at.me.physical_id, ready=self.ready, failed=self.failed)

    async def update(self, at: Context, want: P, was: P, changed: frozenset[str]) -> None:
        """Change in place and wait until done. Called again with the same arguments after a crash."""
        raise UpdateReplace(self.name)

    async def delete(self, at: Context, was: P | None) -> None:
        """Start deleting. What is gone already is fine. ``was`` is None if the row never had valid properties."""
        if self.collection is not None and at.me.physical_id:
            await at.cloud.delete(self.collection, at.me.physical_id)

    async def settle_delete(self, at: Context) -> None:
        if self.collection is not None and at.me.physical_id:
            await at.cloud.gone(self.collection, at.me.physical_id)

    async def find_twin(self, at: Context, want: P) -> str | None:
        """The physical id of what an earlier, interrupted `create` made; None if it made nothing."""
        return None

    async def release(self, at: Context, was: P, want: P | None) -> None:
        """Before the replacement of this incarnation is created: give up what cannot exist twice (a server's ports, a
        port's fixed addresses, a key pair's name). ``want``: what the replacement is to be; None if of another type.
        Idempotent; the default gives up nothing."""

    async def reclaim(self, at: Context, was: P) -> None:
        """Undo `release`: this incarnation stays after all (rollback, or back to the old template: F014). What it
        gave up is free again. Idempotent."""

    async def check(self, at: Context, was: P) -> None:
        """Raise `ResourceFailed` if it is not there or not well."""
        raise NotImplementedError(self.name)

    async def suspend(self, at: Context, was: P) -> None:
        raise NotImplementedError(self.name)

    async def resume(self, at: Context, was: P) -> None:
        raise NotImplementedError(self.name)

    def check_signal(self, details: Mapping[str, Any]) -> None:
        """Raise `BadRequest` for a signal that this type refuses: its sender is told, and it is not kept. Pure."""

    async def signal(self, at: Context, details: Mapping[str, Any]) -> str:
        """Take a signal. Answers the reason text for the SIGNAL event. Runs after the signal is durable."""
        raise NotImplementedError(self.name)

    def aws_signal(self, unique_id: str, succeeded: bool) -> Mapping[str, Any]:
        """The details that AWS's SignalResource stands for."""
        return {"id": unique_id, "status": "SUCCESS" if succeeded else "FAILURE"}

    # --- answering --------------------------------------------------------------------------------------

    async def reference(self, at: Context) -> Any:
        """Only where ``reference_id`` is OWN."""
        return at.me.physical_id

    async def attribute(self, at: Context, was: P, name: str) -> Any:
        """One attribute, live. The default reads the key of the cloud object; ``show`` is all of it."""
        if self.collection is None or not at.me.physical_id:
            return None
        record = await at.cloud.get(self.collection, at.me.physical_id)
        return dict(record) if name == "show" else record.get(name)

    # --- nested types -----------------------------------------------------------------------------------

    def nested(self, me: Incarnation, want: P, was: Nested | None, current: Sequence[str]) -> Nested:
        """The child stack wanted now. ``current`` are the members that exist. Pure."""
        raise NotImplementedError(self.name)

    async def nested_attribute(self, at: Context, child: Child, was: P, name: str, path: Sequence[Any]) -> Any:
        """An attribute of a nested type, with the rest of the ``get_attr`` path."""
        raise NotImplementedError(self.name)


Resolver = Callable[[str], Awaitable[str]]


class Registry(Protocol):
    """All types, by name and alias. Built-ins are in one explicit tuple; a third party adds its own."""

    def get(self, name: str) -> ResourceType[Any] | None: ...
    def names(self) -> Sequence[str]: ...
