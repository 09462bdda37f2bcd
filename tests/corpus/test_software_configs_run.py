"""Templates with software configuration, unmodified, run to completion through the real `openstack` client.

What the corpus leaves out of a template's files (programs, certificates) and what its authors never published is put
in its place by the test; the template is its author's.
"""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import from_pypi
import pytest
from running_stacks import eventually, inside, server_of, stack

pytestmark = [pytest.mark.slow, pytest.mark.root]

FOLDER = "openstack__heat-templates/hot/software-config"
SERVER = {"image": "host", "flavor": "m1.tiny", "key_name": "demo"}
RESULT = "The file /tmp/baaaaa contains fooooo for server {} during CREATE"


@pytest.fixture
def copied(shared: Path, tmp_path: Path) -> Callable[..., Path]:
    """``copied(folder, name=text, …)``: a folder of the corpus with these files in place of what it leaves out."""

    def copy(folder: str, files: dict[str, str]) -> Path:
        target = tmp_path / "templates"
        shutil.copytree(shared / "corpus" / folder, target)
        for name, text in files.items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_text(text)
        return target

    return copy


@pytest.fixture
def with_heat_agents(shared: Path, tmp_path: Path, pytestconfig: pytest.Config) -> Path:
    """The examples, beside a checkout of heat-agents, from which the boot-config environments read."""
    assert pytestconfig.cache is not None
    agents = from_pypi.heat_agents(pytestconfig.cache.mkdir("agents-of-openstack") / "sdist")
    (tmp_path / "heat-agents").symlink_to(agents)
    found = tmp_path / "heat-templates/hot/software-config"
    shutil.copytree(shared / "corpus" / FOLDER, found)
    return found


BOOT_CONFIGS = (
    "none_env", "test_image_env", "ubuntu_pip_env", "fedora_pip_env", "fedora_yum_env", "centos7_rdo_env",
    "container_agent_env",
)  # fmt: skip


@pytest.mark.parametrize("environment", BOOT_CONFIGS)
def test_a_pristine_image_whatever_its_boot_config(cloud: Any, with_heat_agents: Path, environment: str) -> None:
    """Those that install by yum, docker or from an index fail in an instance without these, and nobody misses them."""
    template = with_heat_agents / "example-templates/example-config-pristine-image.yaml"
    chosen = with_heat_agents / f"boot-config/{environment}.yaml"
    with stack(cloud, template, SERVER, "-e", str(chosen)) as name:
        found = cloud.outputs(name)
        assert found["result"] == RESULT.format(server_of(cloud, name))
        assert found["other_result"].startswith("The file /tmp/barmy contains fu for server")
        assert "Written to /tmp/baaaaa" in found["stdout"]


def test_hello_world_by_heat_transport(cloud: Any, shared: Path) -> None:
    template = shared / "corpus" / FOLDER / "example-templates/cirros-example/cirros-hello-world.yaml"
    with stack(cloud, template, SERVER) as name:
        assert cloud.outputs(name)["deploy_output"] == "Hello, world!\n"


MANIFEST = """\
file { "/tmp/${facts['bar']}": content => $facts['foo'] }
-> exec { 'result': command => "/bin/sh -c 'printf %s \\"it contains `cat /tmp/${facts['bar']}`\\" \
>${facts['heat_outputs_path']}.result'" }
"""


def test_puppet_deployments_and_their_outputs(cloud: Any, copied: Any) -> None:
    if shutil.which("puppet", path="/usr/bin:/bin") is None:
        pytest.skip("no puppet")
    folder = copied(f"{FOLDER}/example-templates", {"config-scripts/example-puppet-manifest.pp": MANIFEST})
    with stack(cloud, folder / "example-puppet-template.yaml", SERVER) as name:
        found = cloud.outputs(name)
        assert (found["result"], found["other_result"]) == ("it contains fooooo", "it contains fu")
        assert str(found["status_code"]) in ("0", "2")
        assert "Applied catalog" in found["stdout"]


@pytest.mark.parametrize("template", ["example-os-apply-config.yaml", "example-os-apply-config-plus-cloud-config.yaml"])
def test_configs_without_a_hook_are_there_for_templates_to_read(cloud: Any, shared: Path, template: str) -> None:
    """The image brings no template for ntp, whose element this example asks for: the metadata is what is to be seen."""
    with stack(cloud, shared / "corpus" / FOLDER / "example-templates" / template, SERVER) as name:
        server = server_of(cloud, name)
        metadata = cloud.openstack("software", "deployment", "metadata", "show", server)
        assert "0.uk.pool.ntp.org" in metadata
        if "plus" in template:
            eventually(cloud, server, "cat /tmp/one", "The one is bar")


def authority(folder: Path, name: str) -> str:
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    out = folder / f"{name}.crt"
    more = ["-days", "2", "-subj", f"/CN={name}", "-keyout", str(folder / "key"), "-out", str(out)]
    subprocess.run([*command, *more], check=True, capture_output=True)
    return out.read_text()


