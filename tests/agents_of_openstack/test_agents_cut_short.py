"""F054 side by side: an instance that reboots in the middle of a script. OpenStack's agents, unmodified, mark a config
as deployed before they begin, pass it over from then on and signal nothing; ours says at once what has happened."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.root]

SCRIPT = "#!/bin/sh\necho begun\ntouch /root/begun\nsleep 600\n"


def template(image: str) -> dict[str, Any]:
    collect = {"polling_interval": 1, "command": "env LC_ALL=C.UTF-8 os-refresh-config"}
    properties = {
        "image": image,
        "flavor": "m1.small",
        "networks": [{"network": "private"}],
        "user_data_format": "SOFTWARE_CONFIG",
    }
    deployment = {"config": {"get_resource": "config"}, "server": {"get_resource": "server"}}
    return {
        "heat_template_version": "2018-08-31",
        "resources": {
            "server": {
                "type": "OS::Nova::Server",
                "metadata": {"os-collect-config": collect},
                "properties": properties,
            },
            "config": {"type": "OS::Heat::SoftwareConfig", "properties": {"group": "script", "config": SCRIPT}},
            "deployment": {"type": "OS::Heat::SoftwareDeployment", "properties": deployment},
        },
    }


@pytest.fixture
def rebooted(cloud: Any, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Server by stack, each rebooted in the middle of its script; both are waited for at once."""
    servers: dict[str, str] = {}
    names = {"cut-ours": "host", "cut-theirs": "openstack-agents"}
    for name, image in names.items():
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(template(image)))
        cloud.openstack("stack", "create", "-t", str(path), name)
    for name in names:
        until(lambda name=name: server_of(cloud, name))
        servers[name] = server_of(cloud, name)
        until(
            lambda name=name: inside(cloud, servers[name], "test -e /root/begun && echo yes || true").strip() == "yes"
        )
        cloud.openstack("server", "reboot", "--hard", servers[name])
    yield servers
    for name in names:
        cloud.openstack("stack", "delete", "--yes", "--wait", name)


def server_of(cloud: Any, name: str) -> str:
    found = cloud.run("stack", "resource", "show", name, "server", "-f", "json")
    return str(json.loads(found.stdout).get("physical_resource_id") or "") if found.returncode == 0 else ""


def inside(cloud: Any, server: str, command: str) -> str:
    return str(cloud.calor_dev("shell", server, "--", "/bin/sh", "-c", command))


def until(test: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not test():
        assert time.monotonic() < end
        time.sleep(0.5)


def test_f054_a_reboot_in_mid_script_is_told_by_ours_and_never_by_theirs(cloud: Any, rebooted: dict[str, str]) -> None:
    shown: dict[str, Any] = {}

    def failed() -> bool:
        shown.update(cloud.json("stack", "show", "cut-ours"))
        return bool(shown["stack_status"] == "CREATE_FAILED")

    until(failed)
    assert "interrupted" in shown["stack_status_reason"]
    assert "begun" in shown["stack_status_reason"]

    def passed_over() -> bool:
        log = inside(cloud, rebooted["cut-theirs"], "cat /var/log/os-collect-config.log")
        return "already deployed" in log

    until(passed_over)
    assert cloud.json("stack", "show", "cut-theirs")["stack_status"] == "CREATE_IN_PROGRESS", "and so for an hour"
