"""What a function is, and the evaluation it runs in.

A function is a small class: `check` looks at the arguments as written, `references` names the resources it
uses, `evaluate` computes from evaluated arguments. Which names a template version knows is `versions.py`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from calor.server.errors import InvalidInput
from calor.server.template.model import Names, Reference, Scope
from calor.server.template.source import Path, Source
from calor.server.template.values import (
    ABSENT,
    LEAVES,
    MAPS,
    UNKNOWN,
    Secret,
    has_secret,
    has_unknown,
    plain,
    reveal,
    secret_leaves,
)

Parse = Callable[[Any, Path], Any]
"""Turns a written tree at a path into one with functions; raises `InvalidInput`."""


class Refused(Exception):
    """The arguments do not fit the function. The evaluation adds where."""


class Undecided(Exception):
    """A condition depends on what is not known: on a value that is there only later, or on what is wrong elsewhere."""


@dataclass(frozen=True)
class Site:
    """Where a call stands and what it may look up there: shared by all calls of a template but for the path."""

    source: Source
    names: Names
    parse: Parse
    parse_condition: Parse


class Function:
    """One call in a tree. ``args`` are parsed already (functions inside are objects) unless the class is lazy."""

    lazy: ClassVar[bool] = False
    """Its arguments are not parsed before they are needed (``if``)."""
    keeps_structure: ClassVar[bool] = False
    """Its result contains its arguments' parts: unknown and secret parts stay where they are."""
    embeds: ClassVar[bool] = False
    """Its result is a text in which its arguments stand as they are: the rest of it is no secret for theirs."""
    is_deferred: ClassVar[bool] = False
    """It needs other resources: it stays in the tree until there is a scope."""

    __slots__ = ("args", "home", "name", "path", "site")

    def __init__(self, name: str, args: Any, site: Site, path: Path) -> None:
        self.name = name
        self.args = args
        self.site = site
        self.path = path
        self.home: Evaluation | None = None

    def __repr__(self) -> str:
        return f"{{{self.name}: {self.args!r}}}"

    def check(self) -> Iterator[str]:
        """What is wrong with the arguments as written. Parts that are functions are not known yet."""
        yield from ()

    def own_references(self) -> Iterator[Reference]:
        """The resources that the call itself names (those in its arguments are found by walking)."""
        yield from ()

    def evaluate(self, args: Any, at: "Evaluation") -> Any:
        """The value, from evaluated arguments without UNKNOWN. Raises `Refused`."""
        raise NotImplementedError(self.name)

    def call(self, at: "Evaluation") -> Any:
        """Evaluate, or answer UNKNOWN, or the call itself where it must wait for a scope."""
        at = at.within(self.home)
        args = at.value(self.args)
        if at.scope is None and (self.is_deferred or has_call(args)):
            return self.waiting(args, at)
        return self.guard(lambda: self._compute(args, at))

    def waiting(self, args: Any, at: "Evaluation") -> "Function":
        """The call that is left when a template is bound: it keeps what it may look up beside a scope."""
        call = type(self)(self.name, args, self.site, self.path)
        call.home = at
        return call

    def _compute(self, args: Any, at: "Evaluation") -> Any:
        if self.keeps_structure:
            return self.evaluate(args, at)
        if has_unknown(args):
            return UNKNOWN
        if has_secret(args):
            return Secret(self.evaluate(reveal(args), at), secret_leaves(args) if self.embeds else ())
        return self.evaluate(plain(args), at)

    def guard(self, compute: Callable[[], Any]) -> Any:
        """Run a computation; what it refuses becomes an `InvalidInput` with the place of this call."""
        try:
            return compute()
        except Refused as refusal:
            raise self.fault(str(refusal)) from None

    @staticmethod
    def code_of(message: str) -> str:
        """The code of a problem with a call: what it names is not there, or the arguments do not fit."""
        for thing in ("resource", "parameter", "condition"):
            if message.startswith(f"there is no {thing} "):
                return f"unknown-{thing}"
        if message.endswith("is switched off by its condition."):
            return "unknown-resource"
        return "function-arguments"

    def fault(self, message: str) -> InvalidInput:
        return InvalidInput(
            [self.site.source.problem(f"{self.name}: {message}", self.path, code=self.code_of(message))]
        )


class Misread(InvalidInput):
    """Faults of what is read only once it is needed: the chosen branch of an `if`."""


class Faulty(Function):
    """A call that was told to be wrong: its value is not known."""

    __slots__ = ()

    def call(self, at: "Evaluation") -> Any:
        return UNKNOWN


class Broken(Function):
    """What is left of an output or a condition that cannot be evaluated: whoever asks for it gets the error."""

    __slots__ = ("error",)

    def __init__(self, error: InvalidInput) -> None:
        self.error = error
        self.args = None
        self.name = "broken"
        self.path = ()
        self.home = None

    def call(self, at: "Evaluation") -> Any:
        raise self.error


def has_call(tree: Any) -> bool:
    """Whether a function is left in the tree."""
    if type(tree) in LEAVES:
        return False
    if isinstance(tree, Function):
        return True
    if isinstance(tree, (list, tuple)):
        return any(map(has_call, tree))
    return isinstance(tree, MAPS) and any(map(has_call, tree.values()))


@dataclass
class Evaluation:
    """All that functions may look up. Without a scope, what depends on resources stays as it is."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    condition: Callable[[str], bool | None] = lambda name: None
    """The value of a named condition; None where there is none of that name."""
    files: Mapping[str, str] = field(default_factory=dict)
    facade: Mapping[str, Any] | None = None
    zones: Sequence[str] = ("nova",)
    mappings: Mapping[str, Any] = field(default_factory=dict)
    disabled: frozenset[str] = frozenset()
    scope: Scope | None = None
    home: "Evaluation | None" = None

    def within(self, home: "Evaluation | None") -> "Evaluation":
        """This evaluation's scope with what a template was bound to."""
        if home is None or home is self or home is self.home:
            return self
        return replace(home, scope=self.scope, home=home)

    def value(self, tree: Any) -> Any:
        """The tree with its functions evaluated; what an ``if`` left out is dropped from lists and maps."""
        if type(tree) in LEAVES:
            return tree
        if isinstance(tree, Function):
            return tree.call(self)
        if isinstance(tree, (list, tuple)):
            return [value for value in map(self.value, tree) if value is not ABSENT]
        if isinstance(tree, MAPS):
            found = {key: self.value(value) for key, value in tree.items()}
            if ABSENT in found.values():
                return {key: value for key, value in found.items() if value is not ABSENT}
            return found
        return tree


def is_call(value: Any) -> bool:
    return isinstance(value, Function)


def exactly(args: Any, count: int, what: str) -> list[Any]:
    """The arguments, if they are a list of so many. Raises `Refused`."""
    if not isinstance(args, list) or len(args) != count:
        raise Refused(f"takes a list of {what}.")
    return args
