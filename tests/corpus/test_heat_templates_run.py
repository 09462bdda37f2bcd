"""Templates of public repositories, unmodified, run to completion through the real `openstack` client.

Only image, flavor, key and network names are given, on the command line, as their authors meant it.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running_stacks import eventually, inside, server_of, stack

pytestmark = [pytest.mark.slow, pytest.mark.root]

HOT = "openstack__heat-templates/hot"
SOFTWARE = f"{HOT}/software-config/example-templates"
SERVER = {"image": "host", "flavor": "m1.tiny", "key_name": "demo"}


def test_hello_world(cloud: Any, shared: Path) -> None:
    template = shared / "corpus" / HOT / "hello_world.yaml"
    with stack(cloud, template, {**SERVER, "admin_pass": "Secret1"}) as name:
        networks = cloud.outputs(name)["server_networks"]
        assert networks["private"][0].startswith("10.0.0.")
        shown = cloud.json("stack", "show", name)
        assert "Secret1" not in json.dumps(shown)


def test_script_deployments_and_their_outputs(cloud: Any, shared: Path) -> None:
    template = shared / "corpus" / SOFTWARE / "example-script-template.yaml"
    with stack(cloud, template, SERVER) as name:
        found = cloud.outputs(name)
        server = server_of(cloud, name)
        assert found["result"] == f"The file /tmp/baaaaa contains fooooo for server {server} during CREATE"
        assert found["other_result"] == f"The file /tmp/barmy contains fu for server {server} during CREATE"
        assert "Written to /tmp/baaaaa" in found["stdout"]
        assert "Output to stderr" in found["stderr"]
        assert str(found["status_code"]) == "0"


def test_ansible_deployments_and_their_outputs(cloud: Any, shared: Path) -> None:
    template = shared / "corpus" / SOFTWARE / "example-ansible-template.yaml"
    with stack(cloud, template, SERVER) as name:
        found = cloud.outputs(name)
        assert found["result"] == "The file /tmp/baaaaa contains fooooo\n"
        assert found["other_result"] == "The file /tmp/barmy contains fu\n"
        assert "Hello touch_file" in found["stdout"]
        assert inside(cloud, server_of(cloud, name), "cat /tmp/baaaaa") == "fooooo\n"


def test_structured_configs_reach_the_instance(cloud: Any, shared: Path) -> None:
    template = shared / "corpus" / SOFTWARE / "example-structured-template.yaml"
    with stack(cloud, template, SERVER) as name:
        server = server_of(cloud, name)
        metadata = cloud.openstack("software", "deployment", "metadata", "show", server)
        assert "fooooo" in metadata
        assert "barmy" in metadata


def test_a_sequence_over_two_servers(cloud: Any, shared: Path) -> None:
    template = shared / "corpus" / SOFTWARE / "example-deploy-sequence.yaml"
    with stack(cloud, template, SERVER) as name:
        found = cloud.outputs(name)
        assert "Previous: NONE" in found["deployment_a_stdout"]
        assert "Previous: Previous: NONE" in found["deployment_b_stdout"]
        assert "deployment_c is running on" in found["deployment_c_stdout"]


def test_a_component_by_heat_transport_and_signal(cloud: Any, shared: Path) -> None:
    template = shared / "corpus" / SOFTWARE / "example-sw-component-template.yaml"
    with stack(cloud, template, SERVER) as name:
        assert cloud.outputs(name)["sw_component_last_action"].strip() == "CREATE"
        cloud.openstack("stack", "suspend", "--wait", name)
        cloud.openstack("stack", "resume", "--wait", name)
        log = inside(cloud, server_of(cloud, name), "cat /tmp/sw-component-actions")
        assert log.split()[0] == "CREATE"


def test_a_group_of_deployments_is_applied_on_each_server(cloud: Any, shared: Path) -> None:
    template = shared / "corpus" / SOFTWARE / "example-software-deploymentgroup-template.yaml"
    more = {"ubuntu_image": "host", "fedora_image": "host", "network": "private"}
    given = {"key_name": "demo", "flavor": "m1.tiny", **more}
    # NO_SIGNAL and inputs without values: the playbook's failure cannot be seen by the stack, only inside.
    with stack(cloud, template, given) as name:
        for resource in ("server_ubuntu", "server_fedora"):
            eventually(
                cloud, server_of(cloud, name, resource), "ls /var/lib/heat-config/heat-config-ansible", "_playbook.yaml"
            )


def test_cloud_init_configs_nested_in_multipart(cloud: Any, shared: Path) -> None:
    template = shared / "corpus" / SOFTWARE / "example-cloud-init.yaml"
    with stack(cloud, template, SERVER) as name:
        server = server_of(cloud, name)
        for number in ("one", "two", "three", "four", "five"):
            eventually(cloud, server, f"cat /tmp/{number}", f"The {number} is bar")


def test_cfn_init_in_name_order(cloud: Any, shared: Path) -> None:
    template = shared / "corpus" / SOFTWARE / "example-cfn-init-template.yaml"
    with stack(cloud, template, SERVER) as name:
        server = server_of(cloud, name)
        assert cloud.outputs(name)["result"] == f"The file /tmp/foo contains barmy for server {server} during CREATE"


def test_native_wait_condition_with_five_distinct_signals(cloud: Any, shared: Path) -> None:
    template = shared / "corpus" / HOT / "native_waitcondition.yaml"
    with stack(cloud, template, SERVER) as name:
        assert cloud.outputs(name)


def test_wait_condition_of_a_server_in_a_created_network(cloud: Any, shared: Path) -> None:
    folder = shared / "corpus/openstack__heat-tempest-plugin/heat_tempest_plugin/tests/scenario/templates"
    given = {**SERVER, "timeout": "120", "subnet_cidr": "10.100.0.0/24"}
    with stack(cloud, folder / "test_server_signal.yaml", given) as name:
        found = cloud.outputs(name)
        assert json.loads(found["wc_data"]) == {"1": "test complete"}
        assert found["server_ip"].startswith("172.24.4.")


VIRTUAL_SERVER = """\
#!/bin/sh
cd /root
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=v -keyout key -out cert
cat >serve.py <<END
import http.server, ssl
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("cert", "key")
server = http.server.HTTPServer(("", 443), http.server.SimpleHTTPRequestHandler)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
END
setsid python3 serve.py </dev/null >log 2>&1 &
"""


@pytest.fixture
def virtual_server(cloud: Any, tmp_path: Path) -> Iterator[str]:
    """The address of an HTTPS server in the private network."""
    user_data = tmp_path / "virtual-server.sh"
    user_data.write_text(VIRTUAL_SERVER)
    words = ("--image", "host", "--flavor", "m1.tiny", "--network", "private", "--user-data", str(user_data))
    ident = str(cloud.json("server", "create", "--wait", *words, "virtual-server")["id"])
    eventually(cloud, ident, "curl -sk https://127.0.0.1", "serve.py")
    yield str(cloud.json("server", "show", ident)["addresses"]["private"][0])
    cloud.openstack("server", "delete", "--wait", ident)


def test_wait_condition_of_a_client_that_has_fetched_from_a_virtual_server(
    cloud: Any, shared: Path, virtual_server: str
) -> None:
    """F5's: the signal goes out only if the fetch went well."""
    folder = shared / "corpus/F5Networks__f5-openstack-heat/unsupported/f5_plugins/heat_composition"
    names = {"client_image": "host", "client_server_flavor": "m1.tiny", "key_name": "demo"}
    network = {"external_network": "public", "client_network": "private", "client_server_sec_group": "default"}
    with stack(cloud, folder / "iapp_client.yaml", {**names, **network, "vs_vip": virtual_server}) as name:
        assert cloud.outputs(name)["client_curl_cli"].startswith("curl -i -X POST")
        condition = cloud.json("stack", "resource", "show", name, "client_wait_condition")
        assert json.loads(condition["attributes"]["data"]) == {"1": None}
        log = inside(cloud, server_of(cloud, name, "client"), "cat /var/log/cloud-init-output.log")
        assert "serve.py" in log


