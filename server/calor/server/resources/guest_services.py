"""What the engine offers to types that instances have to do with: addresses, identities, configs, deployments."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol


class Urls(Protocol):
    """Addresses as the *guest* must use them (design §8, F047)."""

    def signal(self, resource_id: str) -> str:
        """Signed CFN signal URL of a resource; the same each time; dies with the resource."""
        ...

    def wait_condition(self, resource_id: str) -> str: ...

    @property
    def cfn(self) -> str:
        """``http://…:8000``, without a path."""
        ...

    @property
    def orchestration(self) -> str:
        """``http://…:8004``, without a path: instance endpoints, our ``/v3``, the agent's file."""
        ...

    @property
    def ca_certificate(self) -> str | None:
        """PEM text of the private authority that signs them; None: what the image trusts."""
        ...

    def outside(self, url: str) -> str:
        """An address of the object store as the guest must use it. Raises `ResourceFailed` for one that leads it to
        itself."""
        ...

    def container_key(self, container: str) -> str:
        """The secret that signs TempURLs of a container made here; the same each time."""
        ...

    def heat_signal(self, resource_name: str) -> str:
        """Native signal URL (``/v1/{project}/stacks/…/resources/NAME/signal``)."""
        ...


@dataclass(frozen=True, kw_only=True)
class BootVerdict:
    """What cloud-init came to inside a server: ``status`` is done or error, ``log`` the last lines that it printed."""

    status: str
    errors: Sequence[str] = ()
    log: str = ""


class Guests(Protocol):
    """Identities for what runs inside instances (design §8). All of them die with the resource."""

    async def bootstrap_token(self, resource_id: str) -> str:
        """Good for one thing: enrolling one secret for this server. The same until used or re-armed."""
        ...

    async def rearm(self, resource_id: str) -> None:
        """The server was rebuilt: what it enrolled is gone, and its bootstrap token may enrol another secret."""
        ...

    async def boot_verdict(self, resource_id: str) -> BootVerdict:
        """Wait for cloud-init's end. Raises `ResourceFailed` when the guest stays silent."""
        ...

    async def ec2_pair(self, resource_id: str) -> tuple[str, str]:
        """(access key, secret key) for the CFN endpoint, rights as narrow as the bearer tokens'."""
        ...

    async def password(self, resource_id: str) -> tuple[str, str]:
        """(user id, password) for our own ``/v3/auth/tokens``."""
        ...

    async def push_to(self, resource_id: str, target: Mapping[str, str] | None) -> None:
        """Whenever this server's metadata or deployments change, write them there: ``{"container", "object"}`` or
        ``{"queue"}``; None: no more, the guest asks itself."""
        ...

    def agent_file(self) -> tuple[str, str]:
        """(URL path, sha256) of the agent's ``.pyz`` served now."""
        ...


@dataclass(frozen=True, kw_only=True)
class Config:
    """A software config as stored."""

    id: str
    name: str
    group: str
    config: Any
    inputs: Sequence[Mapping[str, Any]] = ()
    outputs: Sequence[Mapping[str, Any]] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None
    secrets: Sequence[str] = ()
    """Texts in it that users are not shown."""
    is_secret: bool = False
    """The config is a secret as a whole: nobody knows where in it one stands."""


class Configs(Protocol):
    async def create(
        self,
        *,
        ident: str,
        name: str,
        group: str,
        config: Any,
        inputs: Sequence[Mapping[str, Any]] = (),
        outputs: Sequence[Mapping[str, Any]] = (),
        options: Mapping[str, Any] | None = None,
        made_of: Sequence[Config] = (),
    ) -> Config:
        """``ident`` is chosen by the caller, so that a second call after a crash finds the first's. ``made_of``: other
        configs that went into it, with what is secret in them; what is secret among the resource's own properties is
        known without."""
        ...

    async def get(self, ident: str) -> Config | None:
        """None when there is none in this project."""
        ...

    async def delete(self, ident: str) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """A config applied to a server. ``status`` is IN_PROGRESS, COMPLETE or FAILED."""

    id: str
    server_id: str
    config_id: str
    action: str
    status: str
    status_reason: str = ""
    input_values: Mapping[str, Any] = field(default_factory=dict)
    output_values: Mapping[str, Any] = field(default_factory=dict)


class Deployments(Protocol):
    """Deployments of this stack. What becomes visible to one server together is one commit, in name order."""

    def coming(self, ident: str, server_id: str) -> AbstractContextManager[None]:
        """Meanwhile this deployment is being made ready to be put: others for the same server wait for it a little."""
        ...

    async def put(
        self,
        *,
        ident: str,
        server_id: str,
        config_id: str,
        action: str,
        input_values: Mapping[str, Any],
        status: str,
        status_reason: str = "",
    ) -> Deployment:
        """Create, or point at a new config (which starts a new run)."""
        ...

    async def get(self, ident: str) -> Deployment | None: ...

    async def finish(
        self, ident: str, *, status: str, status_reason: str, output_values: Mapping[str, Any]
    ) -> Deployment: ...

    async def finished(self, ident: str) -> Deployment:
        """Wait until the deployment is no longer IN_PROGRESS.

        Raises `ResourceFailed` with what is known of the guest when it stays out of contact longer than the
        contact time-out, or when its server is gone.
        """
        ...

    async def delete(self, ident: str) -> None: ...
