"""The tour: each template of examples/ through the unmodified client on a dev cloud with real servers."""

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
pytestmark = [pytest.mark.slow, pytest.mark.root]


@contextmanager
def stack(cloud: Any, example: str, *options: str, name: str) -> Iterator[dict[str, Any]]:
    """A stack of an example; gives its outputs. Its deletion must leave nothing of it."""
    create = ("stack", "create", "--wait", "-t", str(EXAMPLES / example), *options, name)
    cloud.openstack(*create, limit=600, plain=example.startswith("01-"))
    try:
        yield cloud.outputs(name)
    finally:
        cloud.openstack("stack", "delete", "--yes", "--wait", name)
    assert name not in cloud.openstack("stack", "list", "-f", "value", "-c", "Stack Name").split()


def test_01_hello_server(cloud: Any) -> None:
    with stack(cloud, "01-hello-server.yaml", "--parameter", "whom=ferris", name="hello") as outputs:
        assert cloud.json("server", "show", outputs["name"])["status"] == "ACTIVE"
        cloud.eventually_said(outputs["name"], "hello, ferris, from")


def test_02_script(cloud: Any) -> None:
    with stack(cloud, "02-script.yaml", "--parameter", "text=a b $c", name="script") as outputs:
        assert outputs["digest"] == hashlib.sha256((outputs["salt"] + "a b $c").encode()).hexdigest()
        assert outputs["kernel"] == os.uname().release
        cloud.openstack(
            "stack",
            "update",
            "--wait",
            "--existing",
            "--parameter",
            "text=other",
            "script",
            "-t",
            str(EXAMPLES / "02-script.yaml"),
        )
        again = cloud.outputs("script")
        assert again["salt"] == outputs["salt"]
        assert again["digest"] == hashlib.sha256((outputs["salt"] + "other").encode()).hexdigest()


def test_03_ansible(cloud: Any) -> None:
    with stack(cloud, "03-ansible.yaml", name="page") as outputs:
        page = (
            "<!doctype html>\n<title>Hello from Ansible</title>\n<h1>Hello from Ansible</h1>\n"
            f"<p>Today&#39;s word is {outputs['word']}.</p>\n"
        )
        assert outputs["page_sha256"] == hashlib.sha256(page.encode()).hexdigest()


def test_04_wait_condition(cloud: Any) -> None:
    with stack(cloud, "04-wait-condition.yaml", name="waiting") as outputs:
        assert json.loads(outputs["signals"]) == {"first": "step one", "second": "step two"}


def test_05_web_page(cloud: Any) -> None:
    with stack(cloud, "05-web-page.yaml", name="web") as outputs:
        assert outputs["status"] == "200"
        addresses = cloud.json("floating", "ip", "list")
        assert outputs["floating_address"] in [address["Floating IP Address"] for address in addresses]
        assert outputs["fixed_address"].startswith("10.11.12.")


def test_06_volume(cloud: Any) -> None:
    with stack(cloud, "06-volume.yaml", name="disk") as outputs:
        assert outputs["bytes"] == str(1 << 30)
        assert outputs["read_back"] == "written by the stack"


def test_07_group(cloud: Any) -> None:
    with stack(cloud, "07-group.yaml", "--parameter", "count=3", name="workers") as outputs:
        assert outputs["roles"] == ["worker-0", "worker-1", "worker-2"]
        assert outputs["first"] == "worker-0"
        assert len(set(outputs["servers"])) == 3
        rows = cloud.json("stack", "resource", "list", "-n", "5", "workers")
        assert sum(row["resource_type"] == "OS::Nova::Server" for row in rows) == 3
        cloud.openstack(
            "stack",
            "update",
            "--wait",
            "--existing",
            "--parameter",
            "count=2",
            "workers",
            "-t",
            str(EXAMPLES / "07-group.yaml"),
        )
        assert cloud.outputs("workers")["servers"] == outputs["servers"][:2]


def test_08_own_types(cloud: Any) -> None:
    environment = ("-e", str(EXAMPLES / "08-environment.yaml"))
    with stack(cloud, "08-own-types.yaml", *environment, name="mine") as outputs:
        assert outputs == {"role": "painter", "second_role": "second-painter"}
    with stack(cloud, "08-own-types.yaml", *environment, "--parameter", "with_second=false", name="alone") as outputs:
        assert outputs["role"] == "painter"
        assert not outputs.get("second_role")


def test_09_sequence(cloud: Any) -> None:
    with stack(cloud, "09-sequence.yaml", name="steps") as outputs:
        assert outputs["order"] == "install,start 1.10,"


def test_10_ansible_project(cloud: Any) -> None:
    with stack(cloud, "10-ansible-project.yaml", name="project") as outputs:
        assert outputs["letter"] == "Mars has Phobos and Deimos."
        assert str(outputs["moons"]) == "2"


def test_12_tosca(cloud: Any) -> None:
    """OpenStack's own client refuses TOSCA before it asks the server."""
    template = str(EXAMPLES / "12-tosca.yaml")
    create = [cloud.calor, "stack", "create", "--dev", str(cloud.state), "--wait", "-t", template, "tosca"]
    made = subprocess.run(create, capture_output=True, text=True, timeout=600)
    assert made.returncode == 0, f"{made.stdout}\n{made.stderr}\n{cloud.tail()}"
    outputs = cloud.outputs("tosca")
    assert outputs["said"] == "the message of the day is hello from TOSCA"
    assert outputs["address"] in cloud.openstack("server", "list", "-f", "value", "-c", "Networks")
    assert cloud.json("stack", "template", "show", "tosca")["heat_template_version"] == "2013-05-23"
    cloud.openstack("stack", "delete", "--yes", "--wait", "tosca")


def test_13_cfn_init(cloud: Any) -> None:
    with stack(cloud, "13-cfn-init.yaml", name="init") as outputs:
        assert json.loads(outputs["Size"]) == {"size": str(len("Hello from cfn-init"))}
        assert outputs["Address"] in cloud.openstack("server", "list", "-f", "value", "-c", "Networks")


def test_demo(cloud: Any) -> None:
    with stack(cloud, "demo.yaml", "--parameter", "word=abracadabra", name="demo") as outputs:
        digest = hashlib.sha256(b"abracadabra").hexdigest()
        assert outputs["digest"] == digest
        assert outputs["sentence"] == f"abracadabra is known here as {digest[:12]}"
        assert outputs["said"].startswith("hello from ")
        assert outputs["user_data_ran"].endswith("Z")


def test_each_example_is_in_the_tour_and_in_a_test() -> None:
    tour = (EXAMPLES / "README.md").read_text()
    here = Path(__file__).read_text() + (EXAMPLES.parent / "tests/progress/test_progress_live.py").read_text()
    templates = {path.name for path in EXAMPLES.glob("*.yaml")}
    assert templates == set(re.findall(r"`([\w-]+\.yaml)`", tour))
    assert templates - {"worker.yaml"} <= set(re.findall(r"[\w-]+\.yaml", here))  # which is a part of 07 and 08
