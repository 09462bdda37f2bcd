"""Stacks in a dev cloud whose servers are records: the test itself is the guest that polls and signals."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from keystoneauth1.adapter import Adapter
from user_data import identity_of

ROOT = Path(__file__).resolve().parents[2]
SERVER = {
    "image": "host",
    "flavor": "m1.tiny",
    "networks": [{"network": "private"}],
    "user_data_format": "SOFTWARE_CONFIG",
}


def fetch(url: str, method: str = "GET", body: Any = None, headers: dict[str, str] | None = None) -> tuple[int, Any]:
    """(status, parsed or plain body) of one request."""
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, method=method, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            status, text = answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        status, text = refused.code, refused.read().decode()
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text


class Agent:
    """Our agent, without a sandbox, as a process of this machine; its code is that of a checkout."""

    def __init__(self, folder: Path, settings: dict[str, Any], checkout: Path, locale: str) -> None:
        self.root = folder / "guest"
        boot = self.root / "boot_id"
        (self.root / "etc/calor").mkdir(parents=True)
        boot.write_text("boot-1")
        quick = {"wait": 25, "retry_max": 1}
        (self.root / "etc/calor/agent.json").write_text(json.dumps({**quick, **settings}))
        environment = {**os.environ, "LC_ALL": locale, "PYTHONPATH": f"{checkout}/agent:{checkout}/cfntools"}
        environment |= {"CALOR_ROOT": str(self.root), "CALOR_BOOT_ID_FILE": str(boot)}
        self.out = folder / "agent.out"
        with self.out.open("wb") as out:
            command = [sys.executable, "-m", "calor.agent", "run"]
            self.process = subprocess.Popen(command, env=environment, stdout=out, stderr=out)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)


class Desk:
    """A dev cloud, its user's sessions, and the few verbs that these tests need."""

    fetch = staticmethod(fetch)

    def __init__(self, cloud: Any, folder: Path) -> None:
        self.cloud, self.folder = cloud, folder
        self.session = cloud.connection("calor").session
        self.begun: set[str] = set()

    def api(self, service: str) -> Adapter:
        return Adapter(self.session, service_type=service, interface="public")

    def create(self, name: str, resources: dict[str, Any], *, wait: bool = False, **more: Any) -> None:
        template = self.template(resources, **more)
        self.begun.add(name)
        self.put("POST", "/stacks", name, template)
        if wait:
            self.reached(name, "CREATE_COMPLETE")

    def update(self, name: str, resources: dict[str, Any], **more: Any) -> None:
        template = self.template(resources, **more)
        self.put("PUT", f"/stacks/{name}/{self.show(name)['id']}", name, template)

    @staticmethod
    def template(resources: dict[str, Any], outputs: dict[str, Any] | None = None) -> dict[str, Any]:
        """With what each machine is booted with among its outputs: nowhere else are its secrets shown."""
        found = {
            f"collect {name}": {"value": {"get_attr": [name, "os_collect_config"]}}
            for name, one in resources.items()
            if one["type"] in ("OS::Heat::DeployedServer", "OS::Nova::Server")
        }
        return {"heat_template_version": "2018-08-31", "resources": resources, "outputs": {**found, **(outputs or {})}}

    def outputs(self, name: str) -> dict[str, Any]:
        """Those of now, also while the stack is being made."""
        return {one["output_key"]: one.get("output_value") for one in self.show(name).get("outputs") or ()}

    def put(self, verb: str, path: str, name: str, template: dict[str, Any]) -> None:
        body = {"stack_name": name, "template": yaml.safe_dump(template), "timeout_mins": 10}
        answer = self.api("orchestration").request(path, verb, json=body, raise_exc=False)
        assert answer.status_code in (201, 202), answer.text

    def refused(self, resources: dict[str, Any]) -> str:
        template = {"heat_template_version": "2018-08-31", "resources": resources}
        body = {"stack_name": "refused", "template": yaml.safe_dump(template)}
        answer = self.api("orchestration").post("/stacks", json=body, raise_exc=False)
        assert answer.status_code == 400, answer.text
        return str(answer.json()["error"]["message"])

    def show(self, name: str) -> dict[str, Any]:
        return dict(self.api("orchestration").get(f"/stacks/{name}").json()["stack"])

    def reached(self, name: str, state: str, seconds: float = 90) -> dict[str, Any]:
        found = self.show(name)
        until = time.monotonic() + seconds
        while found["stack_status"].endswith("IN_PROGRESS") and time.monotonic() < until:
            time.sleep(0.1)
            found = self.show(name)
        assert found["stack_status"] == state, found["stack_status_reason"] + "\n" + self.cloud.tail()
        return {key: value for key, value in self.outputs(name).items() if not key.startswith("collect ")}

    def collected(self, name: str, resource: str) -> dict[str, Any]:
        """The os-collect-config section that a guest is booted with."""
        return dict(self.outputs(name).get(f"collect {resource}") or {})

    def agent(
        self, folder: Path, name: str, server: str = "", checkout: Path = ROOT, locale: str = "C.UTF-8", **more: Any
    ) -> Agent:
        """An agent that is the server resource ``server`` of a stack."""
        ident = self.show(name)["id"]
        path = f"/stacks/{name}/{ident}/resources/server"
        resource = self.api("orchestration").get(path).json()["resource"]
        nova = Adapter(self.cloud.connection("calor-admin").session, service_type="compute", interface="public")
        identity = identity_of(nova, resource["physical_resource_id"])
        address = server or str(self.cloud.ready["orchestration"])
        return Agent(folder, {**identity, "server": address, **more}, checkout, locale)

    def until(self, test: Callable[[], Any], seconds: float = 60) -> Any:
        limit = time.monotonic() + seconds
        while not (found := test()):
            assert time.monotonic() < limit, "did not happen in time\n" + self.cloud.tail()
            time.sleep(0.1)
        return found

    def delete(self, name: str) -> None:
        self.begun.discard(name)
        heat = self.api("orchestration")
        heat.delete(f"/stacks/{name}/{self.show(name)['id']}")
        self.until(lambda: heat.get(f"/stacks/{name}", raise_exc=False).status_code == 404)


@pytest.fixture
def desk(record_cloud: Any, tmp_path: Path) -> Iterator[Desk]:
    found = Desk(record_cloud, tmp_path)
    yield found
    for name in sorted(found.begun):
        found.delete(name)


@pytest.fixture
def agent_type() -> type[Agent]:
    return Agent


@pytest.fixture
def stopped() -> Iterator[list[Any]]:
    """What is to be stopped at the end, last first."""
    made: list[Any] = []
    yield made
    for one in reversed(made):
        one.stop()


@pytest.fixture
def server_properties() -> dict[str, Any]:
    return dict(SERVER)


def script(**more: Any) -> dict[str, Any]:
    properties = {"group": "script", "config": "#!/bin/sh\n", "outputs": [{"name": "said"}], **more}
    return {"type": "OS::Heat::SoftwareConfig", "properties": properties}


@pytest.fixture
def config() -> dict[str, Any]:
    return script()
