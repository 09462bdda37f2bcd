"""What the client says where there is no cloud, how it prints to a pipe, and what `calor dev` says of itself."""

import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from calor.server.cli import main
from calor.server.cli.dev import files, removal
from calor.server.cli.shown import put_facts, put_table
from calor.server.cli.stack.failures import put_failure
from calor.server.devcloud.sandbox import leftovers
from calor.server.devcloud.state import Ports, new_state, save


def calor(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


@pytest.fixture
def no_cloud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("OS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("no_cloud")
def test_without_any_cloud_the_message_says_how_to_name_one() -> None:
    done = calor("stack", "list")
    assert done.exit_code == 1
    assert "No cloud is named" in done.output
    assert "--os-cloud or OS_CLOUD" in done.output


@pytest.mark.usefixtures("no_cloud")
def test_a_folder_without_a_dev_cloud_is_told(tmp_path: Path) -> None:
    for folder in (tmp_path / "nonesuch", tmp_path):
        done = calor("stack", "list", "--dev", str(folder))
        assert (done.exit_code, f"There is no dev cloud in {folder}." in done.output) == (1, True)


def clouds_of_nobody(folder: Path) -> None:
    """A clouds.yaml whose cloud `calor` does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    url = f"http://127.0.0.1:{port}/identity/v3"
    auth = {"auth_url": url, "username": "demo", "password": "x", "project_name": "demo"}
    auth |= {"user_domain_id": "default", "project_domain_id": "default"}
    (folder / "clouds.yaml").write_text(yaml.safe_dump({"clouds": {"calor": {"auth": auth}}}))


@pytest.mark.usefixtures("no_cloud")
@pytest.mark.filterwarnings("ignore:Support for InfluxDB")  # the SDK's own, whenever it opens a cloud
def test_a_dev_cloud_that_is_not_running_is_told_with_the_command_that_starts_it(tmp_path: Path) -> None:
    clouds_of_nobody(tmp_path)
    done = calor("stack", "list", "--dev", str(tmp_path))
    command = f"calor dev --state-dir {tmp_path}"
    assert done.output == f"Error: The dev cloud in {tmp_path} is not running; start it: {command}\n"


@pytest.mark.usefixtures("no_cloud")
@pytest.mark.filterwarnings("ignore:Support for InfluxDB")  # the SDK's own, whenever it opens a cloud
def test_a_dev_cloud_is_known_by_its_state_beside_its_clouds_yaml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dev").mkdir()
    clouds_of_nobody(tmp_path / "dev")
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(tmp_path / "dev/clouds.yaml"))
    assert "dev cloud" not in calor("stack", "list", "--os-cloud", "calor").output
    (tmp_path / "dev/dev.json").write_text("{}")
    told = f"Error: The dev cloud in {tmp_path}/dev is not running; start it: calor dev --state-dir {tmp_path}/dev\n"
    assert calor("stack", "list", "--os-cloud", "calor").output == told
    monkeypatch.setenv("OS_CLOUD", "calor")
    assert calor("stack", "list").output == told


def test_what_goes_to_a_pipe_has_no_trailing_blanks(capsys: pytest.CaptureFixture[str]) -> None:
    put_table(("ID", "Name"), [("1", "short"), ("2", "a much longer name"), ("3", None)])
    put_facts({"a": "x", "b": "longer"})
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["ID  Name", "1   short", "2   a much longer name", "3", "a  x", "b  longer"]


def test_a_failure_shows_the_same_output_once(capsys: pytest.CaptureFixture[str]) -> None:
    reason = "Error: resources.d: exit code 3; last lines: E: no space"
    failed = {"resource_name": "d", "resource_status": "CREATE_FAILED", "resource_status_reason": reason}
    put_failure(failed, {"output_values": {"deploy_stderr": "E: no space\n"}}, whole=False)
    assert capsys.readouterr().out.count("E: no space") == 1
    put_failure(failed, None, whole=False)
    assert capsys.readouterr().out.count("E: no space") == 1


def test_the_help_of_calor_dev_names_each_port_and_default() -> None:
    text = " ".join(calor("dev", "--help").output.split())
    assert "[default: (" not in text
    assert "Port of the server's REST API. [default: 8004" in text
    assert "Port of the server's CloudFormation API. [default: 8000" in text


@pytest.mark.parametrize(("driver", "is_told"), [("record", False), ("sandbox", True)])
def test_the_banner_recommends_a_shell_only_where_servers_run(
    driver: str, is_told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    about: dict[str, Any] = {"is": "a", "is_not": "b"}
    files.greet(tmp_path, new_state(Ports(cloud=1, orchestration=2, cfn=3), driver), about)
    assert ("calor dev shell" in capsys.readouterr().out) is is_told


@pytest.mark.parametrize("keeps", [True, False])
def test_the_banner_says_what_is_there_at_the_next_start(
    keeps: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = new_state(Ports(cloud=1, orchestration=2, cfn=3), "record")
    files.greet(tmp_path, known, {"is": "a", "is_not": "b"}, keeps_servers=keeps)
    last = capsys.readouterr().out.splitlines()[-1]
    assert ("volumes and servers are still there" in last, "servers are removed then" in last) == (keeps, not keeps)


def test_the_help_of_calor_dev_names_the_variable_that_its_folder_depends_on() -> None:
    assert "[default: $XDG_STATE_HOME/calor/dev, which is" in " ".join(calor("dev", "--help").output.split())


def test_servers_that_a_running_cloud_removes_at_its_end_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, new_state(Ports(cloud=1, orchestration=2, cfn=3), "sandbox"))
    for name in ("a", "b"):
        (tmp_path / "servers" / name).mkdir(parents=True)

    def ended(_pids: Any, _number: Any) -> None:
        shutil.rmtree(tmp_path / "servers")

    async def nothing(_: Path) -> int:
        return 0

    monkeypatch.setattr(removal, "_signal", ended)
    monkeypatch.setattr(leftovers, "remove", nothing)
    assert calor("dev", "remove", "--state-dir", str(tmp_path)).output == "Removed 2 servers.\n"
