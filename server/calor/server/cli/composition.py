"""Puts one server process together: sockets, keys, database, cloud, engine, listeners — and takes it apart again.

async with running(settings) as served:
    print(served.orchestration)
"""

import asyncio
import contextlib
import gc
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from calor.server import store
from calor.server.api import serve
from calor.server.api.app import cfn_app, orchestration_app
from calor.server.api.keys import ApiSettings
from calor.server.auth import KeystoneTokens, Policy
from calor.server.cli import preflight
from calor.server.cli.database_faults import DatabaseFault, database_faults
from calor.server.cli.lazy_door import LazyDoor
from calor.server.cloud.settings import CloudSettings
from calor.server.config import ConfigurationFault, GuestUrls, Settings
from calor.server.engine.durable import key_check
from calor.server.engine.guests import agent_file
from calor.server.engine.orchestrator import Orchestrator
from calor.server.engine.settings import Settings as EngineSettings
from calor.server.identity import KeyFileFault, keys
from calor.server.resources import registry

log = logging.getLogger(__name__)

_INTERFACES = {"publicURL": "public", "internalURL": "internal", "adminURL": "admin"}


class StartFault(Exception):
    """The server cannot start; a clear line for each reason."""


@dataclass(frozen=True, kw_only=True)
class Served:
    """A running server, as clients on this machine reach it."""

    orchestration: str
    cfn: str

    def as_record(self) -> dict[str, str]:
        return {"orchestration": self.orchestration, "cfn": self.cfn}


@asynccontextmanager
async def running(settings: Settings, *, upgrade: bool = False) -> AsyncIterator[Served]:
    """The server runs inside the block. ``upgrade`` brings the database to our schema first.

    Raises `StartFault` before anything is served.
    """
    for sentence in settings.unknown:
        log.warning("%s", sentence)
    async with AsyncExitStack() as stack:
        try:
            served = await _start(settings, stack, upgrade=upgrade)
        except (ConfigurationFault, DatabaseFault, KeyFileFault, serve.ListenFault, store.SchemaUnknown) as exc:
            raise StartFault(str(exc)) from exc
        yield served
        log.info("stopping")


async def _start(settings: Settings, stack: AsyncExitStack, *, upgrade: bool) -> Served:
    if faults := preflight.faults(settings):
        raise ConfigurationFault("\n".join(faults))
    rest = serve.bind(settings.heat_api, "heat_api")
    stack.callback(rest.socket.close)
    cfn = serve.bind(settings.heat_api_cfn, "heat_api_cfn")
    stack.callback(cfn.socket.close)
    urls = settings.guest_urls(rest_port=rest.port, cfn_port=cfn.port)

    tokens = KeystoneTokens(settings.keystone)
    stack.push_async_callback(tokens.close)
    door = LazyDoor(cloud_settings(settings))
    stack.push_async_callback(door.close)
    orchestrator = await _engine(settings, urls, door, stack, upgrade=upgrade)
    api = ApiSettings(
        limits=settings.limits,
        guest_urls=urls,
        instance_token_lifetime=settings.general.instance_token_lifetime,
        region=settings.general.region_name_for_services or "RegionOne",
    )
    policy = Policy(settings.raw)
    app = orchestration_app(orchestrator=orchestrator, policy=policy, tokens=tokens, settings=api)
    await orchestrator.start()
    stack.push_async_callback(orchestrator.stop)
    await stack.enter_async_context(serve.serving(app, rest))
    await stack.enter_async_context(serve.serving(cfn_app(orchestrator=orchestrator, settings=api), cfn))
    gc.freeze()  # what is there now stays
    for warm_up in (tokens.warm_up, door.warm_up):
        stack.push_async_callback(_ended, asyncio.get_running_loop().create_task(warm_up()))
    return Served(orchestration=rest.url, cfn=cfn.url)


