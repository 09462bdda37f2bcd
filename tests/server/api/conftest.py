"""The applications: over an engine that lives in memory, and over the real one on SQLite."""

import sys
from collections.abc import AsyncIterator, Callable
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
from calor.server.engine.orchestrator import Orchestrator
from calor.server.errors import Unauthorized
from calor.server.identity.callers import Caller
from calor.server.resources.registry import Types

sys.path.insert(0, str(Path(__file__).parent / "memory"))  # tests are no packages: this is how they share code

from memory_engine import MemoryOrchestrator

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
