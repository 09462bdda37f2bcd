"""A template on this machine with the files that it and its nested templates name, as a client would send them.

A name stands for a file beside the one that mentions it. In what is checked, every name is relative to the folder of
the root template: names in files of other folders are rewritten in their text, which keeps every line where it was.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from calor.server.authoring.texts import Text, load
from calor.server.errors import CalorError, Problem
from calor.server.template import Environment
from calor.server.template.dialects import DIALECTS
from calor.server.template.files import NotText
from calor.server.template.reader import Limits, read
from calor.server.template.source import MarkedMap, Source

SUFFIXES = (".yaml", ".yml", ".template", ".json")
READERS = ("get_file", "Fn::GetFile")
LIMITS = Limits(size=4 << 20)

Reader = Callable[[Path], Text]


@dataclass
class Bundle:
    """``texts`` are the files by the names under which templates know them. ``problems`` tell what is missing."""

    folder: Path
    read: Reader = load
    texts: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def name_of(self, path: Path) -> str:
        return os.path.relpath(path, self.folder)

    def take(self, path: Path, *, is_template: bool, asked: Problem | None = None) -> None:
        """A file and, if it is a template, those that it names. ``asked`` says who wants it, in case it is missing."""
        name = self.name_of(path)
        if name in self.texts:
            return
        try:
            text = self.read(path)
        except OSError as error:
            if asked is not None:
                self.problems.append(replace(asked, message=f"The file {name!r} cannot be read: {error.strerror}."))
            return
        self.texts[name] = text.content
        if not isinstance(text.content, NotText) and (is_template or _is_template(text.content)):
            self.texts[name] = self.follow(text.content, path)

    def follow(self, text: str, path: Path) -> str:
        """Take what a template's text names; answers the text with names as seen from the root's folder."""
        try:
            root = read(text, file=self.name_of(path), limits=LIMITS).root
        except CalorError:
            return text  # whoever parses it tells what is wrong
        lines = text.splitlines(keepends=True)
        for use in sorted(_uses(root), key=lambda use: (use.line, use.column), reverse=True):
            target = located(use.name, path.parent)
            if target is None or (use.is_type and not use.name.endswith(SUFFIXES)):
                continue
            asked = Problem(message="", file=self.name_of(path), line=use.line, column=use.column, code="missing-file")
            self.take(target, is_template=use.is_type, asked=asked)
            if (seen := self.name_of(target)) != use.name:
                _rename(lines, use, seen)
        return "".join(lines)

    def registry(self, environment: Environment, path: Path, text: str) -> Environment:
        """The environment, and its ``text``, with the template files of its registry taken, and named from the root's
        folder."""
        source = Source(self.name_of(path), read(text, file=self.name_of(path), limits=LIMITS).root)
        registry = environment.resource_registry
        found = self._mapped(registry, path.parent, registry.get("base_url"), source, ("resource_registry",))
        return replace(environment, resource_registry=found)

    def _mapped(
        self, registry: Mapping[str, Any], folder: Path, base: Any, source: Source, place: tuple[str, ...]
    ) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in registry.items():
            here = (*place, str(key))
            if isinstance(value, Mapping):
                found[key] = self._mapped(value, folder, value.get("base_url", base), source, here)
            elif isinstance(value, str) and value.endswith(SUFFIXES) and key != "base_url":
                beside = located(str(base), folder) if base else folder
                target = None if beside is None else located(value, beside)
                if target is None:
                    found[key] = value
                    continue
                self.take(target, is_template=True, asked=source.problem("", here, value=True, code="missing-file"))
                found[key] = self.name_of(target)
            else:
                found[key] = value
        return found


def _is_template(text: str) -> bool:
    """Whether a file that `get_file` names is a template itself (of `OS::Heat::Stack`), whose files are wanted too."""
    if not any(word in text for word in DIALECTS):
        return False
    try:
        root = read(text, file="", limits=LIMITS).root
    except CalorError:
        return False
    return isinstance(root, Mapping) and any(word in root for word in DIALECTS)


def located(name: str, folder: Path) -> Path | None:
    """The file that a name stands for. None for a URL that leads to another machine."""
    parts = urlsplit(name)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    if parts.scheme and "://" in name:
        return None
    return Path(os.path.normpath(folder / name))


@dataclass(frozen=True)
class _Use:
    """A name of a file in a text; ``line`` and ``column`` count from 1."""

    name: str
    line: int
    column: int
    is_type: bool


def _uses(root: Any) -> Iterator[_Use]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(node)
        if not isinstance(node, dict):
            continue
        waiting.extend(node.values())
        marks = node.marks if isinstance(node, MarkedMap) else {}
        for key in (*READERS, "type", "Type"):
            name = node.get(key)
            if isinstance(name, str) and name:
                mark = marks.get(key, (-1, -1, -1, -1))
                yield _Use(name, mark[2] + 1, mark[3] + 1, key not in READERS)


def _rename(lines: list[str], use: _Use, seen: str) -> None:
    line = lines[use.line - 1] if 0 < use.line <= len(lines) else ""
    start = line.find(use.name, max(use.column - 1, 0))
    if start >= 0:
        lines[use.line - 1] = line[:start] + seen + line[start + len(use.name) :]
