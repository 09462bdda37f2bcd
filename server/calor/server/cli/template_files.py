"""Templates and environments from files, with all the files that they name: what a client sends with a template.

References are rewritten in the text at their places (to ``file://`` URLs of absolute paths), and nothing else of it:
the server reads the template as it was written. A TOSCA template is not touched at all.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click
import yaml

from calor.server.errors import CalorError
from calor.server.tosca import gather, is_archive, is_tosca, unpack

Find = Callable[[yaml.Node], Iterator[tuple[yaml.ScalarNode, bool]]]
"""The scalars of a document that name files, each with whether it names a template."""
ENDINGS = (".yaml", ".yml", ".template", ".json")


@dataclass
class Gathered:
    """``files`` are contents by URL."""

    files: dict[str, str] = field(default_factory=dict)

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
        try:
            root = yaml.compose(text, Loader=yaml.CSafeLoader)
        except yaml.YAMLError as exc:
            raise click.ClickException(_no_yaml(path, exc)) from exc
        places: dict[int, tuple[int, str]] = {}
        for node, is_template in find(root) if root is not None else ():
            if "://" in node.value and not node.value.startswith("file://"):
                raise click.ClickException(
                    f"{path}:{node.start_mark.line + 1}: {node.value}: only local files are sent."
                )
            url = self._gathered(_target(path, node.value), is_template, f"{path}:{node.start_mark.line + 1}")
            places[node.start_mark.index] = (node.end_mark.index, url)
        for begin in sorted(places, reverse=True):
            end, url = places[begin]
            text = f'{text[:begin]}"{url}"{text[end:]}'
        return text

    def _gathered(self, target: Path, is_template: bool, where: str) -> str:
        url = target.as_uri()
        if url not in self.files:
            if not target.is_file():
                raise click.ClickException(f"{where}: there is no file {target}.")
            self.files[url] = ""  # templates that name each other come to an end; the server refuses them
            self.files[url] = self.template(target) if is_template else _text_of(target)
        return url


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
        return path.read_bytes().decode("utf-8")  # each line end as it is: scripts and values may depend on it
    except UnicodeDecodeError as exc:
        raise click.ClickException(f"{path} is no UTF-8 text: only texts can be sent with a template.") from exc
    except OSError as exc:
        raise click.ClickException(f"{path} cannot be read: {exc.strerror}.") from exc


def _no_yaml(path: Path, error: yaml.YAMLError) -> str:
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    if mark is None:
        return f"{path} is no YAML: {error}"
    words = [word for word in (error.context, error.problem) if word]  # type: ignore[attr-defined]  # a MarkedYAMLError
    return f"{path}:{mark.line + 1}:{mark.column + 1}: This is no YAML: {', '.join(words)}."
