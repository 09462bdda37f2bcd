"""A dev cloud that is told to misbehave: real server, real cloud process, real HTTP between them."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import yaml

COLLECTIONS = {
    "servers": ("compute", "/servers/detail?all_tenants=1"),
    "ports": ("network", "/v2.0/ports"),
    "volumes": ("volumev3", "/volumes/detail?all_tenants=1"),
    "floatingips": ("network", "/v2.0/floatingips"),
    "security_groups": ("network", "/v2.0/security-groups"),
    "security_group_rules": ("network", "/v2.0/security-group-rules"),
    "networks": ("network", "/v2.0/networks"),
    "routers": ("network", "/v2.0/routers"),
}


class Troubled:
    """A dev cloud with scripted faults, and a stack on it."""

    def __init__(self, cloud: Any) -> None:
        self.cloud = cloud
        known = json.loads((cloud.state / "dev.json").read_text())
        self._faults = f"{cloud.ready['identity'].removesuffix('/identity/v3')}/faults"
        self._headers = {"X-Admin-Token": known["admin_token"]}
        self.admin = cloud.connection("calor-admin").session
        self.user = cloud.connection().session
        self.before = self.census()
        self.names: set[str] = set()

    def told(self, trouble: str, method: str, path: str, **more: Any) -> None:
        """One rule of the fault layer."""
        body = {"trouble": trouble, "method": method, "path": path, **more}
        answer = requests.post(self._faults, json=body, headers=self._headers, timeout=10)
        assert answer.status_code == 201, answer.text

    def struck(self) -> int:
        """How many calls met a rule."""
        rules = requests.get(self._faults, headers=self._headers, timeout=10).json()["faults"]
        return sum(rule["struck"] for rule in rules)

    def well(self) -> None:
        requests.delete(self._faults, headers=self._headers, timeout=10)

    def records(self, collection: str) -> list[dict[str, Any]]:
        service, path = COLLECTIONS[collection]
        body = self.admin.get(path, endpoint_filter={"service_type": service}).json()
        return [one for one in body[collection] if one.get("device_owner") != "network:floatingip"]

    def census(self) -> Counter[str]:
        return Counter({name: len(self.records(name)) for name in COLLECTIONS})

    def made(self) -> dict[str, int]:
        """What there is more than at first."""
        return {name: count for name, count in (self.census() - self.before).items() if count}

    # --- the stack ------------------------------------------------------------------------------------------

    def heat(self, method: str, path: str, **more: Any) -> Any:
        where = {"service_type": "orchestration"}
        return self.user.request(path, method, endpoint_filter=where, raise_exc=False, **more)

    def create(self, name: str, resources: dict[str, Any], **more: Any) -> None:
        self.names.add(name)
        template = yaml.safe_dump({"heat_template_version": "2018-08-31", "resources": resources})
        answer = self.heat("POST", "/stacks", json={"stack_name": name, "template": template, **more})
        assert answer.status_code == 201, answer.text

    def update(self, name: str, resources: dict[str, Any], **more: Any) -> None:
        template = yaml.safe_dump({"heat_template_version": "2018-08-31", "resources": resources})
        path = f"/stacks/{name}/{self.shown(name)['id']}"
        answer = self.heat("PUT", path, json={"template": template, **more})
        assert answer.status_code == 202, answer.text

    def delete(self, name: str) -> None:
        answer = self.heat("DELETE", f"/stacks/{name}/{self.shown(name)['id']}")
        assert answer.status_code == 204, answer.text

    def shown(self, name: str) -> dict[str, Any]:
        answer = self.heat("GET", f"/stacks/{name}")
        return dict(answer.json()["stack"]) if answer.status_code == 200 else {"stack_status": "DELETE_COMPLETE"}

    def reached(self, name: str, state: str, limit: float = 60.0) -> str:
        """Wait for the end of what is going on; answers the reason."""
        until = time.monotonic() + limit
        while (stack := self.shown(name))["stack_status"].endswith("IN_PROGRESS"):
            assert time.monotonic() < until, f"{stack['stack_status']} for {limit} s\n{self.cloud.tail()}"
            time.sleep(0.1)
        reason = str(stack.get("stack_status_reason", ""))
        assert stack["stack_status"] == state, f"{stack['stack_status']}: {reason}\n{self.cloud.tail()}"
        return reason

    def gone(self, name: str) -> None:
        """Delete; nothing is left."""
        self.delete(name)
        self.reached(name, "DELETE_COMPLETE")
        assert self.census() == self.before


@pytest.fixture
def troubled(record_cloud: Any) -> Iterator[Troubled]:
    one = Troubled(record_cloud)
    yield one
    one.well()
    for name in one.names:
        if "id" in one.shown(name):
            one.delete(name)
            one.reached(name, "DELETE_COMPLETE")
