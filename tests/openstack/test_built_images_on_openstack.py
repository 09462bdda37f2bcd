"""Images of `calor image build` in real guests: deployments by script and by Ansible complete, agent baked or fetched.

CALOR_BAKED and CALOR_FETCHED name the two images in the cloud; scripts/test-openstack and scripts/test-vm build and
upload them.
"""

import os
import time
from typing import Any

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
]  # openstacksdk of itself
IMAGES = {"baked": os.environ.get("CALOR_BAKED", ""), "fetched": os.environ.get("CALOR_FETCHED", "")}
LIMIT_MINUTES = 30  # software emulation, beside other load

SCRIPT = """\
#!/bin/sh
set -e
agent=$(command -v calor-agent) && ! grep -q " tool calor-agent " "$agent" && way=baked || way=fetched
printf %s "$way" >"$heat_outputs_path.agent"
printf %s "$word" | sha256sum | cut -d ' ' -f 1 | tr -d '\\n' >"$heat_outputs_path.digest"
printf %s "$(systemctl is-active calor-agent.service) $(uname -r)" >"$heat_outputs_path.machine"
"""
PLAYBOOK = """\
- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.copy:
        content: "{{ word | upper }}"
        dest: /root/word
    - ansible.builtin.slurp:
        src: /root/word
      register: seen
    - ansible.builtin.copy:
        content: "{{ seen.content | b64decode }}"
        dest: "{{ heat_outputs_path }}.shouted"
"""


def template(image: str, flavor: str, zone: str) -> dict[str, Any]:
    def config(group: str, text: str, *outputs: str) -> dict[str, Any]:
        return {
            "type": "OS::Heat::SoftwareConfig",
            "properties": {
                "group": group,
                "inputs": [{"name": "word"}],
                "outputs": [{"name": one} for one in outputs],
                "config": text,
            },
        }

    def deployment(name: str) -> dict[str, Any]:
        return {
            "type": "OS::Heat::SoftwareDeployment",
            "properties": {
                "config": {"get_resource": name},
                "server": {"get_resource": "server"},
                "input_values": {"word": {"get_attr": ["word", "value"]}},
            },
        }

    outputs = {"agent": "by_script", "digest": "by_script", "machine": "by_script", "shouted": "by_ansible"}
    return {
        "heat_template_version": "2018-08-31",
        "resources": {
            "word": {"type": "OS::Heat::RandomString", "properties": {"length": 12}},
            "script": config("script", SCRIPT, "agent", "digest", "machine"),
            "ansible": config("ansible", PLAYBOOK, "shouted"),
            "by_script": deployment("script"),
            "by_ansible": deployment("ansible"),
            "server": {
                "type": "OS::Nova::Server",
                "properties": {
                    "image": image,
                    "flavor": flavor,
                    "availability_zone": zone,
                    "networks": [{"network": "private"}],
                    "user_data_format": "SOFTWARE_CONFIG",
                },
            },
        },
        "outputs": {
            "word": {"value": {"get_attr": ["word", "value"]}},
            **{name: {"value": {"get_attr": [resource, name]}} for name, resource in outputs.items()},
        },
    }


@pytest.mark.parametrize("way", sorted(IMAGES))
def test_a_script_and_a_playbook_complete_in_a_machine_that_boots_the_built_image(
    way: str, lab: Any, cli: Any, stacks: Any, record_property: Any
) -> None:
    if not IMAGES[way] or lab.place.guest is None:
        pytest.skip(f"no image with the agent {way} was built for this cloud")
    _stock, flavor, zone = lab.place.guest
    began = time.monotonic()
    name = stacks.create(
        way, template(IMAGES[way], flavor, zone), "--timeout", str(LIMIT_MINUTES), limit=LIMIT_MINUTES * 60
    )
    took, seen = time.monotonic() - began, cli.outputs(name)
    record_property("seconds", round(took))
    print(f"\nagent {way}: both deployments complete after {took:.0f} s in {seen['machine']}")
    assert seen["agent"] == way
    assert seen["machine"].startswith("active ")
    assert seen["shouted"] == seen["word"].upper()
    assert len(seen["digest"]) == 64
    machine = cli.connection().compute.get_server(cli.physical(name)["server"])
    assert machine.status == "ACTIVE"
    stacks.delete(name)
