"""Tests against a cloud: the real one of scripts/test-openstack, or (scripts/test-openstack --dev) the dev cloud.

Collected only where the script says where they run: CALOR_LAB is a clouds.yaml, CALOR_CONF the calor.conf of the server
that runs beside that cloud, CALOR_LOG that server's log.
"""

import json
import os
import subprocess
import sys
import time
import uuid
import warnings
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openstack.config
import openstack.connection
import pytest
import requests
import yaml

from calor.server.cli.composition import cloud_settings
from calor.server.cloud.credentials import CredentialKind, Credentials
from calor.server.cloud.sdk import SdkDoor
from calor.server.cloud.settings import CloudSettings
from calor.server.config import load
from calor.server.identity.callers import Caller
from calor.server.resources.base import StackFacts
from calor.server.resources.memory import Workshop

CLIENT = Path(sys.executable).with_name("openstack")
LAB = os.environ.get("CALOR_LAB", "")
collect_ignore_glob = [] if LAB else ["test_*.py"]


@dataclass(frozen=True, kw_only=True)
class Place:
    """What a cloud's things are called. ``guest``: image, flavor and zone of a server that really runs."""

    user: str
    admin: str
    image: str
    flavor: str = "m1.nano"
    zone: str = "nova"
    guest: tuple[str, str, str] | None = None


def _dev_guest() -> tuple[str, str, str] | None:
    """scripts/test-vm says what a virtual machine of the dev cloud is made of: CALOR_GUEST="IMAGE FLAVOR ZONE"."""
    image, flavor, zone = os.environ.get("CALOR_GUEST", "  ").split(" ")
    return (image, flavor, zone) if image else None


PLACES = (
    Place(user="lab-demo", admin="lab-admin", image="cirros", guest=("debian-12", "m1.vm", "real")),
    Place(user="calor", admin="calor-admin", image="host", guest=_dev_guest()),
)


class Lab:
    """The cloud, users logged in there, and the server beside it."""

    def __init__(self, clouds: Path) -> None:
        self.clouds: dict[str, Any] = yaml.safe_load(clouds.read_text())["clouds"]
        self.place = next(place for place in PLACES if place.user in self.clouds)
        self.auth: dict[str, str] = self.clouds[self.place.user]["auth"]
        self.conf = load([Path(os.environ["CALOR_CONF"])])

    @property
    def settings(self) -> CloudSettings:
        return cloud_settings(self.conf)

    @property
    def orchestration(self) -> str:
        return f"http://{self.conf.heat_api.bind_host}:{self.conf.heat_api.bind_port}"

    @property
    def cfn(self) -> str:
        return f"http://{self.conf.heat_api_cfn.bind_host}:{self.conf.heat_api_cfn.bind_port}"

    def login(self, cloud: str = "", **identity: Any) -> Caller:
        auth = self.clouds[cloud or self.place.user]["auth"]
        user = {
            "name": auth["username"],
            "password": auth["password"],
            "domain": {"name": auth["user_domain_name"]},
        }
        body: dict[str, Any] = {
            "identity": identity or {"methods": ["password"], "password": {"user": user}},
        }
        if not identity:
            project = {"name": auth["project_name"], "domain": {"name": auth["project_domain_name"]}}
            body["scope"] = {"project": project}
        answer = requests.post(f"{auth['auth_url']}/auth/tokens", json={"auth": body}, timeout=60)
        answer.raise_for_status()
        token = answer.json()["token"]
        return Caller(
            user_id=token["user"]["id"],
            project_id=token["project"]["id"],
            roles=frozenset(role["name"] for role in token["roles"]),
            token=answer.headers["X-Subject-Token"],
        )

    def logout(self, caller: Caller) -> None:
        """The token is revoked: worth nothing from now on."""
        headers = {"X-Auth-Token": caller.token, "X-Subject-Token": caller.token}
        requests.delete(f"{self.auth['auth_url']}/auth/tokens", headers=headers, timeout=60).raise_for_status()


