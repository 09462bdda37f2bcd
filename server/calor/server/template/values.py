"""Values of the language that JSON does not have: not yet known, secret, and scalars that keep their source text."""

import enum
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final


class Unknown(enum.Enum):
    """The one value that stands for what is known after create only. It propagates through functions."""

    UNKNOWN = "(known after create)"

    def __str__(self) -> str:
        return self.value


UNKNOWN: Final = Unknown.UNKNOWN


class Absent(enum.Enum):
    """The value of an ``if`` without a third argument whose condition is false: the place it stands in vanishes."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


class Secret:
    """A value that prints as ``***`` wherever it goes; `reveal` takes it out for the one call that needs it.

    ``parts`` are the secret texts that stand in a larger text as they are, the rest of which is none; empty: all of the
    value is secret.
    """

    __slots__ = ("parts", "value")

    def __init__(self, value: Any, parts: Iterable[str] = ()) -> None:
        self.value: Any = value.value if isinstance(value, Secret) else value
        self.parts: tuple[str, ...] = value.parts if isinstance(value, Secret) else tuple(parts)

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(("Secret", self.value))


class Plain:
    """An unquoted YAML scalar that is not text for YAML 1.1: ``text`` as written, ``value`` as Heat reads it."""

    __slots__ = ("text", "value")

    def __init__(self, text: str, value: Any) -> None:
        self.text = text
        self.value = value

    def __repr__(self) -> str:
        return f"Plain({self.text!r}, {self.value!r})"

    def __eq__(self, other: object) -> bool:
        return bool(self.value == (other.value if isinstance(other, Plain) else other))

    def __hash__(self) -> int:
        return hash(self.value)


LEAVES: Final = frozenset({str, int, float, bool, type(None)})
"""Types of values that hold nothing: looked at first, since most of a tree are such."""
MAPS: Final = (dict, Mapping)
"""What counts as a map, the usual kind first: asking the abstract class takes several times as long."""


def transform(tree: Any, leaf: Callable[[Any], Any]) -> Any:
    """A copy of the maps and lists of a tree, each other value but plain ones replaced by ``leaf(value)``."""
    if type(tree) in LEAVES:
        return tree
    if isinstance(tree, (list, tuple)):
        return [transform(value, leaf) for value in tree]
    if isinstance(tree, MAPS):
        return {key: transform(value, leaf) for key, value in tree.items()}
    return leaf(tree)


def plain(tree: Any) -> Any:
    """The tree with each `Plain` read as Heat reads it; secrets stay secret."""

    def leaf(value: Any) -> Any:
        if isinstance(value, Secret):
            return Secret(plain(value.value), value.parts)
        return value.value if isinstance(value, Plain) else value

    return transform(tree, leaf)


def reveal(tree: Any) -> Any:
    """The tree with secrets in the clear and scalars as Heat reads them: for a call to the cloud, never for a log."""

    def leaf(value: Any) -> Any:
        if isinstance(value, Secret):
            return reveal(value.value)
        return value.value if isinstance(value, Plain) else value

    return transform(tree, leaf)


def mask(tree: Any, instead: str = "***") -> Any:
    """The tree as it may be shown: secrets as ``instead``, the unknown as its text."""

    def leaf(value: Any) -> Any:
        if isinstance(value, Secret):
            return instead
        if isinstance(value, Unknown):
            return str(value)
        return value.value if isinstance(value, Plain) else value

    return transform(tree, leaf)


def has_unknown(tree: Any) -> bool:
    """Whether any part of the tree is known after create only."""
    if type(tree) in LEAVES:
        return False
    if isinstance(tree, (list, tuple)):
        return any(map(has_unknown, tree))
    if isinstance(tree, MAPS):
        return any(map(has_unknown, tree.values()))
    return tree is UNKNOWN or (isinstance(tree, Secret) and has_unknown(tree.value))


def has_secret(tree: Any) -> bool:
    if type(tree) in LEAVES:
        return False
    if isinstance(tree, (list, tuple)):
        return any(map(has_secret, tree))
    if isinstance(tree, MAPS):
        return any(map(has_secret, tree.values()))
    return isinstance(tree, Secret)


def secret_leaves(tree: Any, *, inside: bool = False) -> list[str]:
    """The texts of all secrets in a tree: of a text with secrets in it those, of a map or a list those of its leaves
    (nobody prints it whole)."""
    if isinstance(tree, Secret):
        return list(tree.parts) or secret_leaves(tree.value, inside=True)
    if isinstance(tree, Mapping):
        return [text for value in tree.values() for text in secret_leaves(value, inside=inside)]
    if isinstance(tree, list | tuple):
        return [text for value in tree for text in secret_leaves(value, inside=inside)]
    if not inside or tree is None or isinstance(tree, bool | Unknown):
        return []
    return [tree.text if isinstance(tree, Plain) else str(tree)]


def shape(value: Any) -> str:
    """The name of a value's type for messages."""
    if isinstance(value, Mapping):
        return "a map"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str):
        return "text"
    if value is None:
        return "nothing"
    return {bool: "a boolean", int: "a number", float: "a number"}.get(type(value), "a value")
