"""A secret that a deployment is given: where it may be found afterwards, from inside the instance and from outside."""

import json
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = [pytest.mark.slow, pytest.mark.root]

SECRET = "Kn0wn-t0-n0b0dy-else"
SCRIPT = '#!/bin/sh\numask 077\necho -n "$word" >/root/wanted\necho "the word has ${#word} letters"\n'
TEMPLATE = {
    "heat_template_version": "2018-08-31",
    "parameters": {"word": {"type": "string", "hidden": True}},
    "resources": {
        "server": {
            "type": "OS::Nova::Server",
            "properties": {
                "image": "host",
                "flavor": "m1.tiny",
                "networks": [{"network": "private"}],
                "user_data_format": "SOFTWARE_CONFIG",
            },
        },
        "config": {
            "type": "OS::Heat::SoftwareConfig",
            "properties": {"group": "script", "inputs": [{"name": "word"}], "config": SCRIPT},
        },
        "deployment": {
            "type": "OS::Heat::SoftwareDeployment",
            "properties": {
                "config": {"get_resource": "config"},
                "server": {"get_resource": "server"},
                "input_values": {"word": {"get_param": "word"}},
            },
        },
    },
    "outputs": {"said": {"value": {"get_attr": ["deployment", "deploy_stdout"]}}},
}
LOOK = f"grep -rlI --exclude-dir=proc --exclude-dir=sys --exclude-dir=dev --exclude-dir=usr -e {SECRET} / 2>/dev/null"


def test_f101_a_hidden_value_is_in_private_files_and_in_no_log_or_answer(cloud: Any, tmp_path: Path) -> None:
    path = tmp_path / "secret.yaml"
    path.write_text(yaml.safe_dump(TEMPLATE))
    cloud.openstack("stack", "create", "--wait", "-t", str(path), "--parameter", f"word={SECRET}", "secret")
    try:
        assert cloud.outputs("secret")["said"].strip() == f"the word has {len(SECRET)} letters"
        server = str(cloud.json("stack", "resource", "show", "secret", "server")["physical_resource_id"])
        found = inside(cloud, server, f"{LOOK}; true").splitlines()
        assert "/root/wanted" in found
        for file in found:
            mode = inside(cloud, server, f"stat -c '%a %u' {file}").split()
            assert int(mode[0], 8) & (stat.S_IRWXG | stat.S_IRWXO) == 0, f"{file} is for others too"
            assert mode[1] == "0"
            assert not file.startswith(("/var/log", "/run/cloud-init", "/var/lib/cloud")), file
        asked = [
            cloud.openstack("stack", "show", "secret", "-f", "json"),
            cloud.openstack("stack", "environment", "show", "secret"),
            cloud.openstack("stack", "event", "list", "-f", "json", "secret"),
            cloud.openstack("stack", "resource", "show", "-f", "json", "secret", "deployment"),
            cloud.openstack("console", "log", "show", server),
            json.dumps(cloud.json("server", "show", server)),
            cloud.tail(10_000_000),
        ]
        assert [number for number, text in enumerate(asked) if SECRET in text] == []
        for database in cloud.state.glob("calor.sqlite*"):
            assert SECRET.encode() not in database.read_bytes(), database
        for user_data in (cloud.state / "servers" / server).glob("*.json"):
            assert SECRET.encode() not in user_data.read_bytes(), user_data
    finally:
        cloud.openstack("stack", "delete", "--yes", "--wait", "secret")


def inside(cloud: Any, server: str, command: str) -> str:
    words = ("dev", "--state-dir", str(cloud.state), "shell", server, "--", "/bin/sh", "-c", command)
    answer = subprocess.run([cloud.calor, *words], capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout
