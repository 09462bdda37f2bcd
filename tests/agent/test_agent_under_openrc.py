"""The agent's OpenRC script on a machine that the real OpenRC has booted; its deployments lie in files there."""

import json
from pathlib import Path

import openrc_machine
import pytest

from calor.server.engine.guests import agent_file

pytestmark = [pytest.mark.slow, pytest.mark.root]

SCRIPT = Path(__file__).resolve().parents[2] / "agent/calor/agent/data/calor-agent.openrc"
AGENT = "pgrep -f '^python3 -I -S /opt/calor.pyz run'"
LOCAL = "/var/lib/os-collect-config/local-data"


def deployment(name: str, script: str) -> str:
    one = {"id": f"config-{name}", "name": name, "group": "script", "config": script, "inputs": [], "outputs": []}
    return json.dumps({"deployments": [one]})


@pytest.fixture
def machine(tmp_path):
    found = openrc_machine.Machine(tmp_path / "machine")
    found.write("/opt/calor.pyz", agent_file.build().content)
    found.write("/usr/local/bin/calor-agent", '#!/bin/sh\nexec python3 -I -S /opt/calor.pyz "$@"\n', 0o755)
    found.write("/etc/init.d/calor-agent", SCRIPT.read_bytes(), 0o755)
    found.write("/etc/calor/agent.json", json.dumps({"poll_max": 0.5}))
    found.write("/etc/os-collect-config.conf", "[DEFAULT]\ncollectors = local\n")
    found.write(f"{LOCAL}/1.json", deployment("first", "#!/bin/sh\necho ran >>/first\n"))
    level = found.upper / "etc/runlevels/default"  # as bake-agent.yml enables it
    level.mkdir(parents=True)
    (level / "calor-agent").symlink_to("/etc/init.d/calor-agent")
    yield found.boot()
    found.halt()


def test_openrc_starts_stops_restarts_and_respawns_the_agent_and_leaves_its_hooks(machine):
    machine.eventually("test -s /first")
    machine.sh("rc-service calor-agent status")
    first = machine.sh(AGENT).strip()
    machine.sh(f"kill -9 {first}")
    machine.eventually(f"{AGENT} | grep -qvx {first}")
    second = deployment("second", "#!/bin/sh\necho in >/in\nsleep 4\necho out >/out\n")
    machine.sh(f"cat >{LOCAL}/2.json <<'END'\n{second}\nEND")
    machine.eventually("test -s /in")
    machine.sh("rc-service calor-agent stop")
    assert machine.run("sh", "-c", AGENT).returncode == 1
    assert machine.run("rc-service", "calor-agent", "status").returncode == 3
    machine.eventually("test -s /out")
    machine.sh("rc-service calor-agent start")
    machine.eventually(AGENT)
    before = machine.sh(AGENT)
    machine.sh("rc-service calor-agent restart")
    machine.eventually(AGENT)
    assert machine.sh(AGENT) != before
    assert machine.sh("cat /first") == "ran\n"