def test_a_volume_attached_to_an_instance(cloud: Any, shared: Path) -> None:
    template = shared / "corpus" / HOT / "vm_with_cinder.yaml"
    with stack(cloud, template, SERVER) as name:
        volume = server_of(cloud, name, "my_vol")
        assert cloud.json("volume", "show", volume)["status"] == "in-use"


def test_servers_with_floating_ips_in_a_new_network(cloud: Any, shared: Path) -> None:
    template = shared / "corpus" / HOT / "servers_in_new_neutron_net.yaml"
    network = {
        "public_net": "public",
        "private_net_name": "corpus-net",
        "private_net_cidr": "10.77.0.0/24",
        "private_net_gateway": "10.77.0.1",
        "private_net_pool_start": "10.77.0.10",
        "private_net_pool_end": "10.77.0.90",
    }
    with stack(cloud, template, {**SERVER, **network}) as name:
        found = cloud.outputs(name)
        assert found["server1_public_ip"].startswith("172.24.4.")
        assert found["server2_private_ip"].startswith("10.77.0.")


def test_a_group_whose_members_have_outputs(cloud: Any, shared: Path) -> None:
    template = shared / "corpus/openstack__heat/rally-scenarios/extra/rg_template_with_outputs.yaml"
    with stack(cloud, template, {}) as name:
        assert len(cloud.outputs(name)) == 10


