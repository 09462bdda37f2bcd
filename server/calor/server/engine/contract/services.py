"""The engine's services, as the API calls them. ``orchestrator.py`` implements them.

Every method checks that what is named belongs to the caller's project (else `EntityNotFound`); whether the
caller *may* do it is the API's policy check before. A method that changes a stack returns once the new state
(``…_IN_PROGRESS``) is durable, so that a read right after shows it (F011).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from calor.server.engine.contract import plan_views, progress_views, views
from calor.server.identity.callers import Caller


class Stacks(Protocol):
    async def create(self, caller: Caller, request: views.StackRequest) -> views.StackIdentity: ...
    async def preview(self, caller: Caller, request: views.StackRequest) -> Mapping[str, Any]:
        """Heat's preview answer: the stack with ``resources``, nothing stored."""
        ...

    async def validate(self, caller: Caller, request: views.StackRequest, *, show_nested: bool) -> Mapping[str, Any]:
        """Heat's validate answer (``validate_result`` and ``validate_parameter`` keys)."""
        ...

    async def identify(self, caller: Caller, name_or_id: str) -> views.StackIdentity: ...
    async def show(self, caller: Caller, name: str, ident: str, *, outputs: bool = True) -> views.StackView: ...
    async def list(self, caller: Caller, query: views.StackQuery) -> tuple[Sequence[views.StackView], int]:
        """One page and the total count."""
        ...

    async def update(
        self, caller: Caller, name: str, ident: str, request: views.StackRequest
    ) -> Mapping[str, int] | None:
        """How much will be done (`PlanView.counts`), of a request with a guard; None of any other."""
        ...

    async def preview_update(
        self, caller: Caller, name: str, ident: str, request: views.StackRequest, *, show_nested: bool
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]: ...
    async def delete(
        self, caller: Caller, name: str, ident: str, *, retain: Sequence[str] = ()
    ) -> Sequence[views.Retained]:
        """``retain``: resources of a stack whose deletion failed that are forgotten instead (F031)."""
        ...

    async def action(self, caller: Caller, name: str, ident: str, action: str) -> None:
        """``suspend``, ``resume``, ``check``, ``cancel_update``, ``cancel_without_rollback``."""
        ...

    async def template(self, caller: Caller, name: str, ident: str) -> Mapping[str, Any]: ...
    async def environment(self, caller: Caller, name: str, ident: str) -> Mapping[str, Any]: ...
    async def files(self, caller: Caller, name: str, ident: str) -> Mapping[str, str]: ...
    async def outputs(self, caller: Caller, name: str, ident: str) -> Sequence[views.OutputView]: ...
    async def output(self, caller: Caller, name: str, ident: str, key: str) -> views.OutputView: ...


class Resources(Protocol):
    async def list(
        self,
        caller: Caller,
        name: str,
        ident: str,
        *,
        nested_depth: int,
        filters: Mapping[str, Sequence[str]],
        detail: bool,
    ) -> Sequence[views.ResourceView]: ...
    async def show(
        self, caller: Caller, name: str, ident: str, resource: str, *, with_attr: Sequence[str]
    ) -> views.ResourceView: ...
    async def metadata(self, caller: Caller, name: str, ident: str, resource: str) -> Mapping[str, Any]: ...
    async def signal(
        self, caller: Caller, name: str, ident: str, resource: str, details: Mapping[str, Any]
    ) -> None: ...
    async def mark_unhealthy(
        self, caller: Caller, name: str, ident: str, resource: str, *, unhealthy: bool, reason: str
    ) -> None: ...


class Plans(Protocol):
    async def plan(self, caller: Caller, request: views.StackRequest) -> plan_views.PlanView:
        """Of an update where there is a stack of the request's name, else of a creation. Nothing is done."""
        ...


class Events(Protocol):
    async def list(
        self, caller: Caller, name: str, ident: str, resource: str | None, query: views.EventQuery
    ) -> Sequence[views.EventView]: ...
    async def show(self, caller: Caller, name: str, ident: str, resource: str, event_id: str) -> views.EventView: ...


