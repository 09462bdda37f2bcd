"""Images of `calor image build` in real guests: deployments by script and by Ansible complete, agent baked or fetched;
cfn-init and cfn-hup with the systemd that runs there.

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

SERVICES = """\
#!/bin/sh
set -e
state() { systemctl show --value -p "$1" calor-probe.service; }
cfn-init -s "$stack" -r server
first=$(state MainPID)
cfn-init -s "$stack" -r server | tail -n 1 >/run/second
test "$first" = "$(state MainPID)"
systemctl stop calor-probe.service
cfn-init -s "$stack" -r server | tail -n 1 >/run/third
test "$first" != "$(state MainPID)"
printf %s "$(state UnitFileState) $(state ActiveState); $(cat /run/second); $(cat /run/third)" \
    >"$heat_outputs_path.services"
"""
PROBE = """\
[Service]
ExecStart=/bin/sh -c 'echo "the probe reads $(cat /etc/calor-probe.conf)" >/dev/console; exec sleep infinity'
[Install]
WantedBy=multi-user.target
"""
HOOK = """\
[init]
triggers=post.update
path=Resources.server.Metadata.AWS::CloudFormation::Init
action=cfn-init -s STACK -r server
"""


def metadata(word: str) -> dict[str, Any]:
    """A service that is started again when its file changes; cfn-hup sees to that, by a unit that cfn-init makes."""

    def named(text: str) -> dict[str, Any]:
        return {"str_replace": {"template": text, "params": {"STACK": {"get_param": "OS::stack_name"}}}}

    files = {
        "/etc/calor-probe.conf": word,
        "/etc/systemd/system/calor-probe.service": PROBE,
        "/etc/cfn/cfn-hup.conf": named("[main]\nstack=STACK\ninterval=1\n"),
        "/etc/cfn/hooks.d/init.conf": named(HOOK),
    }
    services = {
        "calor-probe": {"enabled": True, "ensureRunning": True, "files": ["/etc/calor-probe.conf"]},
        "cfn-hup": {"enabled": True, "ensureRunning": True, "files": ["/etc/cfn/cfn-hup.conf"]},
    }
    config = {
        "files": {path: {"content": content} for path, content in files.items()},
        "services": {"systemd": services},
    }
    return {"AWS::CloudFormation::Init": {"config": config}}


def template(image: str, flavor: str, zone: str, word: str = "one") -> dict[str, Any]:
    def config(group: str, text: str, *outputs: str) -> dict[str, Any]:
        return {
            "type": "OS::Heat::SoftwareConfig",
            "properties": {
                "group": group,
                "inputs": [{"name": "word"}, {"name": "stack"}],
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
                "input_values": {
                    "word": {"get_attr": ["word", "value"]},
                    "stack": {"get_param": "OS::stack_name"},
                },
            },
        }

    outputs = {"agent": "by_script", "digest": "by_script", "machine": "by_script", "shouted": "by_ansible"}
    outputs["services"] = "by_cfn_init"
    return {
        "heat_template_version": "2018-08-31",
        "resources": {
            "word": {"type": "OS::Heat::RandomString", "properties": {"length": 12}},
            "script": config("script", SCRIPT, "agent", "digest", "machine"),
            "ansible": config("ansible", PLAYBOOK, "shouted"),
            "cfn_init": config("script", SERVICES, "services"),
            "by_script": deployment("script"),
            "by_cfn_init": deployment("cfn_init"),
            "by_ansible": deployment("ansible"),
            "server": {
                "type": "OS::Nova::Server",
                "metadata": metadata(word),
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
def test_what_is_deployed_runs_in_a_machine_that_boots_the_built_image(
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
    assert seen["services"] == "enabled active; nothing changed; services: 1 changed, 1 unchanged"
    stacks.update(name, template(IMAGES[way], flavor, zone, word="two"))
    until = time.monotonic() + LIMIT_MINUTES * 60
    while "the probe reads two" not in (said := cli.openstack("console", "log", "show", machine.id)):
        assert time.monotonic() < until, said[-3000:]
        time.sleep(5)
    assert said.count("the probe reads one") == 2
    stacks.delete(name)
