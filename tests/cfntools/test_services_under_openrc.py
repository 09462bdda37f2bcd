"""cfn-init's services on a machine that the real OpenRC has booted: its own kind of script and System V's."""

import json

import openrc_machine
import pytest

from calor.server.engine.guests import agent_file

pytestmark = [pytest.mark.slow, pytest.mark.root]

PROBE = """#!/sbin/openrc-run
command=/bin/sleep
command_args=infinity
command_background=true
pidfile=/run/probe.pid
"""
OLD = """#!/bin/sh
### BEGIN INIT INFO
# Provides: old
# Required-Start:
# Required-Stop:
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
### END INIT INFO
case "$1" in
start) touch /run/old; echo start >>/old.log ;;
stop) rm -f /run/old; echo stop >>/old.log ;;
restart) echo restart >>/old.log ;;
status) [ -e /run/old ] ;;
esac
"""


@pytest.fixture
def machine(tmp_path):
    found = openrc_machine.Machine(tmp_path / "machine")
    found.write("/opt/calor.pyz", agent_file.build().content)
    found.write("/etc/init.d/probe", PROBE, 0o755)
    found.write("/etc/init.d/old", OLD, 0o755)
    yield found.boot()
    found.halt()


def init(machine, wanted, content="one"):
    """What cfn-init says of the services."""
    services = {name: {**wanted, "files": ["/etc/conf"]} for name in ("probe", "old")}
    config = {"files": {"/etc/conf": {"content": content}}, "services": {"sysvinit": services}}
    document = json.dumps({"AWS::CloudFormation::Init": {"config": config}})
    machine.sh(f"cat >/root/metadata.json <<'END'\n{document}\nEND")
    said = machine.sh("python3 -I -S /opt/calor.pyz cfn-init /root/metadata.json")
    return next(line for line in said.splitlines() if line.startswith("services: "))


def test_services_are_enabled_started_started_again_and_stopped_by_openrc(machine):
    up = {"enabled": True, "ensureRunning": True}
    assert init(machine, up) == "services: 2 changed, 0 unchanged"
    assert machine.sh("ls /etc/runlevels/default").split() == ["old", "probe"]
    first = machine.sh("rc-service probe status >&2; cat /run/probe.pid; kill -0 $(cat /run/probe.pid)")
    assert init(machine, up) == "services: 0 changed, 2 unchanged"
    assert machine.sh("cat /run/probe.pid") == first
    assert init(machine, up, "two") == "services: 2 changed, 0 unchanged"
    assert machine.sh("cat /run/probe.pid") != first
    assert init(machine, {"enabled": False, "ensureRunning": False}, "two") == "services: 2 changed, 0 unchanged"
    assert machine.sh("ls /etc/runlevels/default; test ! -e /run/probe.pid; test ! -e /run/old") == ""
    old = machine.sh("cat /old.log").split()
    assert (old[0], old[-1]) == ("start", "stop")
    assert len(old) > 2, "it was started again in between"
