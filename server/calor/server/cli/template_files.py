"""Templates and environments from files, with all the files that they name: what a client sends with a template.

References are rewritten in the text at their places (to ``file://`` URLs of absolute paths), and nothing else of it:
the server reads the template as it was written. A TOSCA template is not touched at all.
"""

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, urlsplit

import click
import yaml

from calor.server.cli import verdict
from calor.server.cli.sources import from_here
from calor.server.errors import CalorError, Problem
from calor.server.template.files import has_nul
from calor.server.template.problems import in_order
from calor.server.template.unreadable import fault_of
from calor.server.tosca import gather, is_archive, is_tosca, unpack

Find = Callable[[yaml.Node], Iterator[tuple[yaml.ScalarNode, bool]]]
"""The scalars of a document that name files, each with whether it names a template."""
ENDINGS = (".yaml", ".yml", ".template", ".json")


class Incomplete(click.ClickException):
    """Files that cannot be sent: shown as ``calor validate`` shows them."""

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(self.message, file=file, err=True)


@dataclass
class Gathered:
    """``files`` are contents by URL. What is missing is in ``problems``, to be told at once (`require_all`)."""

    files: dict[str, str] = field(default_factory=dict)
    folder: Path | None = None
    """Of the first template or environment: names of files are told as seen from there."""
    names: dict[Path, str] = field(default_factory=dict)
    """Of the files that the user has named, as he has."""
    problems: list[Problem] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    """Of the files that have problems, by their names in these."""

    def template(self, path: Path) -> str:
        """The text of a template, its references rewritten; what it refers to is in ``files``. Files of a TOSCA
        template, or of its archive, are there under the names that it has for them."""
        if is_archive(path.name):
            return self._unpacked(path)
        text = _text_of(path)
        if is_tosca(text):
            self.files |= gather(text, lambda name: _text_beside(path, name))
            return text
        return self._rewritten(path, text, _references)

    def _unpacked(self, path: Path) -> str:
        try:
            archive = unpack(path.read_bytes(), path.name)
        except OSError as exc:
            raise click.ClickException(f"{path} cannot be read: {exc.strerror}.") from exc
        except CalorError as exc:
            raise click.ClickException(exc.detail) from exc
        self.files |= archive.files
        return archive.template

    def environment(self, path: Path) -> str:
        """The URL of an environment, whose content is in ``files``."""
        url = path.resolve().as_uri()
        self.files[url] = self._rewritten(path, _text_of(path), _registered)
        return url

    def _rewritten(self, path: Path, text: str, find: Find) -> str:
        self.folder = self.folder or path.absolute().parent
        try:
            root = yaml.compose(text, Loader=yaml.CSafeLoader)
        except yaml.YAMLError as exc:
            self._tell(fault_of(exc, text, self._name(path)), text)
            return text
        places: dict[int, tuple[int, str]] = {}
        for node, is_template in find(root) if root is not None else ():
            if "://" in node.value and not node.value.startswith("file://"):
                raise click.ClickException(
                    f"{path}:{node.start_mark.line + 1}: {node.value}: only local files are sent."
                )
            target = _target(path, node.value)
            if target.is_file():
                places[node.start_mark.index] = (node.end_mark.index, self._gathered(target, is_template))
            else:
                self._tell(self._missing(path, node, target), text)
        for begin in sorted(places, reverse=True):
            end, url = places[begin]
            text = f'{text[:begin]}"{url}"{text[end:]}'
        return text

    def _gathered(self, target: Path, is_template: bool) -> str:
        url = target.as_uri()
        if url not in self.files:
            self.files[url] = ""  # templates that name each other come to an end; the server refuses them
            self.files[url] = self.template(target) if is_template else _text_of(target)
        return url

    def _name(self, path: Path) -> str:
        """As the user would name it."""
        return self.names.get(path.resolve()) or from_here(path)

    def _missing(self, path: Path, node: yaml.ScalarNode, target: Path) -> Problem:
        name = os.path.relpath(target, (self.folder or path.parent).resolve())
        why = os.strerror(errno.EISDIR if target.is_dir() else errno.ENOENT)
        return Problem(
            message=f"The file {name!r} cannot be read: {why}.",
            file=self._name(path),
            line=node.start_mark.line + 1,
            column=node.start_mark.column + 1,
            code="missing-file",
        )

    def _tell(self, problem: Problem, text: str) -> None:
        self.problems.append(problem)
        self.texts[problem.file] = text

    def require_all(self, template: Path | None, environments: tuple[Path, ...], values: Mapping[str, Any]) -> None:
        """Raises `Incomplete` with all that is missing or cannot be read, and what else is wrong: no server is asked
        then, which would tell it."""
        if not self.problems:
            return
        if template is not None:
            self._add_found_here(template, environments, values)
        name = "" if template is None else str(template)
        told = in_order(self.problems, name)
        raise Incomplete(verdict.as_text(name or "The request", told, (), self.texts.get))

    def _add_found_here(self, template: Path, environments: tuple[Path, ...], values: Mapping[str, Any]) -> None:
        from calor.server.authoring.checking import Wanted, as_given, check

        wanted = Wanted(template=template, environments=environments, parameters=values)
        report = as_given(wanted, check(wanted))
        known = {_place(one) for one in self.problems}
        self.problems += [one for one in report.problems if _place(one) not in known]
        self.texts = {**report.texts, **self.texts}


def _place(problem: Problem) -> tuple[Path, int, int] | Problem:
    return (Path(problem.file).resolve(), problem.line, problem.column) if problem.line else problem


def _references(root: yaml.Node) -> Iterator[tuple[yaml.ScalarNode, bool]]:
    """Arguments of ``get_file``, and types that are templates."""
    for key, value in _pairs(root):
        if not isinstance(value, yaml.ScalarNode):
            continue
        if key in ("get_file", "Fn::GetFile"):
            yield value, False
        elif key == "type" and value.value.endswith(ENDINGS):
            yield value, True


def _registered(root: yaml.Node) -> Iterator[tuple[yaml.ScalarNode, bool]]:
    """Templates in ``resource_registry``, and arguments of ``get_file`` in parameters."""
    for key, value in _pairs(root):
        if isinstance(value, yaml.ScalarNode) and key == "get_file":
            yield value, False
        if key == "resource_registry":
            for _, one in _pairs(value):
                if isinstance(one, yaml.ScalarNode) and one.value.endswith(ENDINGS):
                    yield one, True


def _pairs(root: yaml.Node) -> Iterator[tuple[str, yaml.Node]]:
    """All keys and values at any depth, each node once."""
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                yield str(key.value), value
                waiting.append(value)
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value


def _target(base: Path, named: str) -> Path:
    if named.startswith("file://"):
        return Path(unquote(urlsplit(named).path))
    return (base.resolve().parent / named).resolve()


def _text_beside(template: Path, name: str) -> str | None:
    file = template.parent / name
    return _text_of(file) if file.is_file() else None


def _text_of(path: Path) -> str:
    try:
        text = path.read_bytes().decode("utf-8")  # each line end as it is: scripts and values may depend on it
    except UnicodeDecodeError as exc:
        raise click.ClickException(f"{path} is no UTF-8 text: only texts can be sent with a template.") from exc
    except OSError as exc:
        raise click.ClickException(f"{path} cannot be read: {exc.strerror}.") from exc
    if has_nul(text):
        raise click.ClickException(f"{path} is not text: it holds a NUL character.")
    return text
