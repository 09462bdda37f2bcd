"""The boot script and its launcher, which install and start the agent in an instance."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import interpreters
import pytest
import quiet_http

from calor.cloudinit import AgentBoot
from calor.cloudinit.guest import boot
from calor.cloudinit.parts import agent_boot

CONTENT = b"the agent"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The launcher's places moved below a folder, without an init system or any agent."""
    monkeypatch.setattr(boot, "IDENTITY", str(tmp_path / "etc/calor/agent.json"))
    monkeypatch.setattr(boot, "STATE", str(tmp_path / "state"))
    monkeypatch.setattr(boot, "SEARCH", str(tmp_path / "bin"))
    monkeypatch.setattr(boot, "UNIT_DIRECTORIES", (str(tmp_path / "units"),))
    monkeypatch.setattr(boot, "TOOL_DIRECTORIES", (str(tmp_path / "bin"), str(tmp_path / "opt/aws")))
    monkeypatch.setattr(boot, "PAUSES", (0.01,))
    return tmp_path


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that the launcher becomes."""
    commands: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _program, command: commands.append(command))
    return commands


class Server:
    """Serves a list of answers, one a request, the last one again and again."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, bytes]] = [(200, CONTENT)]
        self.asked = 0
        self._http = quiet_http.Server(self._answer)
        self.url = self._http.url

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        status, content = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        quiet_http.answer(request, status, content)

    def close(self) -> None:
        self._http.close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def identity(url: str, **more: Any) -> dict[str, Any]:
    return {"server": url, "instance_id": "i-1", "agent_url": "/agent/x.pyz", "agent_sha256": DIGEST, **more}


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_baked_agent_is_used_and_nothing_is_fetched(
    instance: Path, started: list[list[str]], server: Server
) -> None:
    baked = executable(instance / "bin/calor-agent")
    boot.start(identity(server.url))
    assert started == [[str(baked), "run"]]
    assert server.asked == 0


def test_without_a_baked_agent_the_file_is_fetched_once(
    instance: Path, started: list[list[str]], server: Server
) -> None:
    boot.start(identity(server.url))
    boot.start(identity(server.url))
    path = instance / f"state/agent-{DIGEST}.pyz"
    assert started == [[sys.executable, "-I", "-S", str(path), "run"]] * 2
    assert path.read_bytes() == CONTENT
    assert server.asked == 1


def test_a_damaged_file_is_fetched_again(instance: Path, started: list[list[str]], server: Server) -> None:
    boot.write(str(instance / f"state/agent-{DIGEST}.pyz"), b"cut", 0o600)
    boot.start(identity(server.url))
    assert (instance / f"state/agent-{DIGEST}.pyz").read_bytes() == CONTENT


