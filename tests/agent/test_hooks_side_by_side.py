"""OpenStack's hooks, unmodified from heat-agents' sdist on PyPI, beside ours: the same deployments, the same outputs;
and where theirs fail, ours do not.

Theirs run as foreign executables of our agent, which shows that these work too; ``$HEAT_CONFIG_HOOKS`` is what makes
them go before the hooks built in.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import docker_daemon
import pytest

pytestmark = pytest.mark.slow

TOOLS = Path(sys.executable).parent


class Beside:
    """Two guests of one server: ``ours`` with the hooks built in, ``theirs`` with those of heat-agents."""

    def __init__(self, server, ours, theirs):
        self.server, self.ours, self.theirs = server, ours, theirs
        self.enrolled = {}

    def run(self, *deployments):
        """The outputs of both, name by name."""
        found = []
        for guest in (self.ours, self.theirs):
            self.server.results.clear()
            self.server.enrolled = None
            self.server.replace(*deployments)
            guest.start()
            for one in deployments:
                self.server.result(one["calor"]["run_id"], 180)
            guest.kill()
            self.enrolled[guest] = self.server.enrolled
            found.append({one["run_id"].removeprefix("run-"): one["outputs"] for one in self.server.results})
        return found

    def go_on(self, deployment):
        """The status code of this instead, by ours."""
        self.server.enrolled = self.enrolled[self.ours]
        self.server.replace(deployment)
        self.ours.start()
        return self.server.result(deployment["calor"]["run_id"], 60)["outputs"]["deploy_status_code"]


@pytest.fixture
def beside(server, guest, reference_agents, tmp_path_factory):
    theirs = type(guest)(tmp_path_factory.mktemp("theirs"), server)
    hooks = theirs.root / "var/lib/heat-config/hooks"
    hooks.mkdir(parents=True)
    for source in reference_agents.glob("src/heat*/heat-config-*/install.d/hook-*.py"):
        name = source.stem.removeprefix("hook-")
        shutil.copy(source, hooks / name)
        (hooks / name).chmod(0o755)
    assert {"script", "ansible", "puppet", "salt", "docker-cmd", "hiera", "json-file"} <= set(os.listdir(hooks))
    theirs.environment["HEAT_CONFIG_HOOKS"] = str(hooks)
    for kind, folder in (("WORKING", "lib/heat-config"), ("OUTPUTS", "run/heat-config")):
        for tool in ("SCRIPT", "ANSIBLE", "PUPPET", "SALT", "CHEF"):
            name = f"heat-config-{tool.lower()}"
            theirs.environment[f"HEAT_{tool}_{kind}"] = str(theirs.root / "var" / folder / name)
    for variable, path in (
        ("HEAT_PUPPET_LOGDIR", "var/run/heat-config/deployed"),
        ("HEAT_PUPPET_HIERA_DATADIR", "etc/puppet/hieradata"),
        ("HEAT_HIERA_CONFIG", "etc/puppet/hiera.yaml"),
        ("HEAT_CFN_INIT_LAST_METADATA_DIR", "var/cache/heat-cfntools"),
        ("HEAT_DOCKER_COMPOSE_WORKING", "var/lib/heat-config/heat-config-docker-compose"),
    ):
        theirs.environment[variable] = str(theirs.root / path)
    for one in (guest, theirs):
        (one.root / "etc/puppet").mkdir(parents=True)
        one.environment["PATH"] = f"{reference_agents / 'bin'}:{TOOLS}:/usr/bin:/bin"
        one.environment["HEAT_HIERA_ELEMENT_CHECK_CMD"] = "echo empty"
        one.environment["LC_ALL"] = "C.UTF-8"
    yield Beside(server, guest, theirs)
    theirs.reboot()


def test_script_hooks_give_the_same_outputs(beside, deployment):
    text = '#!/bin/sh\necho "$word $map"\necho err >&2\nprintf done > $heat_outputs_path.result\nexit {}\n'
    inputs = {"word": "wörld", "map": {"a": [1]}}
    ours, theirs = beside.run(
        deployment("ok", text.format(0), inputs=inputs, outputs=["result", "absent"]),
        deployment("fails", text.format(3), inputs=inputs, outputs=["result"]),
    )
    assert ours == theirs
    assert ours["ok"]["result"] == "done"
    assert ours["fails"]["deploy_status_code"] == 3


def test_where_the_script_hook_of_heat_agents_fails_ours_does_not(beside, deployment):
    ours, theirs = beside.run(
        deployment("bare", "echo no interpreter line\n"),
        deployment("dos", "#!/bin/sh\r\necho dos\r\n"),
        {**deployment("number", "#!/bin/sh\necho $n\n"), "inputs": [{"name": "n", "type": "Number", "value": 5}]},
        deployment("bytes", "#!/bin/sh\nprintf '\\377' > $heat_outputs_path.raw\n", outputs=["raw"]),
    )
    for name in ("bare", "dos", "number", "bytes"):
        assert ours[name]["deploy_status_code"] == 0, ours[name]
        assert theirs[name]["deploy_status_code"] != 0, theirs[name]
        assert "Traceback" in theirs[name]["deploy_stderr"]
    assert (ours["bare"]["deploy_stdout"], ours["number"]["deploy_stdout"]) == ("no interpreter line\n", "5\n")
    assert ours["bytes"]["raw"] == "\N{REPLACEMENT CHARACTER}"


PLAYBOOK = """
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: greet
      copy: {content: "{{ greeting }}", dest: "{{ heat_outputs_path }}.said"}
    - name: end
      command: "{{ command }}"