class SoftwareConfigs(Protocol):
    async def create(self, caller: Caller, body: Mapping[str, Any]) -> views.ConfigView: ...
    async def show(self, caller: Caller, ident: str) -> views.ConfigView: ...
    async def list(
        self, caller: Caller, *, limit: int | None, marker: str | None, global_tenant: bool
    ) -> Sequence[views.ConfigView]: ...
    async def delete(self, caller: Caller, ident: str) -> None: ...


class SoftwareDeployments(Protocol):
    async def create(self, caller: Caller, body: Mapping[str, Any]) -> views.DeploymentView: ...
    async def show(self, caller: Caller, ident: str) -> views.DeploymentView: ...
    async def list(self, caller: Caller, server_id: str | None) -> Sequence[views.DeploymentView]: ...
    async def update(self, caller: Caller, ident: str, body: Mapping[str, Any]) -> views.DeploymentView: ...
    async def delete(self, caller: Caller, ident: str) -> None: ...
    async def metadata(self, caller: Caller, server_id: str) -> Sequence[Mapping[str, Any]]: ...


class Runs(Protocol):
    """Deployments that run: ended before their time, and run on demand."""

    async def cancel(self, caller: Caller, ident: str) -> progress_views.RunView:
        """End a deployment or a run on demand. `Conflict` when it is not in progress."""
        ...

    async def ask(self, caller: Caller, ident: str, body: Mapping[str, Any]) -> progress_views.RunView:
        """Run a deployment's config now (``action``, ``input_values``, ``policy`` queue or refuse)."""
        ...

    async def list(self, caller: Caller, ident: str) -> Sequence[progress_views.RunView]:
        """The runs on demand of a deployment, oldest first."""
        ...

    async def show(self, caller: Caller, ident: str, run: str) -> progress_views.RunView: ...


class Progress(Protocol):
    """What is going on inside the instances of a stack and of those nested in it."""

    async def show(self, caller: Caller, name: str, ident: str) -> progress_views.ProgressView: ...
    async def output(
        self, caller: Caller, name: str, ident: str, query: progress_views.OutputQuery
    ) -> progress_views.OutputPage:
        """What runs printed after ``query.since``; waits up to ``query.wait`` seconds for something new. A deleted
        stack's is there as long as it is kept."""
        ...

    async def output_of(
        self, caller: Caller, deployment: str, query: progress_views.OutputQuery
    ) -> progress_views.OutputPage:
        """The same of one deployment, or of one run on demand."""
        ...


class Queues(Protocol):
    """The messaging service's queues, for guests that get their deployments or give their signals by one."""

    async def call(
        self, who: views.InstanceIdentity, method: str, queue: str, path: str, params: Mapping[str, str], body: Any
    ) -> Any:
        """The service's own answer. `Forbidden` for the queue of another."""
        ...


