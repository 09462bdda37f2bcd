"""A service is started again by what it lists, whether or not it says that it should run."""

import json
import os

import pytest

from calor.cfntools import init
from calor.cfntools.sections import hup_service

TOOL = """#!/bin/sh
echo "$@" >>{top}/log
case $2 in
status) [ -e {top}/up ] ;;
start) touch {top}/up ;;
stop) rm {top}/up ;;
esac
"""


class Services:
    """A machine whose only service, ``web``, is run by a `service` of the test's own."""

    def __init__(self, top):
        self.top = top

    def apply(self, service, content="1"):
        """What was asked of the service for a file with this content; the state of it is not counted."""
        (self.top / "log").write_text("")
        config = {
            "files": {str(self.top / "conf"): {"content": content}},
            "services": {"sysvinit": {"web": service}},
        }
        (self.top / "m.json").write_text(json.dumps({"AWS::CloudFormation::Init": {"config": config}}))
        assert init.main([str(self.top / "m.json")]) == 0
        return [line.split()[1] for line in (self.top / "log").read_text().splitlines() if "status" not in line]


@pytest.fixture
def services(tmp_path, monkeypatch):
    tool = tmp_path / "bin/service"
    tool.parent.mkdir()
    tool.write_text(TOOL.format(top=tmp_path))
    tool.chmod(0o755)
    monkeypatch.setenv("CALOR_ROOT", str(tmp_path / "no-root"))
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    monkeypatch.setattr("calor.cfntools.sections.init_systems.BOOTED", "/nowhere")
    monkeypatch.setattr("calor.cfntools.sections.init_systems.OPENRC", "/nowhere")
    return Services(tmp_path)


def test_one_that_should_run_is_started_once_and_again_for_what_has_changed(services):
    wanted = {"ensureRunning": "true", "files": [str(services.top / "conf")]}
    assert services.apply(wanted) == ["start"]
    assert services.apply(wanted) == []
    assert services.apply(wanted, "2") == ["restart"]
    assert services.apply({"ensureRunning": "true"}, "3") == []


def test_one_that_says_nothing_of_running_is_started_again_where_it_runs(services):
    wanted = {"files": str(services.top / "conf")}
    assert services.apply(wanted) == [], "it does not run, and nobody asked for that"
    (services.top / "up").touch()
    assert services.apply(wanted) == []
    assert services.apply(wanted, "2") == ["restart"]


def test_one_that_should_not_run_is_stopped_whatever_has_changed(services):
    (services.top / "up").touch()
    assert services.apply({"ensureRunning": False, "files": [str(services.top / "conf")]}) == ["stop"]
    assert services.apply(None) == []


SYSTEMCTL = """#!/bin/sh
echo "$@" >>{top}/systemctl.log
case $1 in
is-active) [ -e {top}/active ] ;;
is-enabled) [ -e {top}/enabled ] ;;
start | restart) touch {top}/active ;;
enable) touch {top}/enabled ;;
esac
"""


@pytest.fixture
def systemd(tmp_path, monkeypatch):
    """A machine of systemd's whose systemctl is the test's own, with cfn-hup."""
    for name, text in (("systemctl", SYSTEMCTL), ("cfn-hup", "#!/bin/sh\n")):
        tool = tmp_path / "bin" / name
        tool.parent.mkdir(exist_ok=True)
        tool.write_text(text.format(top=tmp_path))
        tool.chmod(0o755)
    monkeypatch.setenv("CALOR_ROOT", str(tmp_path / "no-root"))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setattr("calor.cfntools.sections.init_systems.BOOTED", str(tmp_path))
    monkeypatch.setattr(hup_service, "PLACES", str(tmp_path / "bin"))
    monkeypatch.setattr(hup_service, "UNIT", str(tmp_path / "units/cfn-hup.service"))
    monkeypatch.setattr(hup_service, "ELSEWHERE", (str(tmp_path / "packaged.service"),))
    service = {
        "sysvinit": {"cfn-hup": {"enabled": "true", "ensureRunning": "true", "files": ["/etc/cfn/cfn-hup.conf"]}}
    }
    (tmp_path / "m.json").write_text(json.dumps({"AWS::CloudFormation::Init": {"config": {"services": service}}}))
    return tmp_path


def test_the_service_cfn_hup_of_awss_templates_is_there_where_systemd_is(systemd, capfd):
    assert init.main([str(systemd / "m.json")]) == 0
    unit = systemd / "units/cfn-hup.service"
    assert f"ExecStart={systemd}/bin/cfn-hup --daemon\n" in unit.read_text()
    asked = (systemd / "systemctl.log").read_text().splitlines()
    assert [line for line in asked if not line.startswith("is-")] == [
        "daemon-reload",
        "enable cfn-hup",
        "start cfn-hup",
    ]
    assert "services: 1 changed, 0 unchanged" in capfd.readouterr().out
    unit.write_text("somebody's own")
    assert init.main([str(systemd / "m.json")]) == 0
    assert "services: 0 changed, 1 unchanged" in capfd.readouterr().out
    assert unit.read_text() == "somebody's own"


def test_a_cfn_hup_that_a_package_has_is_left_alone(systemd):
    (systemd / "packaged.service").touch()
    assert init.main([str(systemd / "m.json")]) == 0
    assert not (systemd / "units").exists()
