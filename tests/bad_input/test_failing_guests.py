"""What goes wrong inside an instance is said in the stack's failure, in time, by the instance's own last words."""

import time
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.root]

LONG = '#!/bin/sh\necho begun\ntouch /run/begun\nsleep {}\necho ended\necho -n "$$" > ${{heat_outputs_path}}.said\n'
START_AGENT = "setsid /bin/sh /var/lib/cloud/scripts/per-boot/*calor* </dev/null >/dev/null 2>&1"
KILL_AGENT = "pkill -9 -f '[a]gent.*pyz run'"


def test_a_script_that_exits_3_fails_with_its_code_and_last_lines(wrong: Any) -> None:
    script = "#!/bin/sh\nfor n in 1 2 3; do echo out $n; done\necho the disk is on fire >&2\nexit 3\n"
    wrong.begin("exits", wrong.deploying(script))
    said = wrong.failure("exits")
    assert "exits.deployment" in said
    assert "exit code 3" in said or "status code 3" in said or "non-zero status code: 3" in said
    assert "the disk is on fire" in said
    reason = wrong.heat.get("/stacks/exits").json()["stack"]["stack_status_reason"]
    assert "the disk is on fire" in reason
    wrong.delete("exits")


def test_f053_a_missing_hook_is_reported_at_once_with_the_hooks_that_there_are(wrong: Any) -> None:
    wrong.begin("hookless", wrong.deploying("x", group="nosuch"))
    said = wrong.failure("hookless", 60)
    assert "no hook for group nosuch" in said
    assert "script" in said
    assert "ansible" in said
    wrong.delete("hookless")


def test_f055_a_guest_without_ansible_fails_its_playbooks(wrong: Any) -> None:
    hide = "#cloud-config\nbootcmd:\n- rm -f /usr/bin/ansible-playbook\n"
    playbook = "- hosts: localhost\n  tasks: []\n"
    wrong.begin("without", wrong.deploying(playbook, group="ansible", user_data=hide))
    assert "ansible-playbook not found" in wrong.failure("without", 60)
    wrong.delete("without")


def test_f054_an_agent_killed_in_mid_script_loses_nothing(wrong: Any) -> None:
    wrong.begin("killed", wrong.deploying(LONG.format(4)))
    wrong.eventually("killed", "test -e /run/begun")
    wrong.inside("killed", KILL_AGENT)
    wrong.inside("killed", "test -e /run/begun; sleep 5")
    wrong.inside("killed", START_AGENT)
    assert wrong.ended("killed", 60) == "CREATE_COMPLETE"
    number = wrong.cloud.outputs("killed")["said"]
    assert number.isdigit(), "the script ran to its end, once"
    assert wrong.inside("killed", "grep -c begun /var/lib/calor/runs/*/attempt-*/stdout").strip() == "1"
    wrong.delete("killed")


@pytest.mark.parametrize("how", ["--hard", "--soft"])
def test_f054_an_instance_rebooted_in_mid_script_says_interrupted_at_once(wrong: Any, how: str) -> None:
    wrong.begin("rebooted", wrong.deploying(LONG.format(300)))
    wrong.eventually("rebooted", "test -e /run/begun")
    wrong.cloud.openstack("server", "reboot", how, wrong.server_of("rebooted"))
    begun = time.monotonic()
    said = wrong.failure("rebooted", 60)
    assert "interrupted" in said
    assert "begun" in said, "the last output"
    assert time.monotonic() - begun < 30
    wrong.delete("rebooted")


def test_a_retry_policy_runs_an_interrupted_script_again(wrong: Any) -> None:
    script = "#!/bin/sh\ntouch /run/begun\n[ -e /root/second ] && exit 0\ntouch /root/second\nsleep 300\n"
    wrong.begin("again", wrong.deploying(script, options={"retries": 1}))
    wrong.eventually("again", "test -e /run/begun")
    wrong.cloud.openstack("server", "reboot", "--hard", wrong.server_of("again"))
    assert wrong.ended("again", 60) == "CREATE_COMPLETE"
    wrong.delete("again")


def test_f050_a_hook_that_hangs_ends_at_its_time_out_with_its_last_output(wrong: Any) -> None:
    wrong.begin("hangs", wrong.deploying(LONG.format(600), options={"timeout": 3}))
    said = wrong.failure("hangs", 60)
    assert "did not end within its 3 seconds" in said
    assert "begun" in said
    wrong.delete("hangs")
