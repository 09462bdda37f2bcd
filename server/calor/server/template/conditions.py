"""Named conditions: evaluated when needed, each once, cycles found."""

from typing import Any

from calor.server.errors import InvalidInput
from calor.server.template.functions.base import Evaluation, Refused, Undecided
from calor.server.template.functions.logic import decided, truth
from calor.server.template.model import Template
from calor.server.template.nearest import did_you_mean
from calor.server.template.source import Path
from calor.server.template.unread import AnyName
from calor.server.template.values import reveal


class Conditions:
    """The conditions of one template. ``at`` is set once the evaluation that they run in exists."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self.at = Evaluation()
        self._known: dict[str, bool] = {}
        self._open: list[str] = []

    def value(self, name: str) -> bool | None:
        """The value of a condition; None where there is none of that name. Raises `Refused` (a cycle), `Undecided`."""
        if name in self._known:
            return self._known[name]
        if name not in self.template.conditions:
            if isinstance(self.template.names.conditions, AnyName):
                raise Undecided
            return None
        if name in self._open:
            cycle = " → ".join([*self._open[self._open.index(name) :], name])
            raise Refused(f"the conditions depend on each other: {cycle}.")
        self._open.append(name)
        try:
            self._known[name] = self._defined(name)
        finally:
            self._open.pop()
        return self._known[name]

    def _defined(self, name: str) -> bool:
        try:
            return decided(reveal(self.at.value(self.template.conditions[name])))
        except Refused as refusal:
            raise self._wrong(refusal, self.template.path("conditions", name)) from None

    def check(self, tree: Any, at: Evaluation, path: Path) -> bool:
        """Whether the condition of a resource or output, which stands at a path, holds. Raises `InvalidInput`,
        `Undecided`."""
        try:
            return self._holds(tree, at)
        except Refused as refusal:
            raise self._wrong(refusal, path) from None

    def _holds(self, tree: Any, at: Evaluation) -> bool:
        if isinstance(tree, str) and self.value(tree) is None:
            raise Refused(f"there is no condition {tree!r}{did_you_mean(tree, self.template.conditions)}.")
        return truth(tree, at)

    def _wrong(self, refusal: Refused, path: Path) -> InvalidInput:
        return InvalidInput([self.template.source.problem(f"Wrong condition: {refusal}", path, code="condition")])

    def all_values(self) -> dict[str, bool]:
        """Every condition that can be evaluated. One that nobody uses may be wrong, as in Heat."""
        found = {}
        for name in self.template.conditions:
            try:
                value = self.value(name)
            except (InvalidInput, Refused, Undecided):
                continue
            if value is not None:
                found[name] = value
        return found
