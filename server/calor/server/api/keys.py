"""What the applications carry, as typed keys."""

from dataclasses import dataclass
from typing import Protocol

from aiohttp import web

from calor.server.auth.enforcement import Policy
from calor.server.config import GuestUrls, Limits
from calor.server.engine.contract.services import Orchestrator
from calor.server.identity.callers import Caller


class Tokens(Protocol):
    """Whose a token is; `calor.server.auth.KeystoneTokens` is the real one."""

    @property
    def www_authenticate(self) -> str: ...
    async def validate(self, token: str) -> Caller: ...


@dataclass(frozen=True, kw_only=True)
class ApiSettings:
    """What the handlers need of the configuration."""

    limits: Limits
    guest_urls: GuestUrls
    instance_token_lifetime: int = 3600
    region: str = "RegionOne"


ORCHESTRATOR = web.AppKey("orchestrator", Orchestrator)
POLICY = web.AppKey("policy", Policy)
TOKENS = web.AppKey("tokens", Tokens)
SETTINGS = web.AppKey("settings", ApiSettings)
