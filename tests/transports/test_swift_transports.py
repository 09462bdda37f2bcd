"""Deployments and signals through objects of the user's object store."""

import json
from typing import Any

import pytest

pytestmark = pytest.mark.slow


def inputs(deployment: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one["value"] for one in deployment["inputs"]}


def containers(desk: Any) -> list[str]:
    return [one["name"] for one in desk.api("object-store").get("?format=json").json()]


def machine(**more: Any) -> dict[str, Any]:
    return {"type": "OS::Heat::DeployedServer", "properties": {"software_config_transport": "POLL_TEMP_URL", **more}}


def deployment(server: str = "machine", **more: Any) -> dict[str, Any]:
    properties = {"config": {"get_resource": "config"}, "server": {"get_resource": server}, **more}
    return {"type": "OS::Heat::SoftwareDeployment", "properties": {"signal_transport": "TEMP_URL_SIGNAL", **properties}}


SAID = {"outputs": {"said": {"value": {"get_attr": ["deployment", "said"]}}}}


def test_a_guest_is_told_and_answers_by_objects_only(desk: Any, config: Any) -> None:
    resources = {"machine": machine(), "config": config, "deployment": deployment()}
    before = containers(desk)
    desk.create("objects", resources, **SAID)
    url = desk.until(lambda: desk.collected("objects", "machine").get("request", {}).get("metadata_url"))
    found = desk.until(lambda: desk.fetch(url)[1].get("deployments"))
    document = desk.fetch(url)[1]
    assert document["os-collect-config"]["collectors"] == ["request", "local"]
    given = inputs(found[0])
    assert given["deploy_signal_verb"] == "PUT"
    assert desk.fetch(given["deploy_signal_id"], "PUT", {"deploy_status_code": 0, "said": "by an object"})[0] == 201
    assert desk.reached("objects", "CREATE_COMPLETE") == {"said": "by an object"}
    assert desk.fetch(given["deploy_signal_id"], "GET")[0] == 401, "the URL is good for one thing"

    desk.update("objects", {**resources, "deployment": deployment(input_values={"n": "2"})}, **SAID)
    again = desk.until(lambda: [one for one in desk.fetch(url)[1]["deployments"] if inputs(one).get("n") == "2"])
    assert desk.fetch(given["deploy_signal_id"], "PUT", {"deploy_status_code": 0, "said": "late"})[0] == 201
    second = inputs(again[0])["deploy_signal_id"]
    assert second != given["deploy_signal_id"], "a late result never completes a newer run"
    assert desk.fetch(second, "PUT", {"deploy_status_code": 3, "deploy_stderr": "no"})[0] == 201
    desk.reached("objects", "UPDATE_FAILED")
    assert "non-zero status code: 3" in desk.show("objects")["stack_status_reason"]
    desk.delete("objects")
    assert containers(desk) == before


def test_a_users_container_keeps_its_key_and_stays(desk: Any, config: Any) -> None:
    swift = desk.api("object-store")
    swift.put("/mine", headers={"X-Container-Meta-Temp-Url-Key": "the user's own"})
    place = {"container": "mine", "object": "told"}
    desk.create("kept", {"machine": machine(deployment_swift_data=place)}, wait=True)
    url = desk.collected("kept", "machine")["request"]["metadata_url"]
    assert "/mine/told?" in url
    assert desk.until(lambda: "deployments" in desk.fetch(url)[1])
    assert swift.head("/mine").headers["X-Container-Meta-Temp-Url-Key"] == "the user's own"
    desk.delete("kept")
    assert swift.get("/mine?format=json").json() == []
    swift.delete("/mine")


def test_a_change_of_transport_takes_the_object_away(desk: Any) -> None:
    desk.create("moving", {"machine": machine()}, wait=True)
    url = desk.collected("moving", "machine")["request"]["metadata_url"]
    desk.update("moving", {"machine": machine(software_config_transport="POLL_SERVER_CFN")})
    desk.reached("moving", "UPDATE_COMPLETE")
    found = desk.collected("moving", "machine")
    assert found["request"] == {"metadata_url": None}
    assert found["collectors"] == ["cfn", "local"]
    assert desk.fetch(url)[0] == 401 or desk.fetch(url)[0] == 404


@pytest.mark.parametrize(
    ("kind", "condition", "properties"),
    [
        ("OS::Heat::WaitConditionHandle", "OS::Heat::WaitCondition", {"signal_transport": "TEMP_URL_SIGNAL"}),
        ("OS::Heat::SwiftSignalHandle", "OS::Heat::SwiftSignal", {}),
    ],
)
def test_each_put_to_a_handle_counts_once(desk: Any, kind: str, condition: str, properties: Any) -> None:
    outputs = {
        "curl": {"value": {"get_attr": ["handle", "curl_cli"]}},
        "data": {"value": {"get_attr": ["condition", "data"]}},
    }
    waits = {"handle": {"get_resource": "handle"}, "timeout": 120, "count": 3}
    resources = {
        "handle": {"type": kind, "properties": properties},
        "condition": {"type": condition, "properties": waits},
    }
    desk.create("counted", resources, outputs=outputs)

    def told() -> Any:
        return desk.outputs("counted").get("curl")

    curl = desk.until(told)
    assert curl.startswith("curl -i -X PUT '")
    url = curl.split("'")[1]
    for number in (1, 2, 3):
        body = {"id": f"n{number}", "status": "SUCCESS", "data": number}
        assert desk.fetch(url, "PUT", body)[0] == 201
    found = desk.reached("counted", "CREATE_COMPLETE")
    assert json.loads(found["data"]) == {"n1": 1, "n2": 2, "n3": 3}
    desk.delete("counted")


def test_a_failure_put_to_a_swift_handle_fails_the_stack(desk: Any) -> None:
    waits = {"handle": {"get_resource": "handle"}, "timeout": 120}
    resources = {
        "handle": {"type": "OS::Heat::SwiftSignalHandle"},
        "condition": {"type": "OS::Heat::SwiftSignal", "properties": waits},
    }
    desk.create("failing", resources, outputs={"url": {"value": {"get_resource": "handle"}}})
    found: dict[str, Any] = {}

    def told() -> bool:
        found.update(desk.outputs("failing"))
        return str(found.get("url")).startswith("http")

    desk.until(told)
    url = found["url"]
    assert desk.fetch(url, "PUT", {"status": "FAILURE", "reason": "the disk is full"})[0] == 201
    desk.reached("failing", "CREATE_FAILED")
    assert "the disk is full" in desk.show("failing")["stack_status_reason"]


def test_many_deployments_wait_on_one_listing(desk: Any, config: Any) -> None:
    """Twelve deployments that wait for a while cost a few listings of their one container, and no polls of each."""
    names = [f"d{number:02}" for number in range(12)]
    resources = {"machine": machine(), "config": config, **{name: deployment() for name in names}}
    desk.create("many", resources)
    url = desk.until(lambda: desk.collected("many", "machine").get("request", {}).get("metadata_url"))
    found = desk.until(lambda: len(all_ := desk.fetch(url)[1].get("deployments") or []) == 12 and all_)
    for one in found:
        assert desk.fetch(inputs(one)["deploy_signal_id"], "PUT", {"deploy_status_code": 0})[0] == 201
    desk.reached("many", "CREATE_COMPLETE")