class Cli:
    """The unmodified `openstack` client, with users in a clouds.yaml of its own, and the cloud by openstacksdk."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab, self.file = lab, folder / "clouds.yaml"
        self.clouds = {"demo": lab.clouds[lab.place.user], "admin": lab.clouds[lab.place.admin]}
        self._write()

    def user(self, name: str, **auth: str) -> str:
        """Make a cloud of this name: a user that logs in with these."""
        kind = {"auth_type": "v3applicationcredential"} if "application_credential_id" in auth else {}
        given = {"auth_url": self.lab.auth["auth_url"], **auth}
        self.clouds[name] = {"region_name": "RegionOne", "identity_api_version": 3, **kind, "auth": given}
        self._write()
        return name

    def _write(self) -> None:
        self.file.touch(mode=0o600)
        self.file.write_text(yaml.safe_dump({"clouds": self.clouds}))

    def run(self, *words: str, cloud: str = "demo", limit: float = 600) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
        environment = {**kept, "OS_CLIENT_CONFIG_FILE": str(self.file), "OS_CLOUD": cloud}
        return subprocess.run(
            [str(CLIENT), *words], env=environment, capture_output=True, text=True, timeout=limit, check=False
        )

    def openstack(self, *words: str, **more: Any) -> str:
        """Like `run`, but it must succeed; answers stdout."""
        answer = self.run(*words, **more)
        said = f"openstack {' '.join(words)}\n{answer.stdout[-4000:]}\n{answer.stderr[-4000:]}"
        assert answer.returncode == 0, f"{said}\n{server_log()}"
        return answer.stdout

    def json(self, *words: str, **more: Any) -> Any:
        return json.loads(self.openstack(*words, "-f", "json", **more))

    def outputs(self, stack: str, **more: Any) -> dict[str, Any]:
        found = self.json("stack", "show", stack, **more)["outputs"]
        return {output["output_key"]: output.get("output_value") for output in found}

    def physical(self, stack: str, **more: Any) -> dict[str, str]:
        """Physical ids by resource name."""
        rows = self.json("stack", "resource", "list", stack, **more)
        return {row["resource_name"]: row["physical_resource_id"] for row in rows}

    def connection(self, cloud: str = "demo") -> Any:
        files = {"config_files": [str(self.file)], "vendor_files": [], "secure_files": []}
        with warnings.catch_warnings():  # it warns of what it will drop, though nobody asked for that
            warnings.simplefilter("ignore")
            known = openstack.config.OpenStackConfig(load_envvars=False, **files)
            return openstack.connection.Connection(config=known.get_one(cloud))

    def census(self, cloud: str = "demo") -> Counter[str]:
        """What a user's project holds, counted in the cloud."""
        sdk = self.connection(cloud)
        project = sdk.current_project_id
        mine = {"project_id": project}
        trusts = sdk.session.get(
            f"{self.lab.auth['auth_url']}/OS-TRUST/trusts", params={"trustor_user_id": sdk.current_user_id}
        ).json()["trusts"]
        return +Counter(
            servers=len(list(sdk.compute.servers())),
            key_pairs=len(list(sdk.compute.keypairs())),
            volumes=len(list(sdk.block_storage.volumes())),
            ports=len([port for port in sdk.network.ports(**mine) if port.device_owner != "network:distributed"]),
            networks=len(list(sdk.network.networks(**mine))),
            subnets=len(list(sdk.network.subnets(**mine))),
            routers=len(list(sdk.network.routers(**mine))),
            floating_ips=len(list(sdk.network.ips(**mine))),
            security_groups=len([one for one in sdk.network.security_groups(**mine) if one.name != "default"]),
            stacks=len(list(sdk.orchestration.stacks())),
            trusts=len(trusts),
        )