"""


def test_ansible_hooks_give_the_same_outputs(beside, deployment):
    ours, theirs = beside.run(
        deployment("ok", PLAYBOOK, group="ansible", inputs={"greeting": "ü", "command": "true"}, outputs=["said"]),
        deployment("fails", PLAYBOOK, group="ansible", inputs={"greeting": "x", "command": "false"}, outputs=["said"]),
        deployment("tags", PLAYBOOK, group="ansible", inputs={"greeting": "x"}, options={"tags": "none"}),
    )
    for name in ("ok", "fails", "tags"):
        for key in ("said", "deploy_status_code"):
            assert ours[name].get(key) == theirs[name].get(key), (name, key)
    assert (ours["ok"]["said"], ours["fails"]["deploy_status_code"]) == ("ü", 2)
    assert recap(ours["ok"]) == recap(theirs["ok"])


def recap(outputs):
    return outputs["deploy_stdout"].rpartition("PLAY RECAP")[2].split()


def test_f055_without_ansible_theirs_succeeds_in_silence_and_ours_fails(beside, deployment):
    for guest in (beside.ours, beside.theirs):
        guest.environment["PATH"] = f"{guest.root}/bin:/usr/bin:/bin"
        (guest.root / "bin").mkdir()
        (guest.root / "bin/python3").symlink_to(sys.executable)
        guest.environment["HEAT_ANSIBLE_CMD"] = "no-such-ansible"
    ours, theirs = beside.run(deployment("a", PLAYBOOK, group="ansible"))
    assert theirs["a"]["deploy_status_code"] == 0
    assert theirs["a"]["deploy_stdout"] == ""
    assert ours["a"]["deploy_status_code"] == 127


def test_data_hooks_write_the_same_files(beside, deployment):
    hiera = {"hierarchy": ["node", "common"], "datafiles": {"common": {"b": 1, "a": ["ü"]}}}
    path = str(beside.theirs.root / "shared/app.json")
    ours, theirs = beside.run(
        deployment("h", hiera, group="hiera"),
        deployment("j", {path: {"b": 1, "a": [None, 1.5, "é"]}}, group="json-file"),
    )
    assert ours == theirs
    for name in ("etc/puppet/hieradata/common.json", "etc/puppet/hiera.yaml"):
        mine, other = beside.ours.root / name, beside.theirs.root / name
        assert mine.read_text().replace(str(beside.ours.root), str(beside.theirs.root)) == other.read_text()
        assert mine.stat().st_mode == other.stat().st_mode
    assert (beside.ours.root / path.lstrip("/")).read_bytes() == Path(path).read_bytes()


MANIFEST = 'notice("word ${facts[\'word\']}")\nfile { "${facts[\'heat_outputs_path\']}.out": content => "x" }\n'


def test_puppet_hooks_give_the_same_outputs(beside, deployment):
    real = shutil.which("puppet", path="/usr/bin:/bin")
    if real is None:
        pytest.skip("no puppet")
    for guest in (beside.ours, beside.theirs):
        wrapper = guest.root / "puppet"
        folders = f"--confdir {guest.root}/pp/conf --vardir {guest.root}/pp/var --rundir {guest.root}/pp/run"
        wrapper.write_text(f'#!/bin/sh\nverb=$1; shift\nexec {real} $verb {folders} "$@"\n')
        wrapper.chmod(0o755)
        guest.environment["HEAT_PUPPET_CMD"] = str(wrapper)
    created = {"creation_time": "2026-01-01T00:00:00Z"}
    ours, theirs = beside.run(
        deployment("ok", MANIFEST, group="puppet", inputs={"word": "hey"}, outputs=["out"], **created),
        deployment("fails", "file { '/no/such/x': content => 'x' }", group="puppet", **created),
    )
    for name in ("ok", "fails"):
        for key in ("out", "deploy_status_code"):
            assert ours[name].get(key) == theirs[name].get(key), (name, key, ours[name], theirs[name])
    assert "word hey" in ours["ok"]["deploy_stdout"]
    assert "word hey" in theirs["ok"]["deploy_stdout"]


def test_salt_hooks_give_the_same_states(beside, deployment, salt):
    for guest in (beside.ours, beside.theirs):
        minion = guest.root / "etc/salt/minion"
        minion.parent.mkdir()
        minion.write_text(f"root_dir: {guest.root}/salt\n")
        guest.environment["SALT_MINION_CONFIG"] = str(minion)
        guest.environment["PATH"] = f"{salt}:/usr/bin:/bin"
    state = "say:\n  cmd.run:\n    - name: echo {{ opts['word'] }}\n"
    ours, theirs = beside.run(
        deployment("ok", state, group="salt", inputs={"word": "hey"}, outputs=["fun", "retcode"]),
        deployment("fails", "say:\n  cmd.run:\n    - name: exit 3\n", group="salt"),
    )
    for key in ("fun", "retcode", "deploy_status_code"):
        assert ours["ok"][key] == theirs["ok"][key], key
    assert "hey" in ours["ok"]["deploy_stdout"]
    assert "hey" in theirs["ok"]["deploy_stdout"]
    assert ours["fails"]["deploy_status_code"] != 0
    assert theirs["fails"]["deploy_status_code"] != 0


def test_docker_cmd_hooks_call_the_same_commands_but_for_the_flag_that_does_not_exist(beside, deployment):
    for guest in (beside.ours, beside.theirs):
        tool = guest.root / "docker"
        tool.write_text(f'#!/bin/sh\n[ "$1" = run ] && echo "$*" >> {guest.root}/calls\n[ "$1" = run ]\n')
        tool.chmod(0o755)
        guest.environment["HEAT_DOCKER_CMD"] = str(tool)
    listing = '#!/bin/sh\n[ "$1" = run ] && echo "$*" >> {}/calls\n[ "$1" = run ] || [ "$1" = ps ]\n'
    (beside.ours.root / "docker").write_text(listing.format(beside.ours.root))
    settings = {
        "image": "x",
        "command": "a b",
        "environment": ["A=1"],
        "net": "host",
        "user": "u",
        "volumes": ["/a:/b"],
    }
    inputs = {"deploy_stack_id": "s", "deploy_resource_name": "r", "deploy_action": "CREATE"}
    config = {"one": {**settings, "start_order": 1}, "two": {"image": "y", "volumes_from": ["one"], "start_order": 2}}
    ours, theirs = beside.run(deployment("d", config, group="docker-cmd", inputs=inputs))
    assert ours["d"]["deploy_status_code"] == theirs["d"]["deploy_status_code"] == 0
    mine, other = ((guest.root / "calls").read_text().splitlines() for guest in (beside.ours, beside.theirs))
    assert sorted(mine[0].split()) == sorted(other[0].split())
    assert sorted(mine[1].split()) == sorted(other[1].replace("--volumes_from=", "--volumes-from=").split())
    assert "--volumes_from=one" in other[1]


@pytest.fixture
def daemons(beside):
    """A docker for each of the two guests."""
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(docker_daemon.running()) for _ in range(2)]
        for guest, daemon in zip((beside.ours, beside.theirs), found, strict=True):
            guest.environment["DOCKER_HOST"] = daemon.host
            guest.environment["PATH"] += ":/usr/sbin"
        yield found


SLEEP = ["sh", "-c", "trap exit TERM; sleep 1000 & wait"]


def clean(beside, reference_agents, group, *left):
    """What OpenStack's agent runs before its hooks: it ends what is no longer among the configs."""
    configs = beside.theirs.root / "heat-config.json"
    configs.write_text(json.dumps(left))
    (script,) = reference_agents.glob(f"src/heat*/heat-config-{group}/os-refresh-config/configure.d/*")
    environment = {**beside.theirs.environ(), "HEAT_SHELL_CONFIG": str(configs)}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.root
