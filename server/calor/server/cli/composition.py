"""Puts one server process together: sockets, keys, database, cloud, engine, listeners — and takes it apart again.

async with running(settings) as served:
    print(served.orchestration)
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calor.server import store
from calor.server.api import serve
from calor.server.api.app import cfn_app, orchestration_app
from calor.server.api.keys import ApiSettings
from calor.server.auth import KeystoneTokens, Policy
from calor.server.config import ConfigurationFault, Settings
from calor.server.identity import KeyFileFault

if TYPE_CHECKING:
    pass

log = logging.getLogger(__name__)

_INTERFACES = {"publicURL": "public", "internalURL": "internal", "adminURL": "admin"}


class StartFault(Exception):
    """The server cannot start; one clear line."""


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
    async with AsyncExitStack() as stack:
        try:
            served = await _start(settings, stack, upgrade=upgrade)
        except (ConfigurationFault, KeyFileFault, serve.ListenFault, store.SchemaUnknown) as exc:
            raise StartFault(str(exc)) from exc
        yield served
        log.info("stopping")


async def _start(settings: Settings, stack: AsyncExitStack, *, upgrade: bool) -> Served:
    rest = serve.bind(settings.heat_api, "heat_api")
    stack.callback(rest.socket.close)
    cfn = serve.bind(settings.heat_api_cfn, "heat_api_cfn")
    stack.callback(cfn.socket.close)
    urls = settings.guest_urls(rest_port=rest.port, cfn_port=cfn.port)
    if not settings.keystone.auth_url:
        raise ConfigurationFault("auth_url in [keystone_authtoken] is not set: the server needs a Keystone.")

    tokens = KeystoneTokens(settings.keystone)
    stack.push_async_callback(tokens.close)
    orchestrator = await _engine(settings, urls, stack, upgrade=upgrade)
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
    warm = asyncio.get_running_loop().create_task(tokens.warm_up())
    stack.push_async_callback(_ended, warm)
    return Served(orchestration=rest.url, cfn=cfn.url)


async def _ended(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
