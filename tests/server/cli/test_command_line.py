"""The calor command as a user runs it."""

import json
import os
import re
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from calor.server.cli import COMMANDS, main
from calor.server.cli.options import load_settings
from calor.server.identity import Vault, keys

CALOR = [sys.executable, "-m", "calor.server"]


def calor(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*CALOR, *arguments], capture_output=True, text=True, timeout=180)


def test_help_lists_every_verb_without_importing_it() -> None:
    code = (
        "import sys; from calor.server.cli import main\n"
        "try: main(['--help'], prog_name='calor')\n"
        "except SystemExit: pass\n"
        "print(sorted(set(sys.modules) & {'aiohttp', 'sqlalchemy', 'openstack', 'oslo_config', 'alembic'}))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=180).stdout
    assert all(name in shown for name in COMMANDS)
    assert shown.rstrip().endswith("[]")


def test_an_unknown_verb_is_a_usage_error() -> None:
    result = CliRunner().invoke(main, ["explode"])
    assert result.exit_code == 2
    assert "No such command 'explode'" in result.output


def test_version() -> None:
    assert CliRunner().invoke(main, ["version"]).output.startswith("calor 0.")


def test_config_sample_names_the_sections() -> None:
    output = CliRunner().invoke(main, ["config", "sample"]).output
    assert all(f"[{name}]" in output for name in ("DEFAULT", "heat_api", "database", "keystone_authtoken"))


def test_config_check_says_all_that_is_wrong_at_once(tmp_path: Path) -> None:
    good = configuration(tmp_path)
    answer = CliRunner().invoke(main, ["config", "check", "--config-file", str(good)])
    assert (answer.exit_code, answer.output) == (0, "The configuration can be used as it is.\n")
    bad = tmp_path / "bad.conf"
    bad.write_text("[DEFAULT]\nstat_dir = /x\nallow_loopback_guest_urls = false\n[clientz]\n")
    answer = CliRunner().invoke(main, ["config", "check", "--config-file", str(good), "--config-file", str(bad)])
    assert answer.exit_code == 1
    assert answer.output.splitlines()[:2] == [
        f"{bad}: [DEFAULT] has no option stat_dir (did you mean 'state_dir'?); it is ignored.",
        f"{bad}: there is no section [clientz] (did you mean 'clients'?); it is ignored.",
    ]
    assert "server_guest_url is not set" in answer.output
    bad.write_text("[heat_api]\nbind_port = high\n")
    answer = CliRunner().invoke(main, ["config", "check", "--config-file", str(bad)])
    assert answer.exit_code == 1 and "bind_port" in answer.output


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def configuration(folder: Path, *, rest: int = 0, cfn: int = 0, general: str = "", listener: str = "") -> Path:
    """A server on loopback whose Keystone is not there."""
    file = folder / "calor.conf"
    file.write_text(
        f"[DEFAULT]\nstate_dir = {folder}\nallow_loopback_guest_urls = true\n{general}\n"
        f"[heat_api]\nbind_host = 127.0.0.1\nbind_port = {rest}\n{listener}\n"
        f"[heat_api_cfn]\nbind_host = 127.0.0.1\nbind_port = {cfn}\n"
        f"[keystone_authtoken]\nauth_url = http://127.0.0.1:{free_port()}/v3\nusername = heat\npassword = pw\n"
    )
    return file


def test_db_upgrade_makes_the_schema_and_version_shows_it(tmp_path: Path) -> None:
    conf = configuration(tmp_path)
    before = CliRunner().invoke(main, ["db", "version", "--config-file", str(conf)])
    assert before.exit_code == 1
    assert "calor db upgrade" in before.output
    upgraded = CliRunner().invoke(main, ["db", "upgrade", "--config-file", str(conf)])
    assert upgraded.exit_code == 0, upgraded.output
    with sqlite3.connect(tmp_path / "calor.sqlite") as database:
        assert database.execute("SELECT count(*) FROM alembic_version").fetchone() == (1,)
    database.close()
    after = CliRunner().invoke(main, ["db", "version", "--config-file", str(conf)])
    assert (after.exit_code, "which is this server's" in after.output) == (0, True)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("sqlite:////nowhere/at/all.sqlite", "there is no folder /nowhere/at"),
        ("nonsense", "cannot be opened"),
        ("mysql://heat:geheim@127.0.0.1:1/heat", r"mysql://heat:\*\*\*@127.0.0.1:1/heat cannot be opened"),
    ],
)
def test_a_database_that_cannot_be_opened_is_one_line_without_its_password(
    tmp_path: Path, url: str, words: str
) -> None:
    conf = configuration(tmp_path)
    conf.write_text(conf.read_text() + f"[database]\nconnection = {url}\n")
    for verb in ("upgrade", "version"):
        result = CliRunner().invoke(main, ["db", verb, "--config-file", str(conf)])
        assert result.exit_code == 1
        assert re.search(words, result.output)
        assert "geheim" not in result.output
        assert "Traceback" not in result.output


