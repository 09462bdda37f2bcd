"""An engine that lives in memory (`services.Orchestrator`): configs, guests, catalogue, and all of it together."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memory_progress import MemoryProgress, MemoryRuns
from memory_stacks import AT, MemoryEvents, MemoryResources, MemoryStacks

from calor.server import identity
from calor.server.engine.contract import views
from calor.server.errors import Conflict, EntityNotFound, Forbidden, Unauthorized
from calor.server.identity.callers import Caller


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
        self.verdicts: list[Mapping[str, Any]] = []
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

    async def heartbeat(self, who: views.InstanceIdentity, body: Mapping[str, Any]) -> Sequence[str]:
        self.beats.append(body)
        return ["run-of-before"] if body.get("running") else []

    async def output(self, who: views.InstanceIdentity, body: Mapping[str, Any]) -> Mapping[str, int] | None:
        return {"stdout": 3, "stderr": 0} if body["run_id"] == "r1" else None

    async def verdict(self, who: views.InstanceIdentity, body: Mapping[str, Any]) -> None:
        self.verdicts.append(body)

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
        self.runs = MemoryRuns()
        self.progress = MemoryProgress()
        self.catalogue = MemoryCatalogue()

    async def start(self) -> None: ...
    async def stop(self) -> None: ...
