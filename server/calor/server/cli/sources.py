"""Faults that a server finds in a template, with the lines that they stand in, as ``calor validate`` shows them."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from calor.server.cli.client import Fault
from calor.server.tosca import is_archive

_PLACED = re.compile(r"(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): (?P<message>.*)")
_BAD_REQUEST = 400


@contextmanager
def quoting(body: Mapping[str, Any], template: Path | None) -> Iterator[None]:
    """While this lasts, a refusal of the request ``body`` tells the user's files, and their lines."""
    try:
        yield
    except Fault as fault:
        if fault.status != _BAD_REQUEST:
            raise
        lines = [_quoted(line, body, template) for line in fault.message.splitlines()]
        raise Fault("\n".join(lines), fault.status) from fault


def _quoted(line: str, body: Mapping[str, Any], template: Path | None) -> str:
    from calor.server.authoring.texts import shown
    from calor.server.errors import Problem

    placed = _PLACED.fullmatch(line)
    found = placed and _file(placed["file"], body, template)
    if not placed or not found:
        return line
    name, text = found
    at, column = int(placed["line"]), int(placed["column"])
    return shown(Problem(message=placed["message"], file=name, line=at, column=column), text)


def _file(name: str, body: Mapping[str, Any], template: Path | None) -> tuple[str, str | None] | None:
    """What the server calls so: the user's name for it and its text as he wrote it. None for what is not his."""
    if name == "template":
        if template is None:
            return None
        return str(template), body["template"] if is_archive(template.name) else _text(template)
    if name.startswith("file://") and name in body["files"]:
        path = Path(unquote(urlsplit(name).path))
        return str(path), _text(path)
    return None


def _text(path: Path) -> str | None:
    """None where it has gone meanwhile: the fault is told without its line then."""
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
