"""What an environment says of resources that no template of the tree has: a hook there stops nothing, a restricted
action there protects nothing. Heat takes both without a word; here they are warnings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from calor.server.engine.revision.blueprint import Blueprint
from calor.server.errors import Problem
from calor.server.template.nearest import did_you_mean

_WORDS = {"hooks": "stop nothing", "restricted_actions": "protect nothing"}


@dataclass
class Unmatched:
    """What is met on the way through a tree, parents first. A pattern holds for all stacks below its own, so that it
    is not told before the end, and not at all where not all of the tree can be seen."""

    is_whole: bool = True
    _found: list[Problem] = field(default_factory=list)
    _patterns: dict[str, Problem] = field(default_factory=dict)
    _matched: set[str] = field(default_factory=set)

    def note(self, blueprint: Blueprint, where: str) -> None:
        """One template, with what its environment says; ``where`` is ``group.0.``."""
        names, environment = list(blueprint.model.template.resources), blueprint.model.environment
        for name, entry in environment.resource_registry.get("resources", {}).items():
            said = sorted(set(_said(entry)))
            if not said:
                continue
            path, file = f"resource_registry.resources.{where}{name}", environment.file
            if "*" in name:
                told = _problem(f"No resource matches '{name}'", said, path, file)
                self._patterns.setdefault(name, told)
                self._matched |= {name} if any(fnmatchcase(one, name) for one in names) else set()
            elif self.is_whole and not any(fnmatchcase(one, name) for one in names):
                what = f"There is no resource '{where}{name}'{did_you_mean(name, names)}"
                self._found.append(_problem(what, said, path, file))

    def told(self) -> list[Problem]:
        """All that nothing of the tree is meant by."""
        open_ones = [one for name, one in self._patterns.items() if name not in self._matched and self.is_whole]
        return [*self._found, *open_ones]


def _said(entry: Any) -> Iterator[str]:
    """Of ``hooks`` and ``restricted_actions``: what is set for a resource, or for one in it."""
    for key, value in entry.items() if isinstance(entry, Mapping) else ():
        if key in _WORDS and value:
            yield key
        elif isinstance(value, Mapping):
            yield from _said(value)


def _problem(what: str, said: list[str], path: str, file: str) -> Problem:
    effect = " and ".join(f"its {key.replace('_', ' ')} {_WORDS[key]}" for key in said)
    return Problem(message=f"{what}: {effect}.", path=path, file=file, code="unmatched-resource")
