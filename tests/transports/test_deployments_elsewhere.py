"""Deployments to servers of other stacks, input and output types, updated input values, and groups in batches."""

import time
from typing import Any

import pytest

pytestmark = pytest.mark.slow

MACHINE = {"type": "OS::Heat::DeployedServer", "properties": {"software_config_transport": "POLL_TEMP_URL"}}


def given(deployment: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one["value"] for one in deployment["inputs"]}


class Guest:
    """Polls one machine's object, and answers what it finds there once."""

    def __init__(self, desk: Any, stack: str, name: str = "machine") -> None:
        self.desk = desk
        self.url = desk.until(lambda: desk.collected(stack, name).get("request", {}).get("metadata_url"))
        self.done: set[str] = set()

    def found(self) -> list[dict[str, Any]]:
        return [one for one in self.desk.fetch(self.url)[1].get("deployments") or () if one["id"] not in self.done]

    def next(self, seconds: float = 60) -> dict[str, Any]:
        found = self.desk.until(self.found, seconds)
        return dict(found[0])

    def answer(self, deployment: dict[str, Any], **outputs: Any) -> None:
        values = given(deployment)
        body = {"deploy_status_code": 0, **outputs}
        assert self.desk.fetch(values["deploy_signal_id"], values["deploy_signal_verb"], body)[0] in (200, 201)
        self.done.add(deployment["id"])


def test_a_server_of_another_stack_is_given_as_a_parameter(desk: Any) -> None:
    desk.create("machines", {"machine": MACHINE}, wait=True, outputs={"id": {"value": {"get_resource": "machine"}}})
    guest = Guest(desk, "machines")
    inputs = [
        {"name": "count", "type": "Number", "default": 3},
        {"name": "on", "type": "Boolean", "default": True},
        {"name": "map", "type": "Json", "default": {"a": [1, 2]}},
        {"name": "list", "type": "CommaDelimitedList", "default": "x,y"},
        {"name": "text"},
    ]
    outputs = [{"name": "said", "type": "String"}, {"name": "oops", "type": "String", "error_output": True}]
    config = {"group": "script", "config": "#!/bin/sh\n", "inputs": inputs, "outputs": outputs}
    used = {"config": {"get_resource": "config"}, "server": desk.outputs("machines")["id"], "name": "10_named"}

    def resources(**values: Any) -> dict[str, Any]:
        return {
            "config": {"type": "OS::Heat::SoftwareConfig", "properties": config},
            "deployment": {"type": "OS::Heat::SoftwareDeployment", "properties": {**used, "input_values": values}},
        }

    said = {"outputs": {"said": {"value": {"get_attr": ["deployment", "said"]}}}}
    desk.create("elsewhere", resources(text="one"), **said)
    first = guest.next()
    assert first["name"] == "10_named"
    values = given(first)
    assert (values["count"], values["on"], values["map"], values["text"]) == (3, True, {"a": [1, 2]}, "one")
    assert values["list"] in ("x,y", ["x", "y"])
    assert values["deploy_stack_id"].startswith("elsewhere/")
    guest.answer(first, said="hello")
    assert desk.reached("elsewhere", "CREATE_COMPLETE") == {"said": "hello"}

    desk.update("elsewhere", resources(text="two", extra="more"), **said)
    second = guest.next()
    assert (given(second)["text"], given(second)["extra"], given(second)["deploy_action"]) == ("two", "more", "UPDATE")
    guest.answer(second, said="again", oops="it broke")
    desk.reached("elsewhere", "UPDATE_FAILED")
    assert "oops : it broke" in desk.show("elsewhere")["stack_status_reason"]
    desk.delete("elsewhere")
    desk.until(lambda: not desk.fetch(guest.url)[1]["deployments"])


def test_a_group_deploys_in_batches_with_pauses(desk: Any, config: Any) -> None:
    names = ["m0", "m1", "m2"]
    rule = {"max_batch_size": 1, "pause_time": 1}
    group = {
        "type": "OS::Heat::SoftwareDeploymentGroup",
        "update_policy": {"batch_create": rule, "rolling_update": {"max_batch_size": 2, "pause_time": 0}},
        "properties": {
            "config": {"get_resource": "config"},
            "servers": {name: {"get_resource": name} for name in names},
        },
    }
    resources = {**dict.fromkeys(names, MACHINE), "config": config, "group": group}
    outputs = {"codes": {"value": {"get_attr": ["group", "deploy_status_codes"]}}}
    desk.create("batches", resources, outputs=outputs)
    guests = {name: Guest(desk, "batches", name) for name in names}
    ended = 0.0
    for _ in names:
        name = desk.until(lambda: next((one for one in names if guests[one].found()), None))
        began = time.monotonic()
        assert [one for one in names if guests[one].found()] == [name], "one at a time"
        assert not ended or began - ended > 0.9, "with a pause between them"
        guests[name].answer(guests[name].next())
        ended = time.monotonic()
    found = desk.reached("batches", "CREATE_COMPLETE")
    assert found["codes"] == dict.fromkeys(names, 0)

    group["properties"]["input_values"] = {"n": "2"}
    desk.update("batches", resources, outputs=outputs)
    desk.until(lambda: len([one for one in names if guests[one].found()]) == 2)
    time.sleep(1)
    busy = [one for one in names if guests[one].found()]
    assert len(busy) == 2, "two at a time, not the third"
    for name in busy:
        guests[name].answer(guests[name].next())
    (last,) = set(names) - set(busy)
    guests[last].answer(guests[last].next())
    desk.reached("batches", "UPDATE_COMPLETE")