def test_a_missing_database_driver_is_named_with_the_command_that_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "aiomysql", None)
    conf = configuration(tmp_path)
    conf.write_text(conf.read_text() + "[database]\nconnection = mysql://heat:geheim@127.0.0.1:1/heat\n")
    result = CliRunner().invoke(main, ["db", "upgrade", "--config-file", str(conf)])
    assert result.exit_code == 1
    assert "pipx inject calor aiomysql" in result.output
    assert "geheim" not in result.output


def test_rotated_keys_still_open_what_was_sealed_before(tmp_path: Path) -> None:
    conf = configuration(tmp_path)
    path = load_settings((conf,), None).key_file
    refused = CliRunner().invoke(main, ["keys", "rotate", "--config-file", str(conf)])
    assert (refused.exit_code, "does not exist" in refused.output) == (1, True)
    before = keys.load_or_create(path)
    sealed = Vault.of(before).seal("a secret")
    result = CliRunner().invoke(main, ["keys", "rotate", "--config-file", str(conf)])
    assert (result.exit_code, "2 sealing keys" in result.output) == (0, True), result.output
    after = keys.load(path)
    assert after.sealing[0] not in before.sealing
    assert after.signing == before.signing
    assert Vault.of(after).open(sealed) == "a secret"
    assert path.stat().st_mode & 0o777 == 0o600


class Server:
    """``calor server`` in a process of its own."""

    def __init__(self, folder: Path, conf: Path) -> None:
        self.ready_file = folder / "ready.json"
        self.log = (folder / "log").open("wb")
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [*CALOR, "server", "--config-file", str(conf), "--ready-file", str(self.ready_file)],
            stdout=self.log,
            stderr=self.log,
        )

    def ready(self) -> dict[str, Any]:
        while not self.ready_file.exists():
            assert self.process.poll() is None, Path(self.log.name).read_text()
            assert time.monotonic() - self.began < 180, "it is not ready for minutes"
            time.sleep(0.01)
        record: dict[str, Any] = json.loads(self.ready_file.read_text())
        return record

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(120)
        self.log.close()
        return code


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    made: list[Server] = []

    def begin(**options: Any) -> Server:
        conf = configuration(tmp_path, **options)
        assert calor("db", "upgrade", "--config-file", str(conf)).returncode == 0
        made.append(Server(tmp_path, conf))
        return made[-1]

    yield begin
    for server in made:
        server.end()


