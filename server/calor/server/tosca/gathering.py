"""The files that a TOSCA template names, as a client sends them with it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from calor.server.errors import CalorError
from calor.server.template.reader import Limits
from calor.server.tosca.files import ROOT, candidates, is_url, tree_of

Read = Callable[[str], str | None]
"""The content of a file by its name as seen from the template's folder; None where there is none."""
LIMITS = Limits(size=4 << 20)
_OPERATIONS = ("interfaces", "artifacts")
_SCRIPTS = ("implementation", "primary", "file")


def gather(text: str, read: Read) -> dict[str, str]:
    """What the template and its imports name, as far as it is there and named by a relative path. What is missing is
    told by whoever translates the template."""
    files: dict[str, str] = {}
    waiting = [(ROOT, text)]
    while waiting:
        base, here = waiting.pop()
        try:
            tree = tree_of(here, base, LIMITS)
        except CalorError:
            continue
        for name in _imports(tree):
            found = _first(candidates(name, base), files, read)
            if found is not None:
                waiting.append((found, files[found]))
        for name in _scripts(tree):
            _first([name], files, read)
    return files


def _first(names: list[str], files: dict[str, str], read: Read) -> str | None:
    """The first name that a file is under, if it was not taken before."""
    for name in names:
        if name in files:
            return None
        content = None if is_url(name) or name.startswith(("/", "file:")) else read(name)
        if content is not None:
            files[name] = content
            return name
    return None


def _imports(tree: Any) -> Iterator[str]:
    entries = tree.get("imports") if isinstance(tree, Mapping) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, Mapping):
            for value in [entry["file"]] if "file" in entry else entry.values():
                name = value.get("file") if isinstance(value, Mapping) else value
                if isinstance(name, str):
                    yield name


def _scripts(tree: Any) -> Iterator[str]:
    """Scripts of operations and files of artifacts, in the short and in the long notation."""
    waiting: list[tuple[Any, bool]] = [(tree, False)]
    while waiting:
        node, is_inside = waiting.pop()
        if isinstance(node, list):
            waiting += [(item, is_inside) for item in node]
        if not isinstance(node, Mapping):
            continue
        for key, value in node.items():
            if isinstance(value, str) and (key in _SCRIPTS or is_inside):
                yield value
            waiting.append((value, is_inside or key in _OPERATIONS))
