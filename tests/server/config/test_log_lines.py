"""Log lines: text or JSON, with the request's id, without secrets."""

import json
import logging
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from calor.server.config import logs


def record(message: str, **extra: object) -> logging.LogRecord:
    made = logging.makeLogRecord({"name": "calor.x", "levelname": "INFO", "levelno": 20, "msg": message})
    made.__dict__.update(extra)
    return made


def test_json_lines_carry_their_fields_and_the_request() -> None:
    with logs.request("req-1"):
        line = json.loads(logs.JsonLines().format(record("request", status=200)))
    assert (line["message"], line["status"], line["request_id"], line["level"]) == ("request", 200, "req-1", "INFO")


def test_text_lines_carry_them_too() -> None:
    with logs.request("req-1"):
        line = logs.TextLines().format(record("request", status=200))
    assert line.endswith("INFO calor.x request request_id=req-1 status=200")
    assert "request_id" not in logs.TextLines().format(record("other"))


@pytest.mark.parametrize("formatter", [logs.JsonLines(), logs.TextLines()])
@pytest.mark.parametrize(
    "extra",
    [
        {"password": "geheim"},
        {"auth_token": "geheim"},
        {"path": "/v1/signal/x?SignatureVersion=2&Signature=geheim"},
        {"url": "mysql://heat:geheim@db/heat"},
        {"body": '{"adminPassword": "geheim"}'},
        {"header": "X-Auth-Token: geheim"},
        {"value": "calor1.geheim.geheim"},
        {"value": "gAAAAAgeheimgeheimgeheimgeheim"},
    ],
)
def test_secrets_are_masked(formatter: logging.Formatter, extra: dict[str, str]) -> None:
    line = formatter.format(record("x", **extra))
    assert "geheim" not in line
    assert "***" in line


def test_an_address_with_a_port_is_no_secret() -> None:
    assert "http://127.0.0.1:8004" in logs.TextLines().format(record("listening", url="http://127.0.0.1:8004"))


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_log_file_is_not_for_everybody(tmp_path: Path, root_logger: logging.Logger) -> None:
    """F163: who may not administer the server does not read its log."""
    file = tmp_path / "calor.log"
    logs.install(log_format="json", debug=False, log_file=str(file))
    logging.getLogger("calor.test").info("started", extra={"port": 8004})
    root_logger.handlers[0].close()
    assert json.loads(file.read_text())["port"] == 8004
    assert stat.S_IMODE(file.stat().st_mode) & stat.S_IRWXO == 0
