"""Calor's own verbs as commands of the real `openstack` client: the same options, the same answers, the same code."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

HOT = """heat_template_version: 2021-04-16
parameters: {length: {type: number, default: 8}}
resources:
  text: {type: OS::Heat::RandomString, properties: {length: {get_param: length}}}
  slow: {type: OS::Heat::TestResource, properties: {value: x, wait_secs: 1}}
"""
RESTRICTED = "resource_registry: {resources: {text: {restricted_actions: replace}}}\n"


def calor(cloud: Any, *words: str) -> subprocess.CompletedProcess[str]:
    command = [cloud.calor, "stack", words[0], "--dev", str(cloud.state), *words[1:]]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "t.yaml").write_text(HOT)
    (tmp_path / "env.yaml").write_text(RESTRICTED)
    (tmp_path / "bad.yaml").write_text(HOT.replace("{length: {get", "{lenght: {get"))
    return tmp_path


@pytest.mark.slow
def test_a_stack_is_planned_applied_watched_and_guarded_by_openstack(record_cloud: Any, files: Path) -> None:
    cloud, template, environment = record_cloud, str(files / "t.yaml"), str(files / "env.yaml")
    refused = cloud.run("stack", "plan", "plugged", "-t", str(files / "bad.yaml"))
    assert refused.returncode == 1
    assert (
        "There is no property 'lenght' (did you mean 'length'?). [unknown-property]\n    4 |   text:" in refused.stderr
    )
    shown = cloud.run("stack", "plan", "plugged", "-t", template)
    assert "2 to create, 0 to update" in shown.stdout, shown.stderr
    command = shown.stdout.splitlines()[-1]
    assert command.startswith("To do exactly this: calor stack create --plan ")
    plan = command.partition("--plan ")[2].split()[0]
    made = calor(cloud, "create", "plugged", "-t", template, "--plan", plan, "--wait")
    assert made.returncode == 0, made.stderr
    again = calor(cloud, "create", "plugged", "-t", template, "--plan", plan)
    assert (again.returncode, "already exists" in again.stderr) == (1, True)
    same = cloud.run("stack", "plan", "plugged", "-t", template, "--detailed-exitcode", "--format", "json")
    assert (same.returncode, json.loads(same.stdout)["counts"]["none"]) == (0, 2)

    words = ("stack", "apply", "plugged", "-t", template, "-e", environment, "--parameter", "length=9")
    guarded = cloud.run(*words)
    assert guarded.returncode == 1
    assert "resources.text: The plan is to replace this resource" in guarded.stderr
    assert "[restricted-action]" in guarded.stderr
    assert cloud.json("stack", "show", "plugged")["stack_status"] == "CREATE_COMPLETE"
    assert cloud.run(*words, "--allow-replace", "text").returncode == 0
    watched = cloud.run("stack", "watch", "plugged")
    assert (watched.returncode, "plugged: UPDATE_COMPLETE" in watched.stdout) == (0, True), watched.stderr
    assert cloud.run("stack", "logs", "plugged").returncode == 0
    nothing = cloud.run("stack", "deployment", "cancel", "nosuch", "--stack", "plugged")
    assert nothing.returncode == 1
    assert "nosuch" in nothing.stderr
    cloud.openstack("stack", "delete", "--yes", "--wait", "plugged")


@pytest.mark.slow
def test_a_template_is_checked_by_openstack_without_a_cloud(record_cloud: Any, files: Path) -> None:
    found = record_cloud.run("stack", "validate", str(files / "bad.yaml"), "--format", "json")
    assert found.returncode == 1
    (problem,) = json.loads(found.stdout)["problems"]
    assert (problem["code"], problem["line"], problem["did_you_mean"]) == ("unknown-property", 4, ["length"])