def test_certificate_authorities_by_three_kinds_of_user_data(cloud: Any, copied: Any, tmp_path: Path) -> None:
    texts = {f"certificates/{name}.crt": authority(tmp_path, name) for name in ("ca_1", "ca_2")}
    ours = "".join(f"      {line}\n" for line in authority(tmp_path, "ca_3").splitlines())
    texts["config-scripts/example-ca-certs-config.yml"] = "#cloud-config\nca-certs:\n  trusted:\n    - |\n" + ours
    folder = copied(f"{FOLDER}/example-templates", texts)
    with stack(cloud, folder / "example-cloud-init-configure-ca-cert.yaml", SERVER) as name:
        for server, text in zip(("server_one", "server_two"), texts.values(), strict=False):
            wanted = text.splitlines()[1]
            eventually(cloud, server_of(cloud, name, server), "cat /etc/ssl/certs/ca-certificates.crt", wanted)
        wanted = ours.splitlines()[1].strip()
        eventually(cloud, server_of(cloud, name, "server_three"), "cat /etc/ssl/certs/ca-certificates.crt", wanted)


NECTAR = "NeCTAR-RC__heat-templates/at-2017/juno/SoftwareConfig"


def test_a_sequence_of_nectar(cloud: Any, shared: Path) -> None:
    with stack(cloud, shared / "corpus" / NECTAR / "example-deploy-sequence.yaml", SERVER) as name:
        assert "Previous: Previous: NONE" in cloud.outputs(name)["deployment_b_stdout"]


def test_a_component_of_nectar(cloud: Any, shared: Path) -> None:
    given = {"image_id": "host", "instance_type": "m1.small", "key_name": "demo"}
    with stack(cloud, shared / "corpus" / NECTAR / "software_component.yaml", given) as name:
        assert cloud.outputs(name)["sw_component_last_action"].strip() == "CREATE"


TRIPLEO = "openstack__tripleo-heat-templates"
OVERCLOUD = {
    "heat_template_version": "rocky",
    "parameters": {"certificate": {"type": "string"}, "identifier": {"type": "string"}},
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
        "trust": {
            "type": "puppet/extraconfig/tls/ca-inject.yaml",
            "properties": {
                "server": {"get_resource": "server"},
                "SSLRootCertificate": {"get_param": "certificate"},
                "SSLRootCertificatePath": "/etc/overcloud-ca.crt",
                "UpdateTrustAnchorsCommand": "openssl x509 -noout -subject -in /etc/overcloud-ca.crt",
            },
        },
        "once": {
            "type": "extraconfig/post_deploy/example.yaml",
            "properties": {"servers": {"node": {"get_resource": "server"}}},
        },
        "always": {
            "type": "extraconfig/post_deploy/example_run_on_update.yaml",
            "properties": {
                "servers": {"node": {"get_resource": "server"}},
                "DeployIdentifier": {"get_param": "identifier"},
            },
        },
    },
}


def test_extra_configurations_of_tripleo_in_a_small_overcloud(cloud: Any, copied: Any, tmp_path: Path) -> None:
    certificate = authority(tmp_path, "overcloud")
    overcloud = copied(TRIPLEO, {"overcloud.json": json.dumps(OVERCLOUD)}) / "overcloud.json"
    given = {"certificate": certificate, "identifier": "one"}
    with stack(cloud, overcloud, given) as name:
        server = server_of(cloud, name)
        assert inside(cloud, server, "cat /etc/overcloud-ca.crt").strip() == certificate.strip()
        cloud.openstack("stack", "update", "--wait", "--existing", "--parameter", "identifier=two", name)
        assert inside(cloud, server, "cat /root/extra /root/extra_update") == (
            "extra\nextra_update one\nextra_update two\n"
        )


TRANSLATED = "openstack__heat-translator/samples/tests/data/hot_output"
SAYS = '#!/bin/sh\necho "${0##*/}" "$@"\n'
PLAY = "- hosts: localhost\n  connection: local\n  gather_facts: false\n  tasks: [{debug: {msg: played}}]\n"
STAND_INS = {"": SAYS, ".sh": SAYS, ".py": "#!/usr/bin/env python3\nprint('ran')\n", ".pp": "notice('ran')\n"}
STAND_INS |= {".yml": PLAY, ".yaml": PLAY}


@pytest.mark.parametrize(
    ("name", "parameters", "deployments"),
    [
        ("hot_script_types", {}, 6),
        ("hot_host_assignment", {}, 9),
        ("hot_software_component_multiple_hosts", {}, 4),
        ("hot_custom_type", {}, 1),
        ("hot_elk_from_csar", {}, 23),
        ("hot_get_functions_semantic", {"map_val": "any"}, 1),
        ("hot_nodejs_mongodb_two_instances", {}, 7),
        ("hot_single_instance_wordpress", {}, 8),
        ("hot_software_component", {}, 2),
        ("hot_web_application", {}, 4),
    ],
)
def test_translated_templates_with_stand_ins_for_their_scripts(
    cloud: Any, shared: Path, tmp_path: Path, name: str, parameters: dict[str, str], deployments: int
) -> None:
    """Their scripts were never published: what is to be seen is that each runs on its server, in order."""
    text = (shared / "corpus" / TRANSLATED / f"{name}.yaml").read_text()
    template = tmp_path / "hot_output" / f"{name}.yaml"
    template.parent.mkdir()
    template.write_text(text)
    for line in text.splitlines():
        word = line.strip().removeprefix("get_file: ")
        if word != line.strip():
            path = template.parent / word
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(STAND_INS[path.suffix])
    with stack(cloud, template, parameters) as made:
        rows = cloud.json("stack", "resource", "list", "-n", "5", made)
        kinds = [row for row in rows if row["resource_type"] == "OS::Heat::SoftwareDeployment"]
        assert len(kinds) == deployments
        assert {row["resource_status"] for row in rows} == {"CREATE_COMPLETE"}