def test_docker_cmd_hooks_leave_the_same_containers_in_real_dockers(beside, daemons, deployment, reference_agents):
    inputs = {"deploy_stack_id": "s", "deploy_resource_name": "r", "deploy_action": "CREATE"}
    config = {
        "sleeper": {"image": "tiny:1", "net": "none", "environment": ["A=é"], "command": "sleep 1000"},
        "look": {"action": "exec", "command": ["sleeper", "sh", "-c", "echo in $A"], "start_order": 1},
        "gone": {"image": "tiny:1", "net": "none", "detach": False, "command": "sh -c true", "start_order": 2},
    }
    found = beside.run(deployment("d", config, group="docker-cmd", inputs=inputs))
    seen = []
    for outputs, daemon in zip(found, daemons, strict=True):
        assert outputs["d"]["deploy_status_code"] == 0, outputs
        assert "in é" in outputs["d"]["deploy_stdout"]
        there = daemon.containers()
        assert there["sleeper"]["State"]["Running"]
        assert there["gone"]["State"]["Status"] == "exited"
        kept = ("Labels", "Env", "Cmd", "Image", "User")
        seen.append({name: {key: one["Config"][key] for key in kept} for name, one in there.items()})
    assert seen[0] == seen[1]
    delete = {**deployment("e", None, group="docker-cmd", inputs={**inputs, "deploy_action": "DELETE"}), "name": "d"}
    assert beside.go_on(delete) == 0
    assert not daemons[0].containers()
    clean(beside, reference_agents, "docker-cmd")
    assert not daemons[1].containers()