async def _engine(
    settings: Settings, urls: GuestUrls, door: LazyDoor, stack: AsyncExitStack, *, upgrade: bool
) -> Orchestrator:
    key_material = keys.load_or_create(settings.key_file)
    with database_faults(settings.database_url):
        if upgrade:
            await store.upgrade(settings.database_url)
        database = await store.open_database(settings.database_url)
    stack.push_async_callback(database.close)
    if not await key_check.fits(database, key_material):
        raise KeyFileFault(
            f"The key file {settings.key_file} is not the one that sealed the secrets of this database; restore it "
            "from your backup."
        )
    return Orchestrator(
        database=database,
        door=door,
        registry=registry.installed(type_options(settings)),
        keys=key_material,
        settings=engine_settings(settings, urls),
    )


def cloud_settings(settings: Settings) -> CloudSettings:
    """How the cloud is reached: the service user of ``[keystone_authtoken]``, the rest of ``[clients]``."""
    keystone, clients, general = settings.keystone, settings.clients, settings.general
    return CloudSettings(
        auth_url=keystone.auth_url,
        username=keystone.username,
        password=keystone.password,
        project_name=keystone.project_name,
        user_domain_name=None if keystone.user_domain_id else keystone.user_domain_name,
        user_domain_id=keystone.user_domain_id or None,
        project_domain_name=None if keystone.project_domain_id else keystone.project_domain_name,
        project_domain_id=keystone.project_domain_id or None,
        region=general.region_name_for_services,
        interface=_INTERFACES[clients.endpoint_type],
        cafile=clients.ca_file or keystone.cafile or None,
        insecure=clients.insecure or keystone.insecure,
        delegated_roles=general.trusts_delegated_roles,
        threads=clients.max_connections,
    )


def engine_settings(settings: Settings, urls: GuestUrls) -> EngineSettings:
    general, limits = settings.general, settings.limits
    return EngineSettings(
        guest_orchestration=urls.orchestration,
        guest_cfn=urls.cfn,
        guest_signals=urls.signals,
        guest_object_store=urls.object_store,
        allow_loopback=general.allow_loopback_guest_urls,
        guest_ca_certificate=urls.ca_certificate,
        identity_url=settings.keystone.www_authenticate_uri or settings.keystone.auth_url,
        region=general.region_name_for_services,
        stack_timeout=timedelta(seconds=limits.stack_action_timeout),
        contact_timeout=timedelta(seconds=general.contact_timeout),
        keep_run_output=timedelta(days=general.run_output_days),
        bearer_seconds=general.instance_token_lifetime,
        max_stacks_per_tenant=limits.max_stacks_per_tenant,
        max_resources_per_stack=limits.max_resources_per_stack,
        max_nested_stack_depth=limits.max_nested_stack_depth,
        max_software_configs_per_tenant=limits.max_software_configs_per_tenant,
        max_software_deployments_per_tenant=limits.max_software_deployments_per_tenant,
        max_template_size=limits.max_template_size,
        max_json_body_size=limits.max_json_body_size,
        hidden_stack_tags=frozenset(limits.hidden_stack_tags),
        agent_files=_released_agents(Path(settings.general.state_dir) / "agents"),
        options={"max_server_user_data_size": general.max_server_user_data_size},
    )


def type_options(settings: Settings) -> Mapping[str, Any]:
    """What resource types are made with: properties' defaults and limits of names."""
    general = settings.general
    return {
        "default_software_config_transport": general.default_software_config_transport,
        "default_deployment_signal_transport": general.default_deployment_signal_transport,
        "default_user_data_format": general.default_user_data_format,
        "max_server_name_length": settings.limits.max_server_name_length,
    }


def _released_agents(folder: Path) -> Mapping[str, Path]:
    """Every agent that instances may still ask for, by SHA-256; this release's is the last."""
    current = agent_file.build()
    path = current.save(folder)
    older = {one.stem.removeprefix("agent-"): one for one in sorted(folder.glob("agent-*.pyz")) if one != path}
    return {**older, current.sha256: path}


async def _ended(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