class Stacks:
    """Makes stacks through the client; what is left at the end of a test is deleted, and the cloud is counted."""

    def __init__(self, cli: Cli, folder: Path) -> None:
        self.cli, self.folder = cli, folder
        self.made: dict[str, str] = {}

    def name(self, of: str, cloud: str = "demo") -> str:
        name = f"calor-{of}-{uuid.uuid4().hex[:6]}"
        self.made[name] = cloud
        return name

    def write(self, template: Any, name: str = "template.yaml") -> str:
        path = self.folder / name
        path.write_text(template if isinstance(template, str) else yaml.safe_dump(template, sort_keys=False))
        return str(path)

    def create(self, of: str, template: Any, *options: str, cloud: str = "demo", limit: float = 600) -> str:
        """A stack that reached CREATE_COMPLETE."""
        name = self.name(of, cloud)
        words = ("stack", "create", "--wait", "--poll", "1", "-t", self.write(template), *options, name)
        answer = self.cli.run(*words, cloud=cloud, limit=limit)
        assert answer.returncode == 0, f"{answer.stdout}\n{answer.stderr}\n{self.failures(name)}\n{server_log()}"
        return name

    def update(self, name: str, template: Any, *options: str) -> None:
        """A stack that reached UPDATE_COMPLETE."""
        self.cli.openstack("stack", "update", "-t", self.write(template), *options, name, cloud=self.made[name])
        assert self.state(name) == "UPDATE_COMPLETE", f"{self.failures(name)}\n{server_log()}"

    def state(self, name: str, limit: float = 600) -> str:
        """The state that a stack comes to rest in; asked for twice a second, where the client's --wait takes five."""
        sdk, until = self.cli.connection(self.made[name]), time.monotonic() + limit
        while True:
            found = sdk.orchestration.find_stack(name)
            state = "GONE" if found is None else str(found.status)
            if not state.endswith("IN_PROGRESS"):
                return state
            assert time.monotonic() < until, f"{name} is {state} for {limit:.0f} s\n{server_log()}"
            time.sleep(0.5)

    def failures(self, name: str) -> str:
        return self.cli.run("stack", "failures", "list", "--long", name, cloud=self.made[name]).stdout

    def delete(self, name: str) -> None:
        self.cli.openstack("stack", "delete", "--yes", name, cloud=self.made[name])
        assert self.state(name) == "GONE", f"{self.failures(name)}\n{server_log()}"
        del self.made[name]

    def end(self) -> None:
        for name, cloud in list(self.made.items()):
            if self.cli.connection(cloud).orchestration.find_stack(name) is not None:
                self.delete(name)


def server_log(size: int = 4000) -> str:
    file = os.environ.get("CALOR_LOG", "")
    return Path(file).read_text(errors="replace")[-size:] if file else ""


def given(caller: Caller) -> Credentials:
    return Credentials(
        kind=CredentialKind.TOKEN, project_id=caller.project_id, user_id=caller.user_id, secret=caller.token
    )


@pytest.fixture(scope="session")
def lab() -> Lab:
    return Lab(Path(LAB))


@pytest.fixture(scope="session")
def cli(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Cli:
    return Cli(lab, tmp_path_factory.mktemp("client"))


@pytest.fixture
def stacks(cli: Cli, tmp_path: Path) -> Iterator[Stacks]:
    """Stacks of the users; after the test the cloud holds nothing more than before."""
    users = ("demo", "admin")
    before = {user: cli.census(user) for user in users}
    stacks = Stacks(cli, tmp_path)
    yield stacks
    stacks.end()
    until = time.monotonic() + 10
    while (left := {user: cli.census(user) - before[user] for user in users}) and any(left.values()):
        assert time.monotonic() < until, f"left in the cloud: {left}"
        time.sleep(1)


@pytest.fixture
async def door(lab: Lab) -> AsyncIterator[SdkDoor]:
    door = SdkDoor(lab.settings)
    yield door
    await door.close()


@pytest.fixture
def workshop(lab: Lab, door: SdkDoor) -> Workshop:
    """The user `demo` at work in a stack of his own."""
    caller = lab.login()
    facts = StackFacts(id="s", name="calor-test", project_id=caller.project_id, user_id=caller.user_id, root_id="s")
    return Workshop(door.open(given(caller)), stack=facts)
