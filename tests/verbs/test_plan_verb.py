"""`calor stack plan` against a whole server: what is lost is told first, and an update is bound to what was seen."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow]

TEMPLATE = """
heat_template_version: 2021-04-16
parameters:
  password: {type: string, hidden: true, default: first-secret}
  flavor: {type: string, default: m1.tiny}
resources:
  server:
    type: OS::Nova::Server
    properties: {image: IMAGE, flavor: {get_param: flavor}, networks: [{network: private}]}
  volume: {type: OS::Cinder::Volume, properties: {size: 1}}
  value: {type: OS::Heat::Value, properties: {value: {get_param: password}}}
  first: {type: OS::Heat::Value, properties: {value: {get_attr: [server, first_address]}}}
"""


def calor(cloud: Any, *words: str) -> subprocess.CompletedProcess[str]:
    command = [cloud.calor, "stack", words[0], "--dev", str(cloud.state), *words[1:]]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_f120_a_plan_is_shown_bound_and_refused_when_old(record_cloud: Any, tmp_path: Path) -> None:
    cloud = record_cloud
    image = cloud.json("image", "list")[0]["Name"]
    file = tmp_path / "planned.yaml"
    file.write_text(TEMPLATE.replace("IMAGE", image))
    first = calor(cloud, "plan", "planned", "-t", str(file))
    assert "4 to create, 0 to update, 0 to replace, 0 to delete, 0 unchanged." in first.stdout, first.stderr
    assert "value: (known after create)" in first.stdout
    cloud.openstack("stack", "create", "-t", str(file), "--wait", "planned")
    same = calor(cloud, "plan", "planned", "-t", str(file), "--detailed-exitcode")
    assert (same.returncode, same.stdout) == (0, "0 to create, 0 to update, 0 to replace, 0 to delete, 4 unchanged.\n")

    changed = file.read_text().replace("networks: [", "availability_zone: nova, networks: [")
    file.write_text(changed.replace("  volume: {type: OS::Cinder::Volume, properties: {size: 1}}\n", ""))
    more = ("-t", str(file), "--parameter", "password=second-secret")
    shown = calor(cloud, "plan", "planned", *more, "--detailed-exitcode")
    lines = shown.stdout.splitlines()
    assert shown.returncode == 2
    assert lines[0] == "DESTROYS DATA in 2 resources: server, volume"
    assert lines[1] == "0 to create, 2 to update, 1 to replace, 1 to delete, 0 unchanged."
    assert "    because the property 'availability_zone' cannot be updated in place" in lines
    assert '    availability_zone: null → "nova"  (forces replacement)' in lines
    assert "second-secret" not in shown.stdout
    as_json = json.loads(calor(cloud, "plan", "planned", *more, "--format", "json").stdout)
    assert as_json["counts"]["destroys_data"] == 2

    other = calor(cloud, "update", "planned", *more, "--parameter", "flavor=m1.small", "--plan", as_json["id"])
    assert other.returncode == 1
    assert "have changed since the plan" in other.stderr
    done = calor(cloud, "update", "planned", *more, "--plan", as_json["id"], "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    assert cloud.json("stack", "show", "planned")["stack_status"] == "UPDATE_COMPLETE"
    late = calor(cloud, "update", "planned", *more, "--plan", as_json["id"])
    assert late.returncode == 1
    cloud.openstack("stack", "delete", "--yes", "--wait", "planned")
