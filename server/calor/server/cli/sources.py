"""Faults that a server finds in a template, with the lines that they stand in, as ``calor validate`` shows them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import click

from calor.server.cli import verdict
from calor.server.cli.api_fault import Fault
from calor.server.tosca import is_archive

if TYPE_CHECKING:
    from calor.server.errors import Problem


class Refused(Fault):
    """A request whose template, environments or values have faults: they are shown instead of the server's text."""

    def __init__(self, fault: Fault, shown: str, *, is_json: bool) -> None:
        super().__init__(shown, fault.status, fault.problems)
        self.is_json = is_json

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(self.message, file=file, err=not self.is_json)


@contextmanager
def quoting(body: Mapping[str, Any], template: Path | None, shape: str = "text") -> Iterator[None]:
    """While this lasts, a refusal of the request ``body`` tells the user's files, and their lines; as JSON with the
    ``shape`` json."""
    try:
        yield
    except Fault as fault:
        if not fault.problems:
            raise
        shown = _shown(fault.problems, body, template, shape)
        raise Refused(fault, shown, is_json=shape == "json") from fault


def _shown(found: Sequence[Mapping[str, Any]], body: Mapping[str, Any], template: Path | None, shape: str) -> str:
    from dataclasses import replace

    from calor.server.template.problems import of_data

    problems, texts = list["Problem"](), dict[str, str | None]()
    for one in map(of_data, found):
        name, texts[name] = _file(one.file, body, template)
        problems.append(replace(one, file=name))
    if shape == "json":
        return verdict.as_json(problems)
    return verdict.as_text(str(template or "The request"), problems, (), texts.get)


def _file(name: str, body: Mapping[str, Any], template: Path | None) -> tuple[str, str | None]:
    """The user's name for what the server calls so, and its text as he wrote it; None where it is not his."""
    if name in ("template", "") and template is not None:
        return str(template), body["template"] if is_archive(template.name) else _text(template)
    if name.startswith("file://"):
        path = Path(unquote(urlsplit(name).path))
        return from_here(path), _text(path)
    return name, body["files"].get(name)


def from_here(path: Path) -> str:
    """Below the working directory as on the way from there, else whole."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _text(path: Path) -> str | None:
    """None where it has gone meanwhile: the fault is told without its line then."""
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