def test_a_group_of_nested_servers_with_volumes(cloud: Any, shared: Path) -> None:
    template = shared / "corpus" / HOT / "resource_group/server_with_volumes.yaml"
    given = {"image_id": "host", "instance_type": "m1.tiny", "key_name": "demo", "num_volumes": "2"}
    with stack(cloud, template, given) as name:
        kinds = [row["resource_type"] for row in cloud.json("stack", "resource", "list", "-n", "5", name)]
        assert kinds.count("OS::Cinder::VolumeAttachment") == 2


def test_a_group_of_servers_each_with_its_network_and_volume(cloud: Any, shared: Path, tmp_path: Path) -> None:
    # Rally keeps the member's template one folder below the group's.
    folder = shared / "corpus/openstack__rally-openstack/samples/tasks/scenarios/heat/templates"
    template = shutil.copy(folder / "resource-group-server-with-volume.yaml.template", tmp_path / "group.template")
    (tmp_path / "templates").mkdir()
    shutil.copy(folder / "server-with-volume.yaml.template", tmp_path / "templates")
    given = {"num_instances": "3", "instance_image": "host", "instance_flavor": "m1.tiny"}
    with stack(cloud, Path(template), given) as name:
        kinds = [row["resource_type"] for row in cloud.json("stack", "resource", "list", "-n", "5", name)]
        assert kinds.count("OS::Nova::Server") == kinds.count("OS::Cinder::VolumeAttachment") == 3


def test_groups_of_servers_with_flavors_and_floating_ips_of_their_own(cloud: Any, shared: Path) -> None:
    """OPNFV's: three groups of nested templates, which make flavors and so need an administrator."""
    admin = "calor-admin"
    cloud.openstack("keypair", "create", "rapid", cloud=admin)
    for number, name in enumerate(("rapid-data", "rapid-data2")):
        cloud.openstack("network", "create", name, cloud=admin)
        cidr = f"10.66.{number}.0/24"
        cloud.openstack("subnet", "create", "--network", name, "--subnet-range", cidr, name, cloud=admin)
    template = shared / "corpus/opnfv__samplevnf/VNFs/DPPD-PROX/helper-scripts/rapid/openstack-rapid.yaml"
    names = {"mgmt_net_name": "private", "data_net_name": "rapid-data", "data2_net_name": "rapid-data2"}
    given = {"PROX_image": "host", "PROX_key": "rapid", "public_net_name": "public", "security_group": "default"}
    with stack(cloud, template, {**given, **names}, user=admin) as name:
        found = {o["output_key"]: o["output_value"] for o in cloud.json("stack", "show", name, cloud=admin)["outputs"]}
        assert found["server_name"] == [["rapidVM-0", "rapidVM-1"], ["rapidType2VM-0"], ["rapidType3VM-0"]]
        assert all(ip.startswith("172.24.4.") for group in found["mngmt_ips"] for ip in group)
        assert found["data_plane_ips"][1][0][1].startswith("10.66.1.")


TUTORIAL = """\
heat_template_version: 2015-10-15
description: Launch a basic instance.
parameters:
  NetID:
    type: string
    description: Network ID to use for the instance.
resources:
  server:
    type: OS::Nova::Server
    properties:
      image: host
      flavor: m1.tiny
      key_name: demo
      networks:
      - network: { get_param: NetID }
outputs:
  instance_name:
    description: Name of the instance.
    value: { get_attr: [ server, name ] }
  instance_ip:
    description: IP address of the instance.
    value: { get_attr: [ server, first_address ] }
"""


def test_the_template_of_every_tutorial(cloud: Any, tmp_path: Path) -> None:
    template = tmp_path / "demo-template.yaml"
    template.write_text(TUTORIAL)
    network = cloud.json("network", "show", "private")["id"]
    with stack(cloud, template, {"NetID": network}) as name:
        found = cloud.outputs(name)
        assert found["instance_name"].startswith(f"{name}-server-")
        assert found["instance_ip"].startswith("10.0.0.")