def fetch(url: str, **more: Any) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10, **more) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as exc:
        with exc:
            return exc.code, exc.read().decode()


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_server_says_when_it_is_ready_answers_and_stops_when_told(start: Any, how: signal.Signals) -> None:
    server = start()
    record = server.ready()
    assert record["pid"] == server.process.pid
    status, body = fetch(record["orchestration"])
    assert (status, json.loads(body)["versions"][0]["id"]) == (300, "v1.0")
    assert fetch(f"{record['cfn']}/v1/?Action=Foo")[0] == 400
    assert fetch(f"{record['orchestration']}/healthcheck")[0] == 200
    began = time.monotonic()
    assert server.end(how) == 0
    assert time.monotonic() - began < 15


@pytest.mark.slow
def test_without_its_keystone_a_server_answers_503(start: Any) -> None:
    record = start().ready()
    request = urllib.request.Request(f"{record['orchestration']}/v1/p/stacks", headers={"X-Auth-Token": "x"})
    try:
        urllib.request.urlopen(request, timeout=30)
        raise AssertionError("it answered")
    except urllib.error.HTTPError as exc:
        with exc:
            assert exc.code == 503
            assert json.loads(exc.read())["error"]["type"] == "ServiceUnavailable"


@pytest.mark.slow
@pytest.mark.parametrize("section", ["heat_api", "heat_api_cfn"])
def test_a_taken_port_is_one_clear_line_and_exit_code_1(tmp_path: Path, section: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        conf = configuration(tmp_path, **({"rest": port} if section == "heat_api" else {"cfn": port}))
        assert calor("db", "upgrade", "--config-file", str(conf)).returncode == 0
        ended = calor("server", "--config-file", str(conf))
    assert ended.returncode == 1
    assert ended.stderr == (
        f"calor server: 127.0.0.1 port {port} is taken by another program: "
        f"stop it, or set bind_port in [{section}] of calor.conf.\n"
    )


@pytest.mark.slow
def test_a_database_without_schema_is_refused_with_the_command_that_helps(tmp_path: Path) -> None:
    ended = calor("server", "--config-file", str(configuration(tmp_path)))
    assert ended.returncode == 1
    assert "calor db upgrade" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.slow
def test_f047_a_loopback_guest_url_is_refused_at_start(tmp_path: Path) -> None:
    general = "server_guest_url = http://127.0.0.1:8004\nheat_metadata_server_url = http://h:8000"
    conf = configuration(tmp_path, general=general)
    conf.write_text(conf.read_text().replace("allow_loopback_guest_urls = true\n", ""))
    ended = calor("server", "--config-file", str(conf))
    assert ended.returncode == 1
    assert "server_guest_url = http://127.0.0.1:8004 leads an instance to itself" in ended.stderr


@pytest.mark.slow
def test_a_name_that_means_nothing_is_told_at_start(tmp_path: Path) -> None:
    conf = configuration(tmp_path, general="max_templat_size = 1")
    ended = calor("server", "--config-file", str(conf))  # its database is not there, so it ends at once
    assert f"{conf}: [DEFAULT] has no option max_templat_size (did you mean 'max_template_size'?)" in ended.stderr


@pytest.mark.slow
def test_tls_by_cert_file_and_key_file(start: Any, tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-out", str(cert), "-keyout", str(key)]
    subprocess.run([*command.split(), *names], check=True, capture_output=True)
    record = start(listener=f"cert_file = {cert}\nkey_file = {key}").ready()
    assert record["orchestration"].startswith("https://")
    trusting = ssl.create_default_context(cafile=str(cert))
    assert fetch(f"{record['orchestration']}/healthcheck", context=trusting) == (200, "OK")


@pytest.mark.slow
def test_a_killed_server_starts_again_on_its_state(start: Any, tmp_path: Path) -> None:
    port = free_port()
    first = start(rest=port)
    first.ready()
    first.end(signal.SIGKILL)
    (tmp_path / "ready.json").unlink()
    keys = (tmp_path / "keys").read_bytes()
    assert start(rest=port).ready()["orchestration"].endswith(f":{port}")
    assert (tmp_path / "keys").read_bytes() == keys
    assert os.stat(tmp_path / "keys").st_mode & 0o077 == 0