def test_it_tries_until_the_server_has_the_right_file(
    instance: Path, started: list[list[str]], server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answers = [(503, b""), (404, b""), (200, b"another file"), (200, CONTENT)]
    boot.start(identity(server.url))
    assert server.asked == 4
    assert (instance / f"state/agent-{DIGEST}.pyz").read_bytes() == CONTENT
    assert "cannot be fetched" in capsys.readouterr().out


def test_os_collect_config_stays_unless_ours_is_asked_for(instance: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable(instance / "bin/os-collect-config")
    begun: list[str] = []
    monkeypatch.setattr(boot, "start_without_init", lambda: begun.append("without init"))
    monkeypatch.setattr(boot, "start_by_systemd", lambda: begun.append("systemd"))
    assert boot.install(identity("http://s")) == 0
    assert not Path(boot.IDENTITY).exists()
    assert boot.install(identity("http://s", beside_other_agents=True)) == 0
    assert Path(boot.IDENTITY).exists()
    assert len(begun) == 1


def test_an_image_of_a_server_does_not_bring_its_agents_state(instance: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "start_without_init", lambda: None)
    monkeypatch.setattr(boot, "start_by_systemd", lambda: None)
    boot.install(identity("http://s"))
    state = instance / "state"
    (state / "runs/r").mkdir(parents=True)
    (state / "secret").touch()
    boot.install(identity("http://s"))
    assert (state / "secret").exists()
    boot.install(identity("http://s", instance_id="i-2"))
    assert [path.name for path in state.iterdir()] == []
    assert json.loads(Path(boot.IDENTITY).read_text())["instance_id"] == "i-2"
    assert Path(boot.IDENTITY).stat().st_mode & 0o777 == 0o600


def test_the_tools_that_an_image_lacks_are_added_and_fetched_when_called(
    instance: Path, started: list[list[str]], server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = executable(instance / "bin/cfn-init")
    assert boot.install_tools(identity(server.url)) == 0
    assert theirs.read_text() == "#!/bin/sh\n"
    assert 'boot.py tool cfn-signal "$@"' in (instance / "bin/cfn-signal").read_text()
    assert os.readlink(instance / "opt/aws/cfn-hup") == str(instance / "bin/cfn-hup")
    assert server.asked == 0
    assert boot.main(["tool", "cfn-signal", "-e", "0", "http://x"]) == 1  # execv, here, comes back
    path = instance / f"state/agent-{DIGEST}.pyz"
    assert started == [[sys.executable, "-I", "-S", str(path), "cfn-signal", "-e", "0", "http://x"]]
    assert server.asked == 1


def test_an_image_with_all_tools_of_another_stays_as_it_is_but_for_links(instance: Path) -> None:
    for name in boot.TOOLS:
        executable(instance / "bin" / name)
    assert boot.install_tools(identity("http://s")) == 0
    assert not (instance / "etc").exists()
    assert (instance / "bin/cfn-signal").read_text() == "#!/bin/sh\n"
    assert os.readlink(instance / "opt/aws/cfn-signal") == str(instance / "bin/cfn-signal")


def test_baked_tools_get_the_names_that_templates_use_and_an_identity(
    instance: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("calor-agent", *boot.TOOLS):
        executable(instance / "local" / name)
    monkeypatch.setattr(boot, "SEARCH", str(instance / "local"))
    assert boot.install_tools(identity("http://s")) == 0
    assert (instance / "etc/calor/agent.json").exists()
    for directory in ("bin", "opt/aws"):
        assert os.readlink(instance / directory / "cfn-signal") == str(instance / "local/cfn-signal")


def test_a_fetched_agent_is_a_command_that_does_not_pass_for_a_baked_one(
    instance: Path, started: list[list[str]], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boot, "SEARCH", f"{instance}/bin:{instance}/local")
    boot.install(identity(server.url))
    command = instance / "bin/calor-agent"
    assert 'boot.py tool calor-agent "$@"' in command.read_text()
    assert os.access(command, os.X_OK)
    assert boot.baked_agent() is None
    started.clear()
    boot.main(["tool", "calor-agent", "status"])
    path = instance / f"state/agent-{DIGEST}.pyz"
    assert started == [[sys.executable, "-I", "-S", str(path), "status"]]
    baked = executable(instance / "local/calor-agent")
    assert boot.baked_agent() == str(baked)


def test_a_baked_agent_stays_the_command(instance: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "SEARCH", f"{instance}/bin:{instance}/local")
    executable(instance / "local/calor-agent")
    boot.install(identity("http://s"))
    assert not (instance / "bin/calor-agent").exists()


def test_a_tool_whose_program_cannot_be_had_fails_in_time(
    instance: Path, server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(boot, "TOOL_PATIENCE", 0.05)
    server.answers = [(503, b"")]
    boot.install_tools(identity(server.url))
    assert boot.main(["tool", "cfn-init"]) == 1
    assert "cfn-init: the agent that it is a part of cannot be had" in capsys.readouterr().err


def test_a_unit_is_written_only_where_none_is_baked(instance: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[str]] = []
    monkeypatch.setattr(subprocess, "check_call", calls.append)
    unit = instance / "units/calor-agent.service"
    boot.start_by_systemd()
    assert "KillMode=process" in unit.read_text()
    assert [call[1] for call in calls] == ["daemon-reload", "enable", "--no-block"]
    unit.write_text("baked")
    calls.clear()
    boot.start_by_systemd()
    assert unit.read_text() == "baked"
    assert [call[1] for call in calls] == ["enable", "--no-block"]


def script(directory: Path) -> Path:
    agent = AgentBoot(server="http://s", instance_id="i-7", bootstrap_token="t", agent_url="/a", agent_sha256="0")
    path = directory / "boot-script"
    path.write_bytes(agent_boot(agent).content)
    return path


def test_f067_an_image_without_python_says_so_in_one_line(tmp_path: Path) -> None:
    text = script(tmp_path).read_text().replace("/usr/", "/nowhere/").replace("/dev/console", "/dev/null")
    done = subprocess.run(["/bin/sh", "-c", text], env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == "calor: no agent in instance i-7: this image has no Python 3.6 or newer\n"


@pytest.mark.parametrize("python", interpreters.at_hand())
@pytest.mark.parametrize("name", ["boot.py", "part_handler.py", "loguserdata.py"])
def test_guest_files_load_on_every_python_at_hand(python: str, name: str) -> None:
    file = Path(boot.__file__).with_name(name)
    load = f"import runpy; runpy.run_path({str(file)!r}, run_name='loaded')"
    done = subprocess.run([python, "-B", "-I", "-S", "-c", load], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
