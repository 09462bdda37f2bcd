"""Stacks that must fail, and what must be left of them: nothing."""

import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from keystoneauth1.adapter import Adapter

COUNTED = (
    ("orchestration", "/stacks", "stacks"),
    ("orchestration", "/software_configs", "software_configs"),
    ("compute", "/servers?all_tenants=1", "servers"),
    ("network", "/v2.0/ports", "ports"),
    ("network", "/v2.0/networks", "networks"),
    ("network", "/v2.0/security-groups", "security_groups"),
    ("volumev3", "/volumes?all_tenants=1", "volumes"),
)
NETWORKS = [{"network": "private"}]


def server(user_data: str = "", **more: Any) -> dict[str, Any]:
    properties = {"image": "host", "flavor": "m1.tiny", "networks": NETWORKS, "user_data_format": "SOFTWARE_CONFIG"}
    return {"type": "OS::Nova::Server", "properties": {**properties, "user_data": user_data, **more}}


def hot(resources: dict[str, Any], **more: Any) -> str:
    return yaml.safe_dump({"heat_template_version": "2018-08-31", "resources": resources, **more})


def deploying(
    script: str, *, group: str = "script", user_data: str = "", options: dict[str, Any] | None = None, **more: Any
) -> str:
    """A server and one deployment on it."""
    config = {"group": group, "config": script, "options": options or {}, "outputs": [{"name": "said"}]}
    deployment = {"config": {"get_resource": "config"}, "server": {"get_resource": "server"}, **more}
    resources = {
        "config": {"type": "OS::Heat::SoftwareConfig", "properties": config},
        "deployment": {"type": "OS::Heat::SoftwareDeployment", "properties": deployment},
        "server": server(user_data),
    }
    return hot(resources, outputs={"said": {"value": {"get_attr": ["deployment", "said"]}}})


class Wrong:
    """A dev cloud, asked for what cannot be."""

    hot, server, deploying = staticmethod(hot), staticmethod(server), staticmethod(deploying)

    def __init__(self, cloud: Any, folder: Path) -> None:
        self.cloud, self.folder = cloud, folder
        self.sessions = {name: cloud.connection(name).session for name in ("calor", "calor-admin")}
        self.begun: set[str] = set()

    def file(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def api(self, service: str, cloud: str = "calor") -> Adapter:
        """A service's own API, as a user of the clouds.yaml."""
        return Adapter(self.sessions[cloud], service_type=service, interface="public")

    @property
    def heat(self) -> Adapter:
        return self.api("orchestration")

    def census(self) -> Counter[str]:
        """What there is in the cloud and on this machine."""
        found: Counter[str] = Counter()
        for service, path, kind in COUNTED:
            cloud = "calor" if service == "orchestration" else "calor-admin"
            found[kind] = len(self.api(service, cloud).get(path).json()[kind])
        found["folders"] = len(list((self.cloud.state / "servers").glob("*")))
        found["namespaces"] = len(list((self.cloud.state / "run/netns").glob("s*")))
        return found

    def refused(self, template: str, *options: str) -> str:
        """What the client shows of a stack that is refused at the door; nothing of it may exist."""
        before = self.census()
        path = self.file("template.yaml", template)
        answer = self.cloud.run("stack", "create", "-t", path, *options, "refused")
        assert answer.returncode != 0, answer.stdout
        assert "Traceback" not in answer.stderr
        assert self.census() == before
        return str(answer.stderr)

    def begin(self, name: str, template: str, *options: str) -> None:
        self.begun.add(name)
        self.cloud.openstack("stack", "create", "-t", self.file(f"{name}.yaml", template), *options, name)

    def failure(self, name: str, seconds: float = 120) -> str:
        """`openstack stack failures list --long` of a stack, once its creation has failed, which must be in time."""
        assert self.ended(name, seconds) == "CREATE_FAILED"
        return str(self.cloud.openstack("stack", "failures", "list", "--long", name))

    def ended(self, name: str, seconds: float = 120) -> str:
        until = time.monotonic() + seconds
        heat = self.heat
        while (status := heat.get(f"/stacks/{name}").json()["stack"]["stack_status"]).endswith("IN_PROGRESS"):
            assert time.monotonic() < until, f"{name} is {status} after {seconds} s\n{self.cloud.tail()}"
            time.sleep(0.3)
        return str(status)

    def server_of(self, name: str) -> str:
        ident = self.heat.get(f"/stacks/{name}").json()["stack"]["id"]
        answer = self.heat.get(f"/stacks/{name}/{ident}/resources/server").json()
        return str(answer["resource"]["physical_resource_id"])

    def inside(self, name: str, command: str, *, check: bool = True) -> str:
        """Run a shell command in the stack's server."""
        words = ("dev", "--state-dir", str(self.cloud.state), "shell", self.server_of(name), "--", "/bin/sh", "-c")
        answer = subprocess.run([self.cloud.calor, *words, command], capture_output=True, text=True, timeout=60)
        assert answer.returncode == 0 or not check, answer.stdout + answer.stderr
        return answer.stdout

    def eventually(self, name: str, command: str, seconds: float = 40) -> None:
        """A shell command in the stack's server succeeds in time."""
        until = time.monotonic() + seconds
        while "it holds" not in self.inside(name, f"{command} && echo it holds", check=False):
            assert time.monotonic() < until, f"{command} in {name}\n{self.cloud.tail()}"
            time.sleep(0.3)

    def delete(self, name: str) -> None:
        self.cloud.openstack("stack", "delete", "--yes", name)
        until = time.monotonic() + 60
        while self.heat.get(f"/stacks/{name}", raise_exc=False).status_code != 404:
            assert time.monotonic() < until, self.cloud.openstack("stack", "failures", "list", "--long", name)
            time.sleep(0.2)
        self.begun.remove(name)


@pytest.fixture(scope="session")
def wrong_type() -> type[Wrong]:
    return Wrong


@pytest.fixture
def wrong(cloud: Any, tmp_path: Path) -> Iterator[Wrong]:
    """What a test has begun is deleted by it: at the end the cloud is as it was."""
    made = Wrong(cloud, tmp_path)
    before = made.census()
    yield made
    for name in sorted(made.begun):  # of a test that failed
        made.delete(name)
    assert made.census() == before
