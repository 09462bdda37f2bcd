"""The state directory: ``dev.json`` with ports, passwords and keys that outlive a restart, and clouds.yaml."""

import json
import os
import secrets
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet

from calor.server.devcloud.calls import new_password

USERS = ("admin", "demo", "calor")
FILE = "dev.json"


class StateError(Exception):
    """The state directory cannot be used; the text says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class Ports:
    """0 is any free port, until the first start has found one."""

    cloud: int
    orchestration: int
    cfn: int


@dataclass(frozen=True, kw_only=True)
class DevState:
    """What ``dev.json`` holds. Secret: the file has mode 0600."""

    ports: Ports
    passwords: dict[str, str] = field(repr=False)
    token_key: str = field(repr=False)
    admin_token: str = field(repr=False)
    driver: str = "record"
    pids: dict[str, int] = field(default_factory=dict)
    tls: bool = False
    """Whether the orchestration server answers by HTTPS; the cloud's own APIs do not."""

    @property
    def identity(self) -> str:
        return f"http://127.0.0.1:{self.ports.cloud}/identity/v3"

    @property
    def scheme(self) -> str:
        return "https" if self.tls else "http"

    @property
    def orchestration(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.ports.orchestration}"

    @property
    def cfn(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.ports.cfn}"


def new_state(ports: Ports, driver: str) -> DevState:
    return DevState(
        ports=ports,
        passwords={user: new_password() for user in USERS},
        token_key=Fernet.generate_key().decode(),
        admin_token=secrets.token_urlsafe(24),
        driver=driver,
    )


def load(directory: Path) -> DevState | None:
    """None where no dev cloud has been. Raises `StateError` for a file that is not one."""
    path = directory / FILE
    try:
        raw: dict[str, Any] = json.loads(path.read_text())
        return DevState(**{**raw, "ports": Ports(**raw["ports"])})
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as exc:
        raise StateError(
            f"{path} is not what `calor dev` wrote ({exc}). Remove the state directory to begin anew."
        ) from exc


def save(directory: Path, state: DevState) -> None:
    write_private(directory / FILE, json.dumps(asdict(state), indent=1) + "\n")


def with_ports(state: DevState, **ports: int) -> DevState:
    return replace(state, ports=replace(state.ports, **ports))


def write_private(path: Path, text: str) -> None:
    """Replace a file as a whole, readable by its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    partial.replace(path)


def clouds_yaml(state: DevState, authority: Path | None = None) -> str:
    """``calor`` is the demo user, ``calor-admin`` the administrator. ``authority`` signs the server's certificate."""
    clouds = {"calor": ("demo", "demo"), "calor-admin": ("admin", "admin")}
    lines = ["clouds:"]
    for cloud, (user, project) in clouds.items():
        lines += [
            f"  {cloud}:",
            "    region_name: RegionOne",
            "    identity_api_version: 3",
            "    interface: public",
            *([f"    cacert: {json.dumps(str(authority))}"] if authority else []),
            "    auth:",
            f"      auth_url: {state.identity}",
            f"      username: {user}",
            f'      password: "{state.passwords[user]}"',
            f"      project_name: {project}",
            "      user_domain_name: Default",
            "      project_domain_name: Default",
        ]
    return "\n".join(lines) + "\n"
