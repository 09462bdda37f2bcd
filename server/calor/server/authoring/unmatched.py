"""Where the environments say what no resource of the tree is meant by."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from calor.server.authoring.files import LIMITS
from calor.server.errors import Problem
from calor.server.template.reader import read
from calor.server.template.source import Source

_ABOVE = ("resource_registry", "resources")


def in_their_lines(found: Iterable[Problem], texts: Mapping[str, str]) -> Iterator[Problem]:
    """``texts`` are those of the environments, in their order: the last one that names a resource is meant."""
    sources = [Source(name, read(text, file=name, limits=LIMITS).root) for name, text in reversed([*texts.items()])]
    for one in found:
        path = (*_ABOVE, *one.path.removeprefix(".".join(_ABOVE) + ".").split("."))
        source = next((source for source in sources if path[2] in _resources(source.root)), None)
        yield one if source is None else source.problem(one.message, path, code=one.code)


def _resources(root: Any) -> Mapping[str, Any]:
    for key in _ABOVE:
        root = root.get(key) if isinstance(root, Mapping) else None
    return root if isinstance(root, Mapping) else {}