class Guests(Protocol):
    """Instances and what they may do: everything is bounded to the server resource they were made for."""

    async def enrol(self, resource_id: str, bootstrap_token: str, secret_hash: str) -> None:
        """Idempotent for the same hash; `Conflict` for another, reported as an event; `Forbidden` for a bad token."""
        ...

    async def mint(self, resource_id: str, secret: str) -> tuple[str, int]:
        """(bearer token, seconds it lives). `Unauthorized` if the secret is not the enrolled one."""
        ...

    async def instance_of_bearer(self, token: str) -> views.InstanceIdentity: ...
    async def instance_of_access_key(self, access_key: str) -> tuple[views.InstanceIdentity, str]:
        """The identity and the secret key to check a signature with. `Unauthorized` if unknown."""
        ...

    async def instance_of_password(self, user_id: str, password: str) -> tuple[views.InstanceIdentity, str]:
        """The identity and a token for our own ``/v3``."""
        ...

    async def deployments(
        self, who: views.InstanceIdentity, *, since: int, wait: float
    ) -> views.GuestDeployments | None:
        """Long poll; None when nothing newer came within ``wait`` seconds. An unchanged poll touches no database."""
        ...

    async def heartbeat(self, who: views.InstanceIdentity, body: Mapping[str, Any]) -> Sequence[str]:
        """What the guest does. Answers the runs that it has to end."""
        ...

    async def output(self, who: views.InstanceIdentity, body: Mapping[str, Any]) -> Mapping[str, int] | None:
        """What a run printed, in pieces; the offset of each stream from which to go on. None: nobody wants it."""
        ...

    async def verdict(self, who: views.InstanceIdentity, body: Mapping[str, Any]) -> None:
        """What the instance's cloud-init came to: ``status``, ``errors``, ``log``."""
        ...

    async def result(self, who: views.InstanceIdentity, body: Mapping[str, Any]) -> bool:
        """A run's terminal result; False when this run id was known already. A result for a config that is no
        longer the deployment's is recorded and completes nothing."""
        ...

    async def metadata(self, who: views.InstanceIdentity, stack_name: str, resource: str) -> Mapping[str, Any]:
        """Resource metadata with ``deployments`` and ``os-collect-config``, as DescribeStackResource gives it."""
        ...

    async def describe(self, who: views.InstanceIdentity, stack_name: str, resource: str) -> views.ResourceView: ...

    async def signal_resource(
        self, who: views.InstanceIdentity, stack_name: str, resource: str, unique_id: str, status: str
    ) -> None:
        """AWS's SignalResource: SUCCESS or FAILURE for a resource of its own stack. `Forbidden` for anything else."""
        ...

    async def signal(
        self, who: views.InstanceIdentity, stack_name: str, stack_id: str, resource: str, details: Mapping[str, Any]
    ) -> None:
        """HEAT_SIGNAL of an agent with a password: a deployment of its server, or a resource of its own stack that
        takes signals. `Forbidden` for anything else."""
        ...

    async def signed_signal(self, path: str, query: Mapping[str, str], method: str, details: Mapping[str, Any]) -> None:
        """A signal by signed URL (``/v1/signal/ARN``, ``/v1/waitcondition/ARN``). After COMPLETE it changes
        nothing; after the deletion of the resource `EntityNotFound`; a wrong signature `Forbidden`."""
        ...

    def agent_file(self, sha256: str) -> bytes:
        """A released agent. `EntityNotFound`."""
        ...


class Catalogue(Protocol):
    def types(
        self, *, name: str | None, version: str | None, support_status: str | None
    ) -> Sequence[views.ResourceTypeView]: ...
    def type(self, name: str) -> views.ResourceTypeView: ...
    def type_template(self, name: str, template_type: str) -> Mapping[str, Any]: ...
    def template_versions(self) -> Sequence[Mapping[str, Any]]: ...
    def template_functions(self, version: str, *, with_conditions: bool) -> Sequence[Mapping[str, Any]]: ...
    async def services(self) -> Sequence[views.ServiceView]: ...


class Orchestrator(Protocol):
    """All services of one engine process."""

    @property
    def stacks(self) -> Stacks: ...
    @property
    def plans(self) -> Plans: ...
    @property
    def resources(self) -> Resources: ...
    @property
    def events(self) -> Events: ...
    @property
    def configs(self) -> SoftwareConfigs: ...
    @property
    def deployments(self) -> SoftwareDeployments: ...
    @property
    def runs(self) -> Runs: ...
    @property
    def progress(self) -> Progress: ...
    @property
    def guests(self) -> Guests: ...
    @property
    def queues(self) -> Queues: ...
    @property
    def catalogue(self) -> Catalogue: ...
    async def start(self) -> None:
        """Take up unfinished operations; begin to renew leases."""
        ...

    async def stop(self) -> None:
        """Stop taking work, bring running cloud calls to a durable point, give leases back. At most some seconds."""
        ...
