"""Verbs of the unmodified `openstack` client that only a whole server can answer: hooks, and files in a container."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:The _compute_attributes")]  # openstacksdk of itself

PAUSED = "paused until Hook"
TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  first: {type: OS::Heat::TestResource, properties: {value: a}}
  second: {type: OS::Heat::TestResource, properties: {value: b}, depends_on: first}
  group:
    type: OS::Heat::ResourceGroup
    properties: {count: 2, resource_def: {type: OS::Heat::TestResource}}
"""


def eventually(look: Any, limit: float = 60) -> Any:
    until = time.monotonic() + limit
    while not (found := look()):
        assert time.monotonic() < until, "it did not come in time"
        time.sleep(0.2)
    return found


def polled(cloud: Any, name: str, *more: str) -> set[str]:
    answer = cloud.run("stack", "hook", "poll", name, "-f", "json", *more)
    return {row.get("Resource Name") for row in json.loads(answer.stdout)} if answer.returncode == 0 else set()


def test_f021_hooks_are_polled_and_cleared_by_the_client(record_cloud: Any, tmp_path: Path) -> None:
    file = tmp_path / "hooked.yaml"
    file.write_text(TEMPLATE)
    cloud = record_cloud
    cloud.openstack("stack", "create", "-t", str(file), "--pre-create", "first", "--pre-create", "group/1", "hooked")
    eventually(lambda: polled(cloud, "hooked", "--nested-depth", "2") == {"first", "1"})
    assert polled(cloud, "hooked") == {"first"}
    events = cloud.json("stack", "event", "list", "hooked", "--nested-depth", "2")
    assert sum(PAUSED in event["resource_status_reason"] for event in events) == 2
    cloud.openstack("stack", "hook", "clear", "hooked", "first")
    cloud.openstack("stack", "hook", "clear", "--pre-create", "hooked", "group/1")
    eventually(lambda: cloud.json("stack", "show", "hooked")["stack_status"] == "CREATE_COMPLETE")
    file.write_text(TEMPLATE.replace("value: a", "value: c"))
    cloud.openstack("stack", "update", "-t", str(file), "--pre-update", "f*", "hooked")
    eventually(lambda: polled(cloud, "hooked") == {"first"})
    cloud.openstack("stack", "hook", "clear", "hooked", "first")
    eventually(lambda: cloud.json("stack", "show", "hooked")["stack_status"] == "UPDATE_COMPLETE")
    cloud.openstack("stack", "delete", "--yes", "--wait", "hooked")


def test_f119_files_come_out_of_a_container(record_cloud: Any, tmp_path: Path) -> None:
    cloud = record_cloud
    connection = cloud.connection()
    connection.object_store.create_container("templates")
    nested = (
        "heat_template_version: 2021-04-16\n"
        "outputs:\n"
        "  plain: {value: {get_file: plain.txt}}\n"
        "  marked: {value: {get_file: marked.txt}}\n"
    )
    contents = {
        "inner.yaml": nested.encode(),
        "plain.txt": "Grüße".encode(),
        "marked.txt": "\ufeffGrüße".encode("utf-16-le"),
        "env.yaml": b"resource_registry: {My::Inner: inner.yaml}",
        "picture.bin": bytes(range(256)),
    }
    for name, content in contents.items():
        connection.object_store.create_object("templates", name, data=content)
    file = tmp_path / "outer.yaml"
    outer: dict[str, Any] = {
        "heat_template_version": "2021-04-16",
        "resources": {"inner": {"type": "My::Inner"}},
        "outputs": {name: {"value": {"get_attr": ["inner", name]}} for name in ("plain", "marked")},
    }
    file.write_text(json.dumps(outer))
    more = ("--files-container", "templates", "-e", "env.yaml", "-t", str(file))
    cloud.openstack("orchestration", "template", "validate", *more, "--show-nested")
    cloud.openstack("stack", "create", *more, "--wait", "contained")
    assert cloud.outputs("contained") == {"plain": "Grüße", "marked": "Grüße"}
    cloud.openstack("stack", "update", *more, "--wait", "contained")
    picture = {"type": "OS::Heat::Value", "properties": {"value": {"get_file": "picture.bin"}}}
    outer["resources"]["picture"] = picture
    file.write_text(json.dumps(outer))
    refused = cloud.run("stack", "update", *more, "contained")
    assert refused.returncode == 1
    assert "the file 'picture.bin' is not text" in refused.stderr + refused.stdout
    absent = cloud.run("stack", "create", "-t", str(file), "--files-container", "nowhere", "absent")
    assert "files_container 'nowhere' does not exist" in absent.stderr + absent.stdout
    cloud.openstack("stack", "delete", "--yes", "--wait", "contained")


def test_f115_a_json_template_keeps_its_texts_as_json_and_as_yaml(record_cloud: Any, tmp_path: Path) -> None:
    cloud = record_cloud
    texts = {"a": "0755", "b": "yes", "c": "1:30", "d": "null", "e": "1e3", "f": "2026-11-30", "g": "~", "h": "0x1F"}
    resources = {
        "r": {"Type": "OS::Heat::TestResource", "Metadata": texts, "Properties": {"value": "0755"}},
    }
    outputs = {name: {"Value": text} for name, text in texts.items()}
    template = {"AWSTemplateFormatVersion": "2010-09-09", "Resources": resources, "Outputs": outputs}
    file = tmp_path / "aws.json"
    file.write_text(json.dumps(template))
    cloud.openstack("stack", "create", "-t", str(file), "--wait", "converted")
    assert yaml.safe_load(cloud.openstack("stack", "template", "show", "converted")) == template
    assert cloud.outputs("converted") == texts
    assert cloud.json("stack", "resource", "metadata", "converted", "r") == texts
    written = tmp_path / "aws.yaml"
    written.write_text(cloud.openstack("stack", "template", "show", "converted"))
    cloud.openstack("stack", "update", "-t", str(written), "--wait", "converted")
    assert cloud.outputs("converted") == texts
    cloud.openstack("stack", "delete", "--yes", "--wait", "converted")
