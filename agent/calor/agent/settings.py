"""What the agent was told: ``/etc/calor/agent.json``, then ``CALOR_*`` variables."""

from typing import Any, Dict, Mapping, NamedTuple, Optional

from calor.cfntools import durable, tls

VARIABLES = {
    "CALOR_SERVER": "server",
    "CALOR_INSTANCE_ID": "instance_id",
    "CALOR_BOOTSTRAP_TOKEN": "bootstrap_token",
    "CALOR_CA_CERTIFICATE": "ca_certificate",
    "CALOR_SERVER_CERTIFICATE_SHA256": "server_certificate_sha256",
    "CALOR_WAIT": "wait",
    "CALOR_HEARTBEAT": "heartbeat",
    "CALOR_POLL_MAX": "poll_max",
    "CALOR_RETRY_MAX": "retry_max",
    "CALOR_STANDBY_AFTER": "standby_after",
    "CALOR_REPORT_CLOUD_INIT": "report_cloud_init",
}


class SettingsError(Exception):
    """The configuration cannot be used; the message says which key and why."""


class Settings(NamedTuple):
    """``server`` and ``instance_id`` are empty where the native protocol is not configured. Times are seconds:
    ``wait`` of a long poll, ``heartbeat`` between two beats of an idle guest, ``poll_max`` between two polls of
    sources that cannot wait, ``retry_max`` between two tries of what fails, ``standby_after`` until a server that was
    never reached is given up for the sources of os-collect-config. ``report_cloud_init``: the server wants to know
    what cloud-init came to."""

    server: str = ""
    instance_id: str = ""
    bootstrap_token: str = ""
    ca_certificate: Optional[str] = None
    server_certificate_sha256: Optional[str] = None
    wait: float = 25.0
    heartbeat: float = 60.0
    poll_max: float = 30.0
    retry_max: float = 60.0
    standby_after: float = 90.0
    report_cloud_init: bool = False

    @property
    def is_native(self) -> bool:
        return bool(self.server and self.instance_id)

    @property
    def trust(self) -> tls.Trust:
        return tls.Trust(self.ca_certificate, self.server_certificate_sha256)


def load(path: str, environment: Mapping[str, str]) -> Settings:
    """Unknown keys are left alone: they are of a newer server or of the boot script."""
    found: Dict[str, Any] = durable.read_map(path)
    for variable, key in VARIABLES.items():
        if environment.get(variable):
            found[key] = environment[variable]
    values: Dict[str, Any] = {}
    for key, default in zip(Settings._fields, Settings()):
        value = found.get(key)
        if value in (None, ""):
            continue
        if isinstance(default, bool):
            values[key] = str(value).lower() in ("true", "1", "yes")
        else:
            values[key] = _seconds(path, key, value) if isinstance(default, float) else str(value)
    settings = Settings(**values)
    return settings._replace(server=settings.server.rstrip("/"))


def _seconds(path: str, key: str, value: Any) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = -1.0
    if not 0 < seconds <= 3600:
        raise SettingsError("{}: {} must be seconds between 0 and 3600, not {!r}".format(path, key, value))
    return seconds
