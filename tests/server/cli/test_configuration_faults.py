"""``calor config check`` refuses what ``calor server`` refuses, all of it at once."""

import json
import subprocess
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner, Result

from calor.server.cli import main, options


def configuration(
    folder: Path, general: str = "", listener: str = "", more: str = "", url: str = "http://k/v3"
) -> Path:
    file = folder / "calor.conf"
    file.write_text(
        f"[DEFAULT]\nstate_dir = {folder}\nallow_loopback_guest_urls = true\n{general}\n"
        f"[heat_api]\nbind_host = 127.0.0.1\nbind_port = 0\n{listener}\n[heat_api_cfn]\nbind_port = 0\n"
        f"[keystone_authtoken]\nauth_url = {url}\nusername = heat\npassword = topsecret\n{more}\n"
    )
    return file


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    subprocess.run([*command.split(), "-out", str(cert), "-keyout", str(key)], check=True, capture_output=True)
    return cert, key


@pytest.fixture
def _quiet_logging() -> Any:
    """``calor server`` replaces the root logger's handlers."""
    import logging

    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield
    root.handlers[:] = before
    root.setLevel(level)


@pytest.mark.usefixtures("_quiet_logging")
def test_check_and_start_name_all_that_cannot_be_used_in_the_same_words(tmp_path: Path) -> None:
    (cert, _), (_, other_key) = certificate(tmp_path, "one"), certificate(tmp_path, "other")
    (tmp_path / "keys").write_text("rubbish\n")
    (tmp_path / "keys").chmod(0o600)
    conf = configuration(
        tmp_path,
        listener=f"cert_file = {cert}\nkey_file = {other_key}",
        more=f"cafile = /nowhere/ca.pem\n[oslo_policy]\npolicy_file = {tmp_path}/no-policy.yaml",
    )
    checked = run("config", "check", "--config-file", conf)
    assert checked.exit_code == 1
    said = checked.output.splitlines()
    assert [words for words in ("TLS of [heat_api]", "no-policy.yaml", "/nowhere/ca.pem", str(tmp_path / "keys"))
            if not any(words in line for line in said)] == []  # fmt: skip
    assert len(said) == 4
    started = run("server", "--config-file", conf)
    assert started.exit_code == 1
    assert [
        line.removeprefix("calor server: ") for line in started.output.splitlines() if "calor server" in line
    ] == said


def test_a_certificate_that_is_not_there_and_broken_rules_are_refused(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("stacks:index: [unclosed\n")
    conf = configuration(
        tmp_path,
        listener="cert_file = /nowhere/c.pem\nkey_file = /nowhere/k.pem",
        more=f"[oslo_policy]\npolicy_file = {tmp_path}/rules.yaml",
        general=f"log_file = {tmp_path}/nowhere/calor.log\nencryption_key_file = /proc/calor/keys",
    )
    output = run("config", "check", "--config-file", conf).output
    assert "TLS of [heat_api]: /nowhere/c.pem and /nowhere/k.pem cannot be used" in output
    assert "rules.yaml cannot be read" in output
    assert f"log_file = {tmp_path}/nowhere/calor.log cannot be written: there is no folder" in output


def test_a_check_changes_nothing(tmp_path: Path) -> None:
    conf = configuration(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert run("config", "check", "--config-file", conf).exit_code == 0
    assert sorted(tmp_path.iterdir()) == before


def test_a_missing_calor_conf_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(options, "_DEFAULT_FILES", (tmp_path / "calor.conf",))
    output = run("config", "check").output
    assert output.startswith("There is no /etc/calor/calor.conf and no --config-file is given: the defaults hold.\n")
    assert "auth_url in [keystone_authtoken] is not set" in output


class RefusingKeystone(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        link = {"rel": "self", "href": f"http://{self.headers['Host']}/v3/"}
        self._answer(200, {"version": {"id": "v3.14", "status": "stable", "links": [link]}})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(401, {"error": {"code": 401, "message": "no", "title": "Unauthorized"}})

    def _answer(self, status: int, document: Any) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Nothing: the test's output stays readable."""


def test_connect_tries_keystone_and_the_database(tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), RefusingKeystone) as keystone:
        Thread(target=keystone.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{keystone.server_port}/v3"
        conf = configuration(tmp_path, url=url)
        assert run("config", "check", "--config-file", conf).exit_code == 0
        answer = run("config", "check", "--connect", "--config-file", conf)
        keystone.shutdown()
    assert answer.exit_code == 1
    assert f"Keystone at {url} refuses user heat (401): check username, password" in answer.output
    assert "calor db upgrade" in answer.output
    assert "topsecret" not in answer.output
