"""How log lines look: text or JSON, each with its request's id; secrets masked."""

import json
import logging
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
MASK = "***"

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_SECRET_NAMES = re.compile(r"(password|secret|token|signature|credential|authorization|private_key)", re.IGNORECASE)
_SECRET_TEXTS = re.compile(
    r"(?P<keep>(?:X-Amz-)?Signature=|X-Auth-Token:?\s*|://[^/\s:@]*:(?=[^/\s@]*@)|\"?(?:admin)?password\"?\s*[:=]\s*\"?)"
    r"(?P<hide>[^&\s\",@]+)|(?P<token>\bgAAAA[\w=-]{20,}|\bcalor1\.[\w.=-]+)",
    re.IGNORECASE,
)


def masked(text: str) -> str:
    """The text without tokens, passwords and signatures."""
    return _SECRET_TEXTS.sub(lambda found: (found["keep"] or "") + MASK, text)


@contextmanager
def request(ident: str) -> Iterator[None]:
    """Log lines inside the block carry this request id."""
    token = REQUEST_ID.set(ident)
    try:
        yield
    finally:
        REQUEST_ID.reset(token)


def _fields(record: logging.LogRecord) -> Mapping[str, Any]:
    found = {name: value for name, value in vars(record).items() if name not in _PLAIN}
    shown = {name: MASK if _SECRET_NAMES.search(name) else _shown(value) for name, value in found.items()}
    ident = REQUEST_ID.get()
    return {"request_id": ident, **shown} if ident else shown


def _shown(value: Any) -> Any:
    return value if isinstance(value, (int, float, type(None))) else masked(str(value))


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": masked(record.getMessage()),
            **_fields(record),
        }
        if record.exc_info:
            line["traceback"] = masked(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


class TextLines(logging.Formatter):
    """``time LEVEL logger message name=value …``"""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        fields = "".join(f" {name}={value}" for name, value in _fields(record).items())
        line = f"{time} {record.levelname} {record.name} {record.getMessage()}{fields}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return masked(line)


def install(*, log_format: str, debug: bool, log_file: str = "") -> None:
    """Send the root logger's lines to the file or to standard error. A new file has mode 0640."""
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if log_file:
        path = Path(log_file)
        path.touch(mode=0o640, exist_ok=True)
        handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(JsonLines() if log_format == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.DEBUG if debug else logging.INFO)
    for noisy in (
        "keystoneauth",
        "urllib3",
        "asyncio",
        "stevedore",
        "openstack",
        "oslo_policy",
        "aiosqlite",
        "alembic",
    ):
        logging.getLogger(noisy).setLevel(logging.INFO if debug else logging.WARNING)
