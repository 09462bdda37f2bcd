"""The ansible hook with the real ansible-playbook: inputs, outputs, options, failures a person can read."""

import json
import os
import sys
from pathlib import Path

import pytest

TOOLS = str(Path(sys.executable).parent)

PLAYBOOK = """
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: greet
      tags: [greet]
      copy:
        content: "{{ greeting }} {{ numbers[1] }}"
        dest: "{{ heat_outputs_path }}.said"
    - name: tell
      tags: [tell]
      debug:
        msg: "config {{ heat_config_id }}"
"""

FAILING = """
- hosts: localhost
  gather_facts: false
  tasks:
    - name: harmless
      command: /bin/false
      ignore_errors: true
    - name: place the licence
      command: /bin/sh -c 'echo no licence >&2; exit 7'
"""


@pytest.fixture
def with_ansible(guest):
    guest.environment["PATH"] = f"{TOOLS}:/usr/sbin:/usr/bin:/sbin:/bin"
    guest.environment["ANSIBLE_FORCE_COLOR"] = "1"
    return guest


@pytest.fixture(params=["runner", "playbook"])
def either_way(request, with_ansible):
    """By ansible-runner, and where no interpreter has it."""
    if request.param == "playbook":
        shadow = with_ansible.root / "shadow"
        shadow.mkdir()
        wrapper = shadow / "ansible-playbook"
        wrapper.write_text(f'#!/bin/sh\nexec {TOOLS}/ansible-playbook "$@"\n')
        wrapper.chmod(0o755)
        python = shadow / "python3"
        python.symlink_to("/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable)
        with_ansible.environment["PATH"] = f"{shadow}:/usr/bin:/bin"
    return with_ansible


@pytest.mark.slow
def test_playbook_gets_variables_and_hands_back_outputs(server, either_way, deployment):
    inputs = {"greeting": "hällo", "numbers": [1, 2], "deploy_action": "CREATE"}
    server.deploy(deployment("p", PLAYBOOK, group="ansible", inputs=inputs, outputs=["said"]))
    either_way.start()
    done = server.result("run-p", 60)
    assert done["outputs"]["deploy_status_code"] == 0, done
    assert done["outputs"]["said"] == "hällo 2"
    assert "config config-p" in done["outputs"]["deploy_stdout"]
    assert "\\u001b" not in json.dumps(done)
    driver = either_way.state / "runs/run-p/attempt-1/driver.py"
    assert driver.exists() == ("shadow" not in either_way.environment["PATH"])


@pytest.mark.slow
def test_f076_a_failing_task_is_the_reason_without_colour_codes(server, either_way, deployment):
    server.deploy(deployment("f", FAILING, group="ansible"))
    either_way.start()
    done = server.result("run-f", 60)
    assert done["outputs"]["deploy_status_code"] == 2
    assert done["reason"].startswith("task place the licence on localhost: ")
    assert "no licence" in done["reason"]
    assert "harmless" not in done["reason"]
    assert "\\u001b" not in json.dumps(done)
    assert "place the licence" in done["outputs"]["deploy_stdout"]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "yaml"])
def test_f076_a_failing_task_is_the_reason_where_ansible_loads_no_plugin(server, with_ansible, deployment, form):
    """A program of the image, as HEAT_ANSIBLE_CMD, that lets no callback plug-in in."""
    wrapper = with_ansible.root / "strict-playbook"
    wrapper.write_text(
        f"#!/bin/sh\nexport ANSIBLE_CALLBACK_PLUGINS= ANSIBLE_CALLBACK_RESULT_FORMAT={form}\n"
        f'exec {TOOLS}/ansible-playbook "$@"\n'
    )
    wrapper.chmod(0o755)
    with_ansible.environment["HEAT_ANSIBLE_CMD"] = str(wrapper)
    playbook = FAILING.replace("echo no licence >&2", "echo no licence >&2; echo none at all >&2")
    server.deploy(deployment("n", playbook, group="ansible"))
    with_ansible.start()
    done = server.result("run-n", 60)
    assert done["outputs"]["deploy_status_code"] == 2
    assert done["reason"].startswith("task place the licence on localhost: "), done["reason"]
    assert "non-zero return code" in done["reason"], "its words differ from version to version"
    if form == "json":
        assert "no licence\nnone at all" in done["reason"]
    assert "harmless" not in done["reason"]
    assert "TASK [" not in done["reason"]


@pytest.mark.slow
def test_f075_options_and_a_vault_password_that_nobody_sees(server, with_ansible, deployment):
    options = {
        "tags": "tell",
        "inventory": "[web]\nlocalhost ansible_connection=local\n",
        "limit": "web",
        "verbosity": 1,
    }
    inputs = {"greeting": "x", "numbers": [0, 0], "ansible_vault_password": "open-sesame"}
    server.deploy(deployment("o", PLAYBOOK, group="ansible", inputs=inputs, outputs=["said"], options=options))
    with_ansible.start()
    done = server.result("run-o", 60)
    assert done["outputs"]["deploy_status_code"] == 0, done
    assert "said" not in done["outputs"]
    assert "config config-o" in done["outputs"]["deploy_stdout"]
    assert "open-sesame" not in json.dumps(done)
    working = with_ansible.root / "var/lib/heat-config/heat-config-ansible"
    assert "open-sesame" not in "".join(p.read_text() for p in working.iterdir() if p.is_file())


@pytest.mark.slow
def test_heat_ansible_variables_are_honoured(server, with_ansible, deployment):
    working = with_ansible.root / "elsewhere"
    with_ansible.environment.update(HEAT_ANSIBLE_WORKING=str(working), HEAT_ANSIBLE_CMD="my-ansible")
    tool = with_ansible.root / "bin/my-ansible"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\necho "called: $@"\n')
    tool.chmod(0o755)
    with_ansible.environment["PATH"] = f"{tool.parent}:/usr/bin:/bin"
    server.deploy(deployment("h", PLAYBOOK, group="ansible"))
    with_ansible.start()
    said = server.result("run-h")["outputs"]["deploy_stdout"]
    assert said.startswith("called: -i localhost, --extra-vars @")
    assert said.rstrip().endswith(f"{working}/config-h_playbook.yaml")
    assert (working / "config-h_playbook.yaml").stat().st_mode & 0o777 == 0o600


def test_f055_ansible_absent_is_a_failure_that_says_so(server, guest, deployment):
    tools = guest.root / "tools"
    tools.mkdir()
    guest.environment["PATH"] = str(tools)
    server.deploy(deployment("n", PLAYBOOK, group="ansible"))
    guest.start()
    done = server.result("run-n")
    missing = "ansible-playbook not found; it comes with package ansible-core or ansible"
    assert done["reason"] == missing
    assert done["outputs"]["deploy_status_code"] == 127
    assert done["outputs"]["deploy_stderr"] == missing
