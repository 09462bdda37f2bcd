"""Maps of one key that look like calls of functions and are data: Heat takes them so, their writer rarely means it."""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from calor.server.errors import Problem
from calor.server.template.dialects import DIALECTS
from calor.server.template.functions.versions import HOT, HOT_VERSIONS
from calor.server.template.model import Template
from calor.server.template.nearest import did_you_mean
from calor.server.template.source import Path, keys_of

_SHORTEST = 4
_ONE_TYPO = 0.87
_SINCE: Mapping[str, str] = {
    entry.name: entry.since for entry in reversed(HOT) if entry.kind is not None and entry.since in HOT_VERSIONS
}
"""The version that first knows a function, by its name."""

Keys = Callable[[str], Container[str]]
"""By a type's name: the keys that maps in its properties have, which are meant as written."""
_SECTIONS = ("resources", "outputs", "conditions")


def hint(language: str, version: str, name: object) -> str:
    """What a one-key map's key may have been meant as: a later version's function or a misspelt one; or nothing."""
    dialect = DIALECTS.get(language, {}).get(version)
    if dialect is None or not isinstance(name, str):
        return ""
    table = dialect.table
    if name in table.functions or name in table.removed or name in table.conditions:
        return ""
    since = _SINCE.get(name, "") if language == "heat_template_version" else ""
    if since > version:
        return f"{name!r} is a function since {since}; in {version} it is a key of a map."
    known = [one for one in table.functions if len(one) >= _SHORTEST]
    near = did_you_mean(name, known, cutoff=_ONE_TYPO) if len(name) >= _SHORTEST else ""
    return f"{name!r} is no function, but a key of a map{near}." if near else ""


def lookalikes(template: Template, keys: Keys) -> list[Problem]:
    """Warnings of the properties, outputs and conditions of a template as it was written."""
    return list(_Search(template, keys).all())


@dataclass(frozen=True)
class _Search:
    template: Template
    keys: Keys

    def all(self) -> Iterator[Problem]:
        dialect = DIALECTS[self.template.language][self.template.version]
        root = keys_of(self.template.source.root)
        resources, outputs, conditions = (dialect.sections.get(one, "") for one in _SECTIONS)
        word = dialect.resource_keys["properties"]
        for name, body in keys_of(root.get(resources)).items():
            known = self.keys(str(keys_of(body).get(dialect.resource_keys["type"])))
            for key, value in keys_of(keys_of(body).get(word)).items():
                yield from self._in(value, (resources, name, word, key), known)
        word = dialect.output_keys["value"]
        for name, body in keys_of(root.get(outputs)).items():
            yield from self._in(keys_of(body).get(word), (outputs, name, word), ())
        for name, body in keys_of(root.get(conditions)).items():
            yield from self._in(body, (conditions, name), ())

    def _in(self, written: Any, path: Path, known: Container[str]) -> Iterator[Problem]:
        if isinstance(written, list):
            for number, value in enumerate(written):
                yield from self._in(value, (*path, number), known)
        elif isinstance(written, Mapping):
            if len(written) == 1 and (found := self._hint(written, known)):
                source = self.template.source
                yield source.problem(found, (*path, *written), code="no-function")
            for key, value in written.items():
                yield from self._in(value, (*path, key), known)

    def _hint(self, written: Mapping[Any, Any], known: Container[str]) -> str:
        (name,) = written
        return "" if name in known else hint(self.template.language, self.template.version, name)
