"""Deployments and signals through queues: the guest logs in at our own /v3 and reaches its own queues, no others."""

import json
from typing import Any

import pytest

pytestmark = pytest.mark.slow

CLIENT = {"Client-ID": "3381af92-2b9e-11e3-b191-71861300734c"}


def log_in(desk: Any, account: dict[str, Any]) -> tuple[str, str]:
    """(token, address of the messaging service) as os-collect-config finds them."""
    import urllib.request

    user = {"id": account["user_id"], "password": account["password"]}
    scope = {"project": {"id": account["project_id"]}}
    body = {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope}}
    request = urllib.request.Request(
        account["auth_url"] + "/auth/tokens", data=json.dumps(body).encode(), method="POST"
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        catalog = json.loads(answer.read())["token"]["catalog"]
        token = answer.headers["X-Subject-Token"]
    (service,) = [one for one in catalog if one["type"] == "messaging"]
    return token, service["endpoints"][0]["url"]


def pop(desk: Any, account: dict[str, Any], queue: str) -> Any:
    token, address = log_in(desk, account)
    url = f"{address}/v2/queues/{queue}/messages?pop=1"
    status, body = desk.fetch(url, "DELETE", None, {**CLIENT, "X-Auth-Token": token})
    assert status in (200, 204), body
    return body["messages"][0]["body"] if body and body["messages"] else None


def given(deployment: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one["value"] for one in deployment["inputs"]}


def test_a_guest_is_told_and_answers_by_queues_only(desk: Any, config: Any) -> None:
    used = {"config": {"get_resource": "config"}, "server": {"get_resource": "machine"}}
    resources = {
        "machine": {"type": "OS::Heat::DeployedServer", "properties": {"software_config_transport": "ZAQAR_MESSAGE"}},
        "config": config,
        "deployment": {
            "type": "OS::Heat::SoftwareDeployment",
            "properties": {**used, "signal_transport": "ZAQAR_SIGNAL"},
        },
    }
    desk.create("queued", resources, outputs={"said": {"value": {"get_attr": ["deployment", "said"]}}})
    account = desk.until(lambda: desk.collected("queued", "machine").get("zaqar"))
    found: list[Any] = []

    def told() -> bool:
        message = pop(desk, account, account["queue_id"])
        found.extend((message or {}).get("deployments") or [])
        return bool(found)

    desk.until(told)
    values = given(found[0])
    signal = {name.removeprefix("deploy_"): value for name, value in values.items()}
    token, address = log_in(desk, signal)
    post = f"{address}/v2/queues/{signal['queue_id']}/messages"
    headers = {**CLIENT, "X-Auth-Token": token}
    stolen = f"{address}/v2/queues/{account['queue_id']}/messages?pop=1"
    assert desk.fetch(stolen, "DELETE", None, headers)[0] == 403, "a deployment's account opens its own queue only"
    message = {"body": {"deploy_status_code": 0, "said": "by a queue"}, "ttl": 600}
    assert desk.fetch(post, "POST", {"messages": [message]}, headers)[0] == 201
    assert desk.reached("queued", "CREATE_COMPLETE") == {"said": "by a queue"}
    desk.delete("queued")
    assert desk.api("messaging").get("/v2/queues").json()["queues"] == []
    assert desk.fetch(post, "POST", {"messages": [message]}, headers)[0] == 401


def test_messages_to_a_handle_are_counted_and_kept(desk: Any) -> None:
    waits = {"handle": {"get_resource": "handle"}, "timeout": 120, "count": 2}
    resources = {
        "handle": {"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": "ZAQAR_SIGNAL"}},
        "condition": {"type": "OS::Heat::WaitCondition", "properties": waits},
    }
    outputs = {
        "signal": {"value": {"get_attr": ["handle", "signal"]}},
        "data": {"value": {"get_attr": ["condition", "data"]}},
    }
    desk.create("counting", resources, outputs=outputs)
    found: dict[str, Any] = {}

    def told() -> bool:
        found.update(desk.outputs("counting"))
        return bool(found.get("signal"))

    desk.until(told)
    account = json.loads(found["signal"])
    token, address = log_in(desk, account)
    messages = [{"body": {"status": "SUCCESS", "data": text}, "ttl": 60} for text in ("one", "two")]
    path = f"{address}/v2/queues/{account['queue_id']}/messages"
    assert desk.fetch(path, "POST", {"messages": messages}, {**CLIENT, "X-Auth-Token": token})[0] == 201
    assert json.loads(desk.reached("counting", "CREATE_COMPLETE")["data"]) == {"1": "one", "2": "two"}
    desk.delete("counting")
