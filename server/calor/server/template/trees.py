"""Written trees → trees with functions, by the table of one template version."""

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

from calor.server.errors import Problem
from calor.server.template.functions.base import Broken, Faulty, Function, Misread, Site
from calor.server.template.functions.versions import Kind, Table
from calor.server.template.model import Names
from calor.server.template.nearest import did_you_mean
from calor.server.template.source import Faults, Path, Source
from calor.server.template.values import UNKNOWN, Plain, shape

Parser = Callable[[Any, Path, Faults], Any]
_STRAY = frozenset({"unknown-resource", "unknown-parameter"})
_LATE = (".get_resource", ".get_param", ".Ref")
"""Functions whose references Heat looks up when they are evaluated."""
_WHICH_ATTRIBUTE = re.compile(r"\.(get_attr|Fn::GetAtt)(\[[01]\]|$)")


def names_attribute(path: str) -> bool:
    """Whether what stands there is, or belongs to, the resource and the attribute that a call asks for: Heat looks
    these up at once, wherever the call is."""
    return _WHICH_ATTRIBUTE.search(path) is not None


class TreeParser:
    """Parses the trees of one template. A map of one key that names a function is a call of it."""

    def __init__(self, table: Table, source: Source, names: Names) -> None:
        self.table = table
        self.source = source
        self.site = Site(source, names, self.parse, self.parse_condition)

    def parse(self, written: Any, path: Path) -> Any:
        """A value's tree. Raises `InvalidInput` with all its faults."""
        return self._whole(written, path, self._value)

    def parse_condition(self, written: Any, path: Path) -> Any:
        """A condition: a name, a boolean, a function of conditions or nothing. Raises `InvalidInput`."""
        return None if written is None else self._whole(written, path, self._condition)

    def value_into(self, written: Any, path: Path, faults: Faults) -> Any:
        """A value's tree, its faults collected."""
        return self._value(written, path, faults)

    def condition_into(self, written: Any, path: Path, faults: Faults, *, named: bool) -> Any:
        """A condition, its faults collected. ``named``: the name of another condition is one too."""
        if isinstance(written, str) and not named:
            faults.add("A condition is a boolean or a function, not text.", path, code="condition")
            return UNKNOWN
        return self._condition(written, path, faults)

    def output_into(self, written: Any, path: Path, faults: Faults, *, is_optional: bool) -> Any:
        """The value of an output, which nobody may ever ask for; an optional one is read by Heat only where its
        condition holds."""
        return self._open(written, path, faults, self._value, is_optional=is_optional)

    def definition_into(self, written: Any, path: Path, faults: Faults) -> Any:
        """What defines a condition, which nothing may depend on."""
        return self._open(written, path, faults, functools.partial(self.condition_into, named=False))

    def _open(self, written: Any, path: Path, faults: Faults, parse: Parser, *, is_optional: bool = False) -> Any:
        """Where it refers to what is not there, this is a warning and, as in Heat, the error of whoever asks for it; so
        is any fault of what is optional."""
        own = Faults(self.source)
        tree = parse(written, path, own)
        if own.problems and (is_optional or all(map(_is_late, own.problems))):
            faults.warnings.extend(own.problems)
            return Broken(Misread(own.problems))
        faults.extend(own.problems)
        return tree

    def _whole(self, written: Any, path: Path, parse: Any) -> Any:
        faults = Faults(self.source)
        tree = parse(written, path, faults)
        if faults.problems:
            raise Misread(faults.problems)
        return tree

    def _value(self, written: Any, path: Path, faults: Faults) -> Any:
        if isinstance(written, dict):
            if len(written) == 1:
                ((name, args),) = written.items()
                kind = self.table.functions.get(name)
                if kind is not None:
                    return self._call(kind, name, args, path, faults, self._value)
                if name in self.table.removed:
                    faults.add(
                        f"The function {name!r} is not part of this template version.",
                        (*path, name),
                        code="removed-function",
                    )
                    return Faulty(name, None, self.site, (*path, name))
            return {key: self._value(value, (*path, key), faults) for key, value in written.items()}
        if isinstance(written, list):
            return [self._value(value, (*path, number), faults) for number, value in enumerate(written)]
        return written

    def _call(self, kind: Kind, name: str, args: Any, path: Path, faults: Faults, parse: Any) -> Function:
        place = (*path, name)
        call = kind(name, args if kind.lazy else parse(args, place, faults), self.site, place)
        wrong = list(call.check())
        for message in wrong:
            faults.add(f"{name}: {message}", place, code=call.code_of(message))
        return Faulty(name, None, self.site, place) if wrong else call

    def _condition(self, written: Any, path: Path, faults: Faults) -> Any:
        if isinstance(written, bool | str):
            return written
        if isinstance(written, Plain) and isinstance(written.value, bool):
            return written.value
        if isinstance(written, Mapping) and len(written) == 1:
            tree = self._argument(written, path, faults)
            if isinstance(tree, Function):
                return tree
            (name,) = written
            if name not in self.table.functions:  # otherwise it has been reported already
                near = did_you_mean(str(name), self.table.conditions)
                faults.add(f"There is no condition function {name!r}{near}.", path, code="condition")
            return UNKNOWN
        faults.add(f"A condition is true, false, a name or a function, not {shape(written)}.", path, code="condition")
        return UNKNOWN

    def _argument(self, written: Any, path: Path, faults: Faults) -> Any:
        """An argument of a condition function: condition functions only; other functions are refused."""
        if isinstance(written, dict):
            if len(written) == 1:
                ((name, args),) = written.items()
                kind = self.table.conditions.get(name)
                if kind is not None:
                    return self._call(kind, name, args, path, faults, self._argument)
                if name in self.table.functions or name in self.table.removed:
                    faults.add(f"The function {name!r} cannot be used in a condition.", (*path, name), code="condition")
            return {key: self._argument(value, (*path, key), faults) for key, value in written.items()}
        if isinstance(written, list):
            return [self._argument(value, (*path, number), faults) for number, value in enumerate(written)]
        return written


def _is_late(problem: Problem) -> bool:
    return problem.code in _STRAY and problem.path.endswith(_LATE) and not names_attribute(problem.path)
