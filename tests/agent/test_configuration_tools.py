"""The hooks of configuration management tools: Puppet and Salt for real, Chef's command line by a stand-in (neither
Debian nor PyPI has Chef)."""

import json
import os
import shutil
import subprocess

import pytest

MANIFEST = """
notice("fact ${facts['word']} and ${facts['fqdn']}")
file { "${facts['heat_outputs_path']}.result": content => "made with ${facts['word']}" }
"""


@pytest.fixture
def puppet(guest):
    """The real puppet, kept below the guest's root."""
    if not shutil.which("puppet"):
        pytest.skip("no puppet")
    wrapper = guest.root / "bin/puppet"
    wrapper.parent.mkdir()
    folders = f"--confdir {guest.root}/puppet/conf --vardir {guest.root}/puppet/var --rundir {guest.root}/puppet/run"
    wrapper.write_text(f'#!/bin/sh\nverb=$1; shift\nexec {shutil.which("puppet")} $verb {folders} "$@"\n')
    wrapper.chmod(0o755)
    guest.environment["HEAT_PUPPET_CMD"] = str(wrapper)
    guest.environment["LC_ALL"] = "C.UTF-8"
    return guest


@pytest.mark.slow
def test_puppet_gets_facts_and_hands_back_outputs(server, puppet, deployment):
    server.deploy(
        deployment("ok", MANIFEST, group="puppet", inputs={"word": "hällo"}, outputs=["result"]),
        deployment("nofacts", MANIFEST, group="puppet", inputs={"word": "x"}, options={"enable_facter": "false"}),
        deployment("broken", "file { '/no/such/folder/x': content => 'x' }", group="puppet"),
        deployment("syntax", "file {", group="puppet"),
    )
    puppet.start()
    done = server.result("run-ok", 120)
    assert done["outputs"]["deploy_status_code"] == 0, done
    assert done["outputs"]["result"] == "made with hällo"
    assert "fact hällo and" in done["outputs"]["deploy_stdout"]
    assert list((puppet.root / "var/run/heat-config/deployed").glob("*-config-ok-stdout.log"))
    without = server.result("run-nofacts", 60)["outputs"]
    assert "fact  and" in without["deploy_stdout"] + without["deploy_stderr"]
    broken = server.result("run-broken", 60)
    assert broken["outputs"]["deploy_status_code"] == 4
    assert "/no/such/folder" in broken["reason"]
    assert server.result("run-syntax", 60)["outputs"]["deploy_status_code"] == 1


@pytest.mark.slow
def test_puppet_gets_hiera_data_tags_modules_and_logs(server, puppet, deployment):
    module = puppet.root / "modules/greet/manifests/init.pp"
    module.parent.mkdir(parents=True)
    module.write_text('class greet { notify { "module says hello": tag => "wanted" } notify { "quiet": } }')
    options = {
        "enable_hiera": True,
        "modulepath": str(puppet.root / "modules"),
        "tags": ["wanted"],
        "enable_verbose": True,
    }
    server.deploy(deployment("m", "include greet", group="puppet", inputs={"word": {"a": [1]}}, options=options))
    puppet.start()
    done = server.result("run-m", 120)
    assert done["outputs"]["deploy_status_code"] == 0, done
    assert "module says hello" in done["outputs"]["deploy_stdout"]
    assert "quiet" not in done["outputs"]["deploy_stdout"]
    data = puppet.root / "etc/puppet/hieradata/heat_config_m.json"
    assert json.loads(data.read_text())["word"] == {"a": [1]}
    assert data.stat().st_mode & 0o777 == 0o600
    assert (puppet.root / "var/log/puppet/heat-verbose.log").exists()


STATE = """
said:
  file.managed:
    - name: {{ pillar['heat_outputs_path'] }}.said
    - contents: "{{ pillar['word'] }} {{ opts['word'] }} {{ pillar['master']['word'] }} {{ pillar['numbers'][1] }}"
"""


@pytest.fixture
def with_salt(guest, salt):
    (guest.root / "etc/salt/minion.d").mkdir(parents=True)
    (guest.root / "etc/salt/minion").write_text(f"root_dir: {guest.root}/salt\nfile_roots: {{base: [/nowhere]}}\n")
    (guest.root / "etc/salt/minion.d/own.conf").write_text("own: kept\n")
    guest.environment["PATH"] = f"{salt}:/usr/bin:/bin"
    return guest


@pytest.mark.slow
def test_salt_applies_a_state_with_pillar_and_options(server, with_salt, deployment):
    structured = {"here": {"cmd.run": [{"name": "echo structured"}]}, "kept": {"test.nop": []}}
    failing = "wrong:\n  cmd.run:\n    - name: 'echo no licence >&2; exit 7'\nfine:\n  test.nop: []\n"
    server.deploy(
        deployment(
            "s", STATE, group="salt", inputs={"word": "hey", "numbers": [1, 2]}, outputs=["said", "fun", "retcode"]
        ),
        deployment("map", structured, group="salt"),
        deployment("fails", failing, group="salt"),
        deployment("syntax", "a: {{ nosuch() }}", group="salt"),
    )
    with_salt.start()
    done = server.result("run-s", 180)
    assert done["outputs"]["deploy_status_code"] == 0, done
    assert done["outputs"]["said"].strip() == "hey hey hey 2"
    assert (done["outputs"]["fun"], done["outputs"]["retcode"]) == ("state.sls", 0)
    mapped = server.result("run-map", 120)["outputs"]
    assert mapped["deploy_status_code"] == 0, mapped
    assert "structured" in mapped["deploy_stdout"]
    failed = server.result("run-fails", 120)
    assert failed["outputs"]["deploy_status_code"] != 0
    assert failed["reason"].startswith("state wrong (cmd.run): ")
    assert "fine" not in failed["reason"]
    syntax = server.result("run-syntax", 120)
    assert syntax["outputs"]["deploy_status_code"] != 0
    assert "nosuch" in syntax["reason"]


