"""A guest that is told and heard by the cloud's own object store or queues: this test is the guest."""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
import yaml

CONFIG = {"group": "script", "config": "#!/bin/sh\n", "outputs": [{"name": "said"}]}
USED = {"config": {"get_resource": "config"}, "server": {"get_resource": "machine"}}


class Heat:
    """The server's REST API with the user's token, and addresses as this test, which is no guest, reaches them."""

    def __init__(self, lab: Any) -> None:
        self.lab, self.caller = lab, lab.login()
        self.base = f"{lab.orchestration}/v1/{self.caller.project_id}"
        self.name = f"transports-{uuid.uuid4().hex[:8]}"

    def call(self, verb: str, path: str, **more: Any) -> requests.Response:
        headers = {"X-Auth-Token": self.caller.token}
        return requests.request(verb, self.base + path, headers=headers, timeout=60, **more)

    def create(self, resources: dict[str, Any]) -> requests.Response:
        outputs = {
            "collect": {"value": {"get_attr": ["machine", "os_collect_config"]}},
            "said": {"value": {"get_attr": ["deployment", "said"]}},
        }
        template = {"heat_template_version": "2018-08-31", "resources": resources, "outputs": outputs}
        return self.call("POST", "/stacks", json={"stack_name": self.name, "template": yaml.safe_dump(template)})

    def outputs(self) -> dict[str, Any]:
        stack = self.call("GET", f"/stacks/{self.name}").json()["stack"]
        return {
            "status": stack["stack_status"],
            "reason": stack["stack_status_reason"],
            **{one["output_key"]: one.get("output_value") for one in stack.get("outputs") or ()},
        }

    def outside(self, url: str) -> str:
        return url.replace("172.24.4.1", "127.0.0.1")

    @staticmethod
    def until(test: Callable[[], Any], seconds: float = 120) -> Any:
        limit = time.monotonic() + seconds
        while not (found := test()):
            assert time.monotonic() < limit, "did not happen in time"
            time.sleep(0.2)
        return found

    def delete(self) -> None:
        ident = self.call("GET", f"/stacks/{self.name}").json()["stack"]["id"]
        self.call("DELETE", f"/stacks/{self.name}/{ident}")
        self.until(self.is_gone)

    def is_gone(self) -> bool:
        return self.call("GET", f"/stacks/{self.name}").status_code == 404


@pytest.fixture
def heat(lab: Any) -> Iterator[Heat]:
    found = Heat(lab)
    yield found
    if not found.is_gone():
        found.delete()


def given(deployment: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one["value"] for one in deployment["inputs"]}


def deploying(transport: str, signal: str) -> dict[str, Any]:
    machine = {"type": "OS::Heat::DeployedServer", "properties": {"software_config_transport": transport}}
    deployment = {"type": "OS::Heat::SoftwareDeployment", "properties": {**USED, "signal_transport": signal}}
    return {
        "machine": machine,
        "config": {"type": "OS::Heat::SoftwareConfig", "properties": CONFIG},
        "deployment": deployment,
    }


def test_objects_of_a_real_object_store(heat: Heat) -> None:
    assert heat.create(deploying("POLL_TEMP_URL", "TEMP_URL_SIGNAL")).status_code == 201
    collect = heat.until(lambda: (heat.outputs().get("collect") or {}).get("request"))
    url = heat.outside(collect["metadata_url"])
    (deployment,) = heat.until(lambda: requests.get(url, timeout=30).json().get("deployments"))
    signal = heat.outside(given(deployment)["deploy_signal_id"])
    body = json.dumps({"deploy_status_code": 0, "said": "by a real object"})
    assert requests.put(signal, data=body, timeout=30).status_code == 201
    heat.until(lambda: not heat.outputs()["status"].endswith("PROGRESS"))
    assert heat.outputs()["said"] == "by a real object", heat.outputs()["reason"]
    heat.delete()
    assert requests.get(url, timeout=30).status_code in (401, 404)


def test_queues_of_a_real_messaging_service_or_a_refusal_in_words(heat: Heat, cli: Any) -> None:
    answer = heat.create(deploying("ZAQAR_MESSAGE", "ZAQAR_SIGNAL"))
    if "messaging" not in {one["Type"] for one in cli.json("catalog", "list")}:
        assert answer.status_code == 400
        assert "needs the service messaging of the cloud" in answer.json()["error"]["message"]
        return
    assert answer.status_code == 201, answer.text
    told = heat.until(lambda: (heat.outputs().get("collect") or {}).get("zaqar"))
    found: list[Any] = []

    def popped() -> bool:
        status, body = queue(heat, told, "DELETE", "?pop=1")
        assert status in (200, 204), body
        for message in (body or {}).get("messages") or ():
            found.extend(message["body"]["deployments"])
        return bool(found)

    heat.until(popped)
    account = {name.removeprefix("deploy_"): value for name, value in given(found[0]).items()}
    message = {"body": {"deploy_status_code": 0, "said": "by a real queue"}, "ttl": 600}
    assert queue(heat, account, "POST", "", {"messages": [message]})[0] == 201
    heat.until(lambda: not heat.outputs()["status"].endswith("PROGRESS"))
    assert heat.outputs()["said"] == "by a real queue", heat.outputs()["reason"]


def queue(heat: Heat, account: dict[str, Any], verb: str, query: str, body: Any = None) -> tuple[int, Any]:
    """A request to the account's queue, at the address and with the token that our own /v3 gives."""
    user = {"id": account["user_id"], "password": account["password"]}
    auth = {"identity": {"methods": ["password"], "password": {"user": user}}}
    answer = requests.post(f"{heat.lab.orchestration}/v3/auth/tokens", json={"auth": auth}, timeout=30)
    assert answer.status_code == 201, answer.text
    headers = {"X-Auth-Token": answer.headers["X-Subject-Token"], "Client-ID": str(uuid.uuid4())}
    url = f"{heat.lab.orchestration}/v2/queues/{account['queue_id']}/messages{query}"
    answer = requests.request(verb, url, json=body, headers=headers, timeout=30)
    return answer.status_code, answer.json() if answer.content else None
