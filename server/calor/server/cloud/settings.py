"""How the cloud is reached, and as whom the server acts for itself."""

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class CloudSettings:
    """Filled from ``[keystone_authtoken]``, ``[trustee]`` and ``[clients]``. Seconds where a time is meant."""

    auth_url: str
    username: str
    password: str = field(repr=False)
    project_name: str = "service"
    user_domain_name: str | None = "Default"
    user_domain_id: str | None = None
    project_domain_name: str | None = "Default"
    project_domain_id: str | None = None
    region: str | None = None
    interface: str = "public"
    cafile: str | None = None
    insecure: bool = False
    delegated_roles: tuple[str, ...] = ()
    """Roles that trusts carry; none: all of the caller's."""
    threads: int = 32
    request_timeout: float = 60.0
    retries: int = 4
    """How often a call that may be repeated is tried again after a failure."""
    patience: float = 300.0
    """How long a service that asks us to wait (429, 503 with Retry-After) is waited for."""
    watch_fastest: float = 0.2
    watch_slowest: float = 2.0
    sessions_kept: int = 256