CHEF = """#!/bin/sh
echo "called: $*"
while [ $# -gt 0 ]; do
    case $1 in --config) cat "$2";; -j) cp "$2" "$heat_outputs_path.node"; break;; esac
    shift
done
cat "$2"
exit ${CHEF_EXIT:-0}
"""


@pytest.fixture
def chef(guest):
    tool = guest.root / "bin/cinc-client"
    tool.parent.mkdir()
    tool.write_text(CHEF)
    tool.chmod(0o755)
    guest.environment["PATH"] = f"{tool.parent}:/usr/bin:/bin"
    return guest


def test_chef_gets_node_attributes_and_a_kitchen_that_is_cloned(server, chef, deployment, tmp_path):
    kitchen = tmp_path / "kitchen's"
    author = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", "init", "-q", str(kitchen)], check=True)
    (kitchen / "cookbooks").mkdir()
    (kitchen / "cookbooks/one").write_text("1")
    subprocess.run(["git", "-C", str(kitchen), "add", "."], check=True)
    subprocess.run(["git", "-C", str(kitchen), *author, "commit", "-qm", "x"], check=True)
    inputs = {"nginx": {"port": 80}, "environment": "prod", "deploy_action": "CREATE", "deploy_server_id": "s"}
    options = {"kitchen": str(kitchen), "kitchen_path": str(chef.root / "opt/chef")}
    more = {"group": "chef", "options": options, "outputs": ["node"]}
    server.deploy(
        deployment("c", ["recipe[nginx]"], inputs=inputs, **more),
        deployment("again", '["recipe[nginx]"]', inputs=inputs, **more),
        deployment("update", ["recipe[nginx]"], inputs={**inputs, "deploy_action": "UPDATE"}, **more),
    )
    chef.start()
    done = server.result("run-c")
    assert done["outputs"]["deploy_status_code"] == 0, done
    assert json.loads(done["outputs"]["node"]) == {"nginx": {"port": 80}, "run_list": ["recipe[nginx]"]}
    said = done["outputs"]["deploy_stdout"]
    assert f"cookbook_path '{chef.root}/opt/chef/cookbooks'" in said
    assert "environment 'prod'" in said
    assert "called: -z --config " in said
    assert "Cloning into" in done["outputs"]["deploy_stderr"]
    assert "Cloning" not in server.result("run-again")["outputs"]["deploy_stderr"]
    assert "Cloning into" in server.result("run-update")["outputs"]["deploy_stderr"]
    assert (chef.root / "opt/chef/cookbooks/one").exists()


def test_chef_fails_with_its_exit_code_and_without_a_kitchen_at_once(server, chef, deployment):
    chef.environment["CHEF_EXIT"] = "3"
    full = chef.root / "full"
    full.mkdir()
    (full / "file").write_text("x")
    server.deploy(
        deployment("code", ["recipe[a]"], group="chef"),
        deployment("nokitchen", ["recipe[a]"], group="chef", options={"kitchen": "/no/such.git"}),
        deployment("full", ["recipe[a]"], group="chef", options={"kitchen": "/x.git", "kitchen_path": str(full)}),
        deployment("map", '{"a": 1}', group="chef"),
    )
    chef.start()
    assert server.result("run-code")["outputs"]["deploy_status_code"] == 3
    missing = server.result("run-nokitchen")
    assert missing["outputs"]["deploy_status_code"] == 128
    assert "/no/such.git" in missing["reason"]
    assert "is there already and is no clone" in server.result("run-full")["reason"]
    assert "must be a list" in server.result("run-map")["reason"]


def test_f055_each_tool_that_is_missing_is_named_with_what_brings_it(server, guest, deployment):
    guest.environment["PATH"] = str(guest.root / "nothing")
    pod = {"containers": [{"name": "a", "image": "b"}]}
    wanted = {
        "puppet": ("x", "puppet not found; it comes with package puppet-agent or puppet"),
        "salt": ("x", "salt-call not found; it comes with package salt-minion (or salt from PyPI)"),
        "chef": (["x"], "chef-client or cinc-client not found; it comes with package chef or cinc"),
        "docker-cmd": ({"a": {}}, "docker or podman not found; it comes with package docker.io"),
        "docker-compose": ({"a": {}}, "docker-compose not found; it comes with package docker-compose"),
        "kubelet": (pod, "kubelet not found; it comes with package kubelet"),
        "atomic": ({"image": "x"}, "atomic not found; it comes with package atomic"),
    }
    server.deploy(*(deployment(group, config, group=group) for group, (config, _) in wanted.items()))
    guest.start()
    for group, (_, said) in wanted.items():
        done = server.result(f"run-{group}")
        assert done["reason"].startswith(said), done
        assert done["outputs"]["deploy_status_code"] == 127
        assert os.fspath(guest.root) not in done["reason"]
