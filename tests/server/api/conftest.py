"""The applications over an engine that lives in memory: it stores what it is given and is done at once."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from calor.server import identity, store
from calor.server.api.app import cfn_app, orchestration_app
from calor.server.api.keys import ApiSettings
from calor.server.auth import Policy
from calor.server.cloud.credentials import CredentialKind, Credentials
from calor.server.config import GuestUrls, load
from calor.server.engine import views
from calor.server.engine.orchestrator import Orchestrator
from calor.server.engine.views import Action, Status
from calor.server.errors import (
    Conflict,
    EntityNotFound,
    Forbidden,
    NotSupported,
    StackExists,
    StackValidationFailed,
    Unauthorized,
)
from calor.server.identity.callers import Caller
from calor.server.resources.registry import Types

AT = datetime(2026, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
ROLES = {
    "admin": {"admin", "member", "reader"},
    "member": {"member", "reader"},
    "reader": {"reader"},
    "guest": {"heat_stack_user"},
    "nothing": {"nothing"},
}


class MemoryTokens:
    """Tokens are ``ROLES:PROJECT``; ``=ROLE:PROJECT`` has that one role and none that it implies."""

    www_authenticate = 'Keystone uri="http://keystone.example:5000"'

    async def validate(self, token: str) -> Caller:
        roles, _, project = token.partition(":")
        if roles not in ROLES and not roles.startswith("="):
            raise Unauthorized("The token is not valid.")
        return Caller(
            user_id="user1",
            user_name="user1",
            project_id=project,
            roles=frozenset({roles[1:]} if roles.startswith("=") else ROLES[roles]),
            token=token,
            is_admin=roles in {"admin", "=admin"},
        )


@dataclass
class MemoryStack:
    view: views.StackView
    request: views.StackRequest
    signals: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)


class MemoryStacks:
    def __init__(self) -> None:
        self.all: dict[str, MemoryStack] = {}
        self.last_query: views.StackQuery | None = None
        self.broken: Exception | None = None

    def found(self, caller: Caller, name: str, ident: str) -> MemoryStack:
        stack = self.all.get(ident)
        if stack is None or stack.view.identity.name != name or stack.view.identity.project_id != caller.project_id:
            raise EntityNotFound(f"The Stack ({name}/{ident}) could not be found.")
        return stack

    async def create(self, caller: Caller, request: views.StackRequest) -> views.StackIdentity:
        if self.broken is not None:
            raise self.broken
        if not request.name[:1].isalpha():
            raise StackValidationFailed(f"'{request.name}' is no name of a stack.")
        if any(
            one.view.identity.name == request.name and one.view.identity.project_id == caller.project_id
            for one in self.all.values()
        ):
            raise StackExists(f"The Stack ({request.name}) already exists.")
        stack = views.StackIdentity(project_id=caller.project_id, name=request.name, id=identity.random_id())
        view = views.StackView(
            identity=stack,
            action=Action.CREATE,
            status=Status.COMPLETE,
            status_reason="Stack CREATE completed successfully",
            created_at=AT,
            updated_at=None,
            deleted_at=None,
            description="",
            parameters={"OS::stack_id": stack.id, "OS::stack_name": stack.name, "OS::project_id": caller.project_id},
            timeout_mins=request.timeout_mins,
            disable_rollback=request.disable_rollback is not False,
            tags=request.tags or (),
            owner_id=None,
            user_project_id=None,
            creator_name=caller.user_name,
            outputs=[
                views.OutputView(name="o", description="", value="hello"),
                views.OutputView(name="bad", description="why", error="it broke"),
            ],
        )
        self.all[stack.id] = MemoryStack(view, request)
        return stack

    async def preview(self, caller: Caller, request: views.StackRequest) -> Mapping[str, Any]:
        return {"stack_name": request.name, "resources": []}

    async def validate(self, caller: Caller, request: views.StackRequest, *, show_nested: bool) -> Mapping[str, Any]:
        if request.template == {"bad": True}:
            raise StackValidationFailed("bad")
        return {"Description": "No description", "Parameters": {}, "Environment": {}}

    async def identify(self, caller: Caller, name_or_id: str) -> views.StackIdentity:
        for stack in self.all.values():
            mine = stack.view.identity
            if mine.project_id == caller.project_id and name_or_id in {mine.name, mine.id}:
                return mine
        raise EntityNotFound(f"The Stack ({name_or_id}) could not be found.")

    async def show(self, caller: Caller, name: str, ident: str, *, outputs: bool = True) -> views.StackView:
        view = self.found(caller, name, ident).view
        return view if outputs else replace(view, outputs=None)

    async def list(self, caller: Caller, query: views.StackQuery) -> tuple[Sequence[views.StackView], int]:
        self.last_query = query
        mine = [one.view for one in self.all.values() if one.view.identity.project_id == caller.project_id]
        ids = [view.identity.id for view in mine]
        first = ids.index(query.marker) + 1 if query.marker else 0
        return mine[first:][: query.limit], len(mine)

    async def update(self, caller: Caller, name: str, ident: str, request: views.StackRequest) -> None:
        stack = self.found(caller, name, ident)
        stack.request = request
        stack.view = replace(stack.view, action=Action.UPDATE, updated_at=AT)

    async def preview_update(
        self, caller: Caller, name: str, ident: str, request: views.StackRequest, *, show_nested: bool
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        self.found(caller, name, ident)
        return {"added": [], "deleted": [], "replaced": [], "unchanged": [], "updated": []}

    async def delete(self, caller: Caller, name: str, ident: str) -> None:
        self.found(caller, name, ident)
        del self.all[ident]

    async def action(self, caller: Caller, name: str, ident: str, action: str) -> None:
        self.found(caller, name, ident)
        if action.startswith("cancel"):
            raise NotSupported("There is no update to cancel.")

    async def template(self, caller: Caller, name: str, ident: str) -> Mapping[str, Any]:
        template = self.found(caller, name, ident).request.template
        return template if isinstance(template, Mapping) else {"text": template}

    async def environment(self, caller: Caller, name: str, ident: str) -> Mapping[str, Any]:
        return {"parameters": dict(self.found(caller, name, ident).request.parameters)}

    async def files(self, caller: Caller, name: str, ident: str) -> Mapping[str, str]:
        return self.found(caller, name, ident).request.files

    async def outputs(self, caller: Caller, name: str, ident: str) -> Sequence[views.OutputView]:
        return self.found(caller, name, ident).view.outputs or ()

    async def output(self, caller: Caller, name: str, ident: str, key: str) -> views.OutputView:
        for output in self.found(caller, name, ident).view.outputs or ():
            if output.name == key:
                return output
        raise EntityNotFound(f"The output '{key}' could not be found.")


class MemoryResources:
    """Every stack has one resource ``a`` (a nested stack) that takes signals."""

    def __init__(self, stacks: MemoryStacks) -> None:
        self._stacks = stacks

    def view(self, stack: views.StackIdentity) -> views.ResourceView:
        return views.ResourceView(
            stack=stack,
            name="a",
            type="nested.yaml",
            physical_id="phys",
            action=Action.CREATE,
            status=Status.COMPLETE,
            status_reason="state changed",
            created_at=AT,
            updated_at=AT,
            required_by=["b"],
            attributes={"value": "hello"},
            nested_id="child-id",
            nested_name="shop-a-xyz",
        )

    async def list(
        self, caller: Caller, name: str, ident: str, *, nested_depth: int, filters: Any, detail: bool
    ) -> Sequence[views.ResourceView]:
        return [self.view(self._stacks.found(caller, name, ident).view.identity)]

    async def show(
        self, caller: Caller, name: str, ident: str, resource: str, *, with_attr: Sequence[str]
    ) -> views.ResourceView:
        stack = self._stacks.found(caller, name, ident)
        if resource != "a":
            raise EntityNotFound(f"The Resource ({resource}) could not be found in Stack {name}.")
        return self.view(stack.view.identity)

    async def metadata(self, caller: Caller, name: str, ident: str, resource: str) -> Mapping[str, Any]:
        self._stacks.found(caller, name, ident)
        return {}

    async def signal(self, caller: Caller, name: str, ident: str, resource: str, details: Mapping[str, Any]) -> None:
        self._stacks.found(caller, name, ident).signals.append((resource, details))

    async def mark_unhealthy(
        self, caller: Caller, name: str, ident: str, resource: str, *, unhealthy: bool, reason: str
    ) -> None:
        self._stacks.found(caller, name, ident)


class MemoryEvents:
    def __init__(self, stacks: MemoryStacks) -> None:
        self._stacks = stacks

    def view(self, stack: views.StackIdentity) -> views.EventView:
        return views.EventView(
            id="e1",
            stack=stack,
            root_stack_id=stack.id,
            resource_name="a",
            resource_type="OS::Heat::Value",
            physical_id="phys",
            action=Action.CREATE,
            status=Status.COMPLETE,
            status_reason="state changed",
            at=AT,
            properties={"value": "hello"},
        )

    async def list(
        self, caller: Caller, name: str, ident: str, resource: str | None, query: views.EventQuery
    ) -> Sequence[views.EventView]:
        stack = self._stacks.found(caller, name, ident).view.identity
        return [self.view(stack)] if resource in {None, "a"} else []

    async def show(self, caller: Caller, name: str, ident: str, resource: str, event_id: str) -> views.EventView:
        stack = self._stacks.found(caller, name, ident).view.identity
        if event_id != "e1":
            raise EntityNotFound(f"The event {event_id} could not be found.")
        return self.view(stack)


class MemoryConfigs:
    def __init__(self) -> None:
        self.all: dict[str, views.ConfigView] = {}

    async def create(self, caller: Caller, body: Mapping[str, Any]) -> views.ConfigView:
        view = views.ConfigView(
            id=identity.random_id(),
            name=body.get("name", ""),
            group=body.get("group", ""),
            config=body.get("config"),
            inputs=body.get("inputs") or (),
            outputs=body.get("outputs") or (),
            options=body.get("options") or {},
            created_at=AT,
            project_id=caller.project_id,
        )
        self.all[view.id] = view
        return view

    async def show(self, caller: Caller, ident: str) -> views.ConfigView:
        if ident not in self.all or self.all[ident].project_id != caller.project_id:
            raise EntityNotFound(f"The software config {ident} could not be found.")
        return self.all[ident]

    async def list(
        self, caller: Caller, *, limit: int | None, marker: str | None, global_tenant: bool
    ) -> Sequence[views.ConfigView]:
        return [one for one in self.all.values() if one.project_id == caller.project_id][:limit]

    async def delete(self, caller: Caller, ident: str) -> None:
        await self.show(caller, ident)
        del self.all[ident]


class MemoryDeployments:
    def __init__(self) -> None:
        self.all: dict[str, views.DeploymentView] = {}

    async def create(self, caller: Caller, body: Mapping[str, Any]) -> views.DeploymentView:
        view = views.DeploymentView(
            id=identity.random_id(),
            server_id=body["server_id"],
            config_id=body["config_id"],
            action=body.get("action", "CREATE"),
            status=body.get("status", "IN_PROGRESS"),
            status_reason="",
            input_values=body.get("input_values") or {},
            output_values={},
            created_at=AT,
            updated_at=None,
        )
        self.all[view.id] = view
        return view

    async def show(self, caller: Caller, ident: str) -> views.DeploymentView:
        if ident not in self.all:
            raise EntityNotFound(f"The deployment {ident} could not be found.")
        return self.all[ident]

    async def list(self, caller: Caller, server_id: str | None) -> Sequence[views.DeploymentView]:
        return [one for one in self.all.values() if server_id in {None, one.server_id}]

    async def update(self, caller: Caller, ident: str, body: Mapping[str, Any]) -> views.DeploymentView:
        self.all[ident] = replace(self.all[ident], updated_at=AT, **body)
        return self.all[ident]

    async def delete(self, caller: Caller, ident: str) -> None:
        await self.show(caller, ident)
        del self.all[ident]

    async def metadata(self, caller: Caller, server_id: str) -> Sequence[Mapping[str, Any]]:
        return []


class MemoryGuests:
    """One server resource ``srv`` of stack ``shop``, with each kind of credential."""

    who = views.InstanceIdentity(resource_id="srv", stack_id="shop-id", project_id="proj1")
    stack = views.StackIdentity(project_id="proj1", name="shop", id="shop-id")

    def __init__(self) -> None:
        keys = identity.Keys.generate()
        self.bearers, self.bootstraps = identity.BearerTokens.of(keys), identity.BootstrapTokens.of(keys)
        self.signer = identity.UrlSigner.of(keys)
        self.enrolled: str | None = None
        self.signals: list[tuple[str, Mapping[str, Any]]] = []
        self.results: dict[str, Mapping[str, Any]] = {}
        self.beats: list[Mapping[str, Any]] = []

    async def enrol(self, resource_id: str, bootstrap_token: str, secret_hash: str) -> None:
        if not self.bootstraps.is_valid(bootstrap_token, resource_id):
            raise Forbidden("The bootstrap token is not valid.")
        if self.enrolled not in {None, secret_hash}:
            raise Conflict("Another secret is enrolled.")
        self.enrolled = secret_hash

    def token(self) -> str:
        who = self.who
        return self.bearers.mint(
            identity.InstanceClaims(
                resource_id=who.resource_id, stack_id=who.stack_id, project_id=who.project_id, expires_at=2**40
            )
        )

    async def mint(self, resource_id: str, secret: str) -> tuple[str, int]:
        if self.enrolled is None or not identity.is_secret_of(secret, self.enrolled):
            raise Unauthorized("The secret is not the enrolled one.")
        return self.token(), 3600

    async def instance_of_bearer(self, token: str) -> views.InstanceIdentity:
        claims = self.bearers.read(token, now=0)
        return views.InstanceIdentity(
            resource_id=claims.resource_id, stack_id=claims.stack_id, project_id=claims.project_id
        )

    async def instance_of_access_key(self, access_key: str) -> tuple[views.InstanceIdentity, str]:
        if access_key != "ak":
            raise Unauthorized("unknown")
        return self.who, "sk"

    async def instance_of_password(self, user_id: str, password: str) -> tuple[views.InstanceIdentity, str]:
        if (user_id, password) != ("agent-user", "pw"):
            raise Unauthorized("The user or the password is wrong.")
        return self.who, self.token()

    async def deployments(
        self, who: views.InstanceIdentity, *, since: int, wait: float
    ) -> views.GuestDeployments | None:
        return None if since >= 7 else views.GuestDeployments(version=7, deployments=[{"id": "c1", "group": "script"}])

    async def heartbeat(self, who: views.InstanceIdentity, body: Mapping[str, Any]) -> None:
        self.beats.append(body)

    async def result(self, who: views.InstanceIdentity, body: Mapping[str, Any]) -> bool:
        return self.results.setdefault(body["run_id"], body) is body

    def _mine(self, stack_name: str, resource: str) -> None:
        if stack_name not in {"shop", "shop-id"} or resource != "server":
            raise Forbidden("This is not your resource.")

    async def metadata(self, who: views.InstanceIdentity, stack_name: str, resource: str) -> Mapping[str, Any]:
        self._mine(stack_name, resource)
        return {"deployments": [{"id": "c1", "config": "<&>"}]}

    async def describe(self, who: views.InstanceIdentity, stack_name: str, resource: str) -> views.ResourceView:
        self._mine(stack_name, resource)
        return replace(MemoryResources(MemoryStacks()).view(self.stack), name="server", type="OS::Nova::Server")

    async def signal(
        self, who: views.InstanceIdentity, stack_name: str, stack_id: str, resource: str, details: Mapping[str, Any]
    ) -> None:
        self.signals.append((resource, details))

    async def signed_signal(self, path: str, query: Mapping[str, str], method: str, details: Mapping[str, Any]) -> None:
        self.signals.append((self.signer.read(path, query).resource_name, details))

    def agent_file(self, sha256: str) -> bytes:
        if sha256 != "a" * 64:
            raise EntityNotFound("There is no such agent.")
        return b"PK"


class MemoryCatalogue:
    def types(
        self, *, name: str | None, version: str | None, support_status: str | None
    ) -> Sequence[views.ResourceTypeView]:
        return [self.type("OS::Heat::Value")]

    def type(self, name: str) -> views.ResourceTypeView:
        if name != "OS::Heat::Value":
            raise EntityNotFound(f"The Resource Type ({name}) could not be found.")
        return views.ResourceTypeView(
            name=name, support_status="SUPPORTED", since="7.0.0", description="", properties={}, attributes={}
        )

    def type_template(self, name: str, template_type: str) -> Mapping[str, Any]:
        return {"type": template_type}

    def template_versions(self) -> Sequence[Mapping[str, Any]]:
        return [{"version": "heat_template_version.2021-04-16", "type": "hot", "aliases": []}]

    def template_functions(self, version: str, *, with_conditions: bool) -> Sequence[Mapping[str, Any]]:
        return [{"functions": "get_param", "description": ""}]

    async def services(self) -> Sequence[views.ServiceView]:
        return []


class MemoryOrchestrator:
    def __init__(self) -> None:
        self.stacks = MemoryStacks()
        self.resources = MemoryResources(self.stacks)
        self.events = MemoryEvents(self.stacks)
        self.configs = MemoryConfigs()
        self.deployments = MemoryDeployments()
        self.guests = MemoryGuests()
        self.catalogue = MemoryCatalogue()

    async def start(self) -> None: ...
    async def stop(self) -> None: ...


@pytest.fixture
def engine() -> MemoryOrchestrator:
    return MemoryOrchestrator()


@pytest.fixture
def api_settings() -> ApiSettings:
    urls = GuestUrls(orchestration="http://guest:8004", cfn="http://guest:8000", signals="http://guest:8000")
    return ApiSettings(limits=load().limits, guest_urls=urls)


@pytest.fixture
def rest_app(engine: MemoryOrchestrator, api_settings: ApiSettings) -> web.Application:
    return orchestration_app(
        orchestrator=engine, policy=Policy(load().raw), tokens=MemoryTokens(), settings=api_settings
    )


@pytest.fixture
async def rest(aiohttp_client: Any, rest_app: web.Application) -> Any:
    """A client of the orchestration listener, as a member of proj1."""
    return await aiohttp_client(rest_app, headers={"X-Auth-Token": "member:proj1"})


@pytest.fixture
async def cfn(aiohttp_client: Any, engine: MemoryOrchestrator, api_settings: ApiSettings) -> Any:
    return await aiohttp_client(cfn_app(orchestrator=engine, settings=api_settings))


class NoDoor:
    """A cloud that is not there: enough for stacks without cloud resources."""

    def open(self, credentials: Credentials) -> Any:
        return self

    async def delegate(self, caller: Caller) -> Credentials:
        return Credentials(kind=CredentialKind.TRUST, project_id=caller.project_id, user_id=caller.user_id, ident="t")

    async def revoke(self, credentials: Credentials) -> None: ...
    async def close(self) -> None: ...


@pytest.fixture
async def real_engine(tmp_path: Path) -> AsyncIterator[Orchestrator]:
    """The engine on SQLite, without a cloud."""
    url = f"sqlite:///{tmp_path}/calor.sqlite"
    await store.upgrade(url)
    database = await store.open_database(url)
    orchestrator = Orchestrator(database, identity.Keys.generate(), NoDoor(), Types())
    await orchestrator.start()
    yield orchestrator
    await orchestrator.stop()
    await database.close()


@pytest.fixture
def app_of(api_settings: ApiSettings) -> Callable[[Any], web.Application]:
    """The orchestration application over any engine."""
    return lambda engine: orchestration_app(
        orchestrator=engine, policy=Policy(load().raw), tokens=MemoryTokens(), settings=api_settings
    )