@pytest.mark.root
def test_docker_compose_hooks_bring_up_the_same_project_in_real_dockers(beside, daemons, deployment, reference_agents):
    """In the oldest format: of another, with ``services``, theirs fails (next test)."""
    if not shutil.which("docker-compose", path="/usr/bin"):
        pytest.skip("needs docker-compose")
    config = {"web": {"image": "tiny:1", "command": SLEEP, "env_file": ["./common.env"]}}
    files = repr([{"file_name": "./common.env", "content": "A=é"}])
    there = deployment("site", config, group="docker-compose", inputs={"env_files": files})
    clean(beside, reference_agents, "docker-compose", there)  # it writes the compose file, and the hook does not
    found = beside.run(there)
    seen = []
    for outputs, daemon in zip(found, daemons, strict=True):
        assert outputs["site"]["deploy_status_code"] == 0, outputs
        (web,) = daemon.containers().values()
        assert web["State"]["Running"]
        assert "A=é" in web["Config"]["Env"]
        seen.append((web["Name"], web["Config"]["Cmd"], web["Config"]["Image"]))
    assert seen[0] == seen[1]
    gone = deployment("gone", None, group="docker-compose", inputs={"deploy_action": "DELETE"})
    assert beside.go_on({**gone, "name": "site"}) == 0
    assert not daemons[0].containers()
    clean(beside, reference_agents, "docker-compose")
    (left,) = daemons[1].containers().values()
    assert not left["State"]["Running"], "theirs ends it and leaves it there"


@pytest.mark.root
def test_a_compose_file_with_services_and_a_network_fails_by_theirs_and_not_by_ours(
    beside, daemons, deployment, reference_agents
):
    config = {"version": "2.4", "services": {"web": {"image": "tiny:1", "command": SLEEP}}}
    there = deployment("new", config, group="docker-compose")
    clean(beside, reference_agents, "docker-compose", there)
    ours, theirs = beside.run(there)
    assert ours["new"]["deploy_status_code"] == 0, ours
    assert "AttributeError: 'str' object has no attribute 'get'" in theirs["new"]["deploy_stderr"]
    (web,) = daemons[0].containers().values()
    assert web["State"]["Running"]
    assert list(web["NetworkSettings"]["Networks"]) == ["new_default"]
    gone = deployment("gone", None, group="docker-compose", inputs={"deploy_action": "DELETE"})
    assert beside.go_on({**gone, "name": "new"}) == 0
    assert not daemons[0].containers()
    assert "new_default" not in daemons[0].docker("network", "ls")


def test_f041_their_notifier_fails_on_what_ours_cuts(reference_agents, tmp_path):
    """As reported and reproduced: with an output above 950 kB it stops with a TypeError."""
    notifier = next(reference_agents.glob("src/heat*/heat-config/bin/heat-config-notify"))
    source = notifier.read_text()
    assert "encoding=" in source[source.index("def trim_response") : source.index("def trim_response") + 1500]
    call = (
        "import importlib.machinery, importlib.util, sys, types\n"
        "for name in ('requests', 'keystoneclient', 'keystoneclient.v3', 'keystoneclient.v3.client', 'heatclient',\n"
        "             'heatclient.client', 'zaqarclient', 'zaqarclient.queues', 'zaqarclient.queues.v1',\n"
        "             'requests.adapters', 'urllib3', 'urllib3.util', 'urllib3.util.retry', 'heatclient.v1'):\n"
        "    module = types.ModuleType(name); sys.modules[name] = module\n"
        "    module.__getattr__ = lambda attribute: types.SimpleNamespace\n"
        f"loader = importlib.machinery.SourceFileLoader('notify', {str(notifier)!r})\n"
        "module = importlib.util.module_from_spec(importlib.util.spec_from_loader('notify', loader))\n"
        "loader.exec_module(module)\n"
        "module.trim_response({'deploy_stdout': 'x' * 1000000, 'deploy_stderr': ''})\n"
    )
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "TypeError" in done.stderr, done.stderr
