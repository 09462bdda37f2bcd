"""The scenarios of Heat's own functional tests that configure servers from inside: their templates, unmodified, with
files of ours where the corpus lacks them."""

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running_stacks import inside, server_of, stack

pytestmark = [pytest.mark.slow, pytest.mark.root]

SCENARIOS = "corpus/openstack__heat-tempest-plugin/heat_tempest_plugin/tests/scenario/templates"
GIVEN = {"key_name": "demo", "flavor": "m1.small", "image": "host"}
SCRIPT = """\
#!/bin/sh -x
echo "Writing to /tmp/$bar"
echo $foo >/tmp/$bar
printf 'The file /tmp/%s contains %s for server %s during %s' $bar "`cat /tmp/$bar`" $deploy_server_id $deploy_action \\
  >$heat_outputs_path.result
echo "Written to /tmp/$bar"
echo "Output to stderr" 1>&2
"""
MANIFEST = """\
file { "/tmp/${facts['bar']}": ensure => file, mode => '0644', content => $facts['foo'] }
-> file { "${facts['heat_outputs_path']}.result": ensure => file, mode => '0644', content => "in /tmp/${facts['bar']}" }
"""


@pytest.fixture
def scenario(cloud: Any, shared: Path) -> Iterator[Any]:
    """Make the stack of software configs, its files handed to the API as Heat's test does it; answers its outputs."""
    if shutil.which("puppet", path="/usr/bin:/bin") is None:
        pytest.skip("no puppet")
    connection, made = cloud.connection(), []

    def make(**parameters: str) -> Any:
        name = f"scenario-{len(made)}"
        body = {
            "stack_name": name,
            "template": (shared / SCENARIOS / "test_server_software_config.yaml").read_text(),
            "files": {"/cfg1.sh": SCRIPT, "/cfg3.pp": MANIFEST},
            "environment": {"resource_registry": {"Heat::InstallConfigAgent": "OS::Heat::SoftwareConfig"}},
            "parameters": {**GIVEN, "network": "private", **parameters},
        }
        connection.session.post("/stacks", json=body, endpoint_filter={"service_type": "orchestration"})
        made.append(name)
        until = time.monotonic() + 240
        while (found := cloud.json("stack", "show", name))["stack_status"] == "CREATE_IN_PROGRESS":
            assert time.monotonic() < until, found
            time.sleep(1)
        assert found["stack_status"] == "CREATE_COMPLETE", found["stack_status_reason"]
        return cloud.outputs(name)

    yield make
    for ident in made:
        cloud.openstack("stack", "delete", "--yes", "--wait", ident)
    connection.close()


@pytest.mark.parametrize(
    ("collected", "signalled"), [("POLL_SERVER_CFN", "CFN_SIGNAL"), ("POLL_TEMP_URL", "TEMP_URL_SIGNAL")]
)
def test_script_cfn_init_and_puppet_on_one_server(scenario: Any, cloud: Any, collected: str, signalled: str) -> None:
    """test_server_software_config.yaml: four deployments of three groups, in the order of their names."""
    found = scenario(software_config_transport=collected, signal_transport=signalled)
    server = server_of(cloud, "scenario-0")
    assert found["res1"] == {
        "result": f"The file /tmp/baaaaa contains fooooo for server {server} during CREATE",
        "stdout": "Writing to /tmp/baaaaa\nWritten to /tmp/baaaaa\n",
        "stderr": found["res1"]["stderr"],
        "status_code": found["res1"]["status_code"],
    }
    assert "Output to stderr" in found["res1"]["stderr"]
    wanted = f"The file /tmp/cfn-init-foo contains barrr for server {server} during CREATE"
    assert (found["res2"]["result"], str(found["res2"]["status_code"])) == (wanted, "0")
    assert found["res3"]["result"] == "in /tmp/ba"
    assert inside(cloud, server, "cat /tmp/ba /tmp/cfn-init-foo") == "fobarrr"


def test_cfn_init_and_cfn_signal_of_an_instance(cloud: Any, shared: Path) -> None:
    """test_server_cfn_init.yaml, in the format of CloudFormation, every type of it."""
    given = {**GIVEN, "subnet": "private-subnet", "timeout": "120"}
    with stack(cloud, shared / SCENARIOS / "test_server_cfn_init.yaml", given) as name:
        found = cloud.outputs(name)
        assert json.loads(found["WaitConditionStatus"]) == {"smoke_status": "smoke test complete"}
        assert found["SmokeServerElasticIp"].startswith("172.24.4.")
        keys = "--credential-file /etc/cfn/cfn-credentials"
        asked = inside(
            cloud, server_of(cloud, name, "SmokeServer"), f"cfn-get-metadata -s {name} -r SmokeServer {keys}"
        )
        assert json.loads(asked)["AWS::CloudFormation::Init"]["config"]["files"]["/tmp/smoke-status"]
