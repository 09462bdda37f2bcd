"""YAML and JSON text → maps and lists that remember their places; scalars that remember how they were written."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from calor.server.errors import InvalidInput, Problem, RequestLimitExceeded
from calor.server.template.files import NotText, refusal
from calor.server.template.source import Faults, MarkedList, MarkedMap, Source
from calor.server.template.unreadable import fault_of
from calor.server.template.values import Plain, plain, shape

_RESOLVERS = yaml.SafeLoader.yaml_implicit_resolvers
_CONSTRUCT = yaml.constructor.SafeConstructor()
_MERGE = "tag:yaml.org,2002:merge"
_TAG = "tag:yaml.org,2002:"
_STR = _TAG + "str"
_SHORT = {
    "!Ref": "Ref",
    **{
        f"!{name}": f"Fn::{name}"
        for name in "And Base64 Equals FindInMap GetAZs GetAtt If Join Not Or Select Split Sub".split()  # noqa: SIM905
    },
}
"""CloudFormation's short forms of functions, which stand for a map of one key."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How large an input may be. Overrun is an error that names the limit."""

    size: int = 524288  # bytes of text
    nodes: int = 200_000  # after aliases are expanded
    depth: int = 100


@dataclass(frozen=True)
class Reading:
    """What a text says, and what is odd about it (duplicate keys)."""

    root: Any
    warnings: tuple[Problem, ...] = ()

    def source(self, file: str) -> Source:
        return Source(file, self.root)


def read(text: str, *, file: str, limits: Limits, strict: bool = False) -> Reading:
    """Read one document of YAML or JSON. Raises `InvalidInput`, `RequestLimitExceeded`; ``strict`` makes warnings
    errors."""
    if isinstance(text, NotText):
        raise InvalidInput([Problem(message=f"T{refusal(file, text)[1:]}", file=file, code="not-text")])
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidInput([Problem(message=_not_text(error.start), file=file, code="not-text")]) from None
    if size > limits.size:
        raise RequestLimitExceeded(f"{file} has {size} bytes; the limit is {limits.size} (max_template_size).")
    reading = _read_json(text, file, limits) if text.lstrip()[:1] == "{" else None
    reading = reading or _read_yaml(text, file, limits)
    if strict and reading.warnings:
        raise InvalidInput(reading.warnings)
    return reading


def _read_json(text: str, file: str, limits: Limits) -> Reading | None:
    """None where the text is not JSON (a YAML flow mapping begins with a brace too)."""
    warnings: list[Problem] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in items:
            if key in found:
                message = f"The key {key!r} stands twice in one map; the last one holds."
                warnings.append(Problem(message=message, path=key, file=file, code="duplicate-key"))
            found[key] = value
        return found

    try:
        root = json.loads(text, object_pairs_hook=pairs)
    except ValueError:
        return None
    except RecursionError:
        raise InvalidInput([Problem(message=_too_deep(limits), file=file, code="too-deep")]) from None
    check_shape(root, file=file, limits=limits)
    try:
        marked = _read_yaml(text, file, limits)
    except InvalidInput:
        return Reading(root, tuple(warnings))  # JSON that YAML does not read (tabs): values without places
    return Reading(_placed(root, marked.root), marked.warnings)


def _placed(value: Any, marked: Any) -> Any:
    """The value that JSON gives with the places that YAML gives."""
    if isinstance(marked, MarkedMap) and isinstance(value, dict) and marked.keys() == value.keys():
        found = MarkedMap()
        found.marks = marked.marks
        found.update({key: _placed(item, marked[key]) for key, item in value.items()})
        return found
    if isinstance(marked, MarkedList) and isinstance(value, list):
        items = MarkedList()
        items.marks = marked.marks
        items.extend(_placed(item, beside) for item, beside in zip(value, marked, strict=True))
        return items
    return value


def _too_deep(limits: Limits) -> str:
    return f"The text is nested more than {limits.depth} levels deep."


def _not_text(position: int) -> str:
    return f"The character at position {position} is half of a pair (a surrogate); it cannot be written as UTF-8."


def check_shape(root: Any, *, file: str, limits: Limits) -> None:
    """Depth and number of nodes of a parsed value, and that its texts are texts. Raises `InvalidInput`."""
    level, depth, count = [root], 0, 0
    while level:
        count += len(level)
        depth += 1
        if depth > limits.depth:
            raise InvalidInput([Problem(message=_too_deep(limits), file=file, code="too-deep")])
        if count > limits.nodes:
            message = f"The input has more than {limits.nodes} nodes."
            raise InvalidInput([Problem(message=message, file=file, code="too-large")])
        try:
            level = [child for node in level for child in _children(node)]
        except UnicodeEncodeError as error:
            raise InvalidInput([Problem(message=_not_text(error.start), file=file, code="not-text")]) from None


def _children(node: Any) -> list[Any]:
    """The parts of a node. Raises `UnicodeEncodeError` for text that is none."""
    if isinstance(node, str):
        if not node.isascii():
            node.encode()
        return []
    if isinstance(node, dict):
        return [*node.values(), *(key for key in node if isinstance(key, str) and not key.isascii())]
    return node if isinstance(node, list) else []


def _read_yaml(text: str, file: str, limits: Limits) -> Reading:
    builder = _Builder(file, limits)
    try:
        builder.run(iter(yaml.CSafeLoader(text).get_event, None))
    except yaml.YAMLError as error:
        raise InvalidInput([fault_of(error, text, file)]) from None
    return Reading(builder.root, tuple(builder.warnings))


class _Open:
    """A map or list that is being read. ``size`` counts nodes with aliases expanded, ``height`` their levels."""

    __slots__ = ("anchor", "height", "key", "key_mark", "merges", "node", "pending_key", "short", "size", "start")

    def __init__(self, node: MarkedMap | MarkedList, anchor: str | None, start: Any, short: str | None) -> None:
        self.short = short
        self.node = node
        self.anchor = anchor
        self.start = start
        self.size = 1
        self.height = 1
        self.pending_key = False
        self.key: Any = None
        self.key_mark: Any = None
        self.merges: list[tuple[Any, Any]] = []


@dataclass(frozen=True)
class _Anchored:
    value: Any
    size: int
    height: int


class _Builder:
    """Turns the parser's events into values in one pass."""

    def __init__(self, file: str, limits: Limits) -> None:
        self.file = file
        self.limits = limits
        self.root: Any = None
        self.warnings: list[Problem] = []
        self.anchors: dict[str, _Anchored] = {}
        self.stack: list[_Open] = []
        self.documents = 0

    def run(self, events: Iterator[Any]) -> None:
        for event in events:
            kind = type(event)
            if kind is yaml.ScalarEvent:
                self._scalar(event)
            elif kind is yaml.MappingStartEvent:
                self._open(MarkedMap(), event, "map")
            elif kind is yaml.SequenceStartEvent:
                self._open(MarkedList(), event, "seq")
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                self._close()
            elif kind is yaml.AliasEvent:
                self._alias(event)
            elif kind is yaml.DocumentStartEvent:
                self.documents += 1
                if self.documents > 1:
                    self._refuse("There is more than one YAML document in this text", event.start_mark)

    def _refuse(self, message: str, mark: Any) -> None:
        problem = Problem(
            message=f"{message}.", file=self.file, line=mark.line + 1, column=mark.column + 1, code="yaml-content"
        )
        raise InvalidInput([problem])

    def _open(self, node: MarkedMap | MarkedList, event: Any, shape: str) -> None:
        short = _SHORT.get(event.tag) if event.tag else None
        if event.tag and event.tag != _TAG + shape and short is None:
            self._refuse(f"The tag {event.tag!r} is not known here", event.start_mark)
        if self.stack and self._wants_key():
            self._refuse("A map key must be text", event.start_mark)
        if len(self.stack) >= self.limits.depth:
            self._refuse(_too_deep(self.limits).rstrip("."), event.start_mark)
        if event.anchor:
            self.anchors.pop(event.anchor, None)
        self.stack.append(_Open(node, event.anchor, event.start_mark, short))

    def _close(self) -> None:
        done = self.stack.pop()
        for key, value in done.merges:
            self._merge(done, key, value)
        node: Any = done.node
        if done.short:
            node = _called(done.short, node, done.start)
            done.size, done.height = done.size + 1, done.height + 1
        if done.anchor:
            self.anchors[done.anchor] = _Anchored(node, done.size, done.height)
        self._put(node, done.start, done.size, done.height)

    def _scalar(self, event: Any) -> None:
        tag = event.tag or (_resolve(event.value) if event.implicit[0] else _STR)
        here = self.stack[-1] if self.stack else None
        if here is not None and not here.pending_key and type(here.node) is MarkedMap:
            here.key = _MERGE if tag == _MERGE and not event.anchor else event.value
            here.key_mark, here.pending_key = event.start_mark, True
            if event.anchor:
                self.anchors[event.anchor] = _Anchored(event.value, 1, 1)
            return
        size = 1
        if tag in _SHORT:
            value, size = _called(_SHORT[tag], event.value, event.start_mark), 2
        else:
            value = event.value if tag is _STR else self._construct(tag, event)
        if event.anchor:
            self.anchors[event.anchor] = _Anchored(value, size, size)
        self._put(value, event.start_mark, size, size)

    def _construct(self, tag: str, event: Any) -> Any:
        text = event.value
        name = tag.removeprefix(_TAG)
        if name in {"str", "timestamp", "merge", "value", "!"}:
            return text
        if name not in {"int", "float", "bool", "null"}:
            self._refuse(f"The tag {tag!r} is not known here", event.start_mark)
        if name == "null":
            return None
        node = yaml.ScalarNode(tag, text)
        try:
            value = getattr(_CONSTRUCT, f"construct_yaml_{name}")(node)
        except (ValueError, KeyError, OverflowError):
            if event.tag:
                self._refuse(f"{text!r} is not of the type {event.tag!r}", event.start_mark)
            return text
        return value if name == "int" and str(value) == text else Plain(text, value)

    def _alias(self, event: Any) -> None:
        known = self.anchors.get(event.anchor)
        if known is None:
            if any(part.anchor == event.anchor for part in self.stack):
                self._refuse(f"The alias *{event.anchor} refers to what contains it", event.start_mark)
            self._refuse(f"The alias *{event.anchor} has no anchor", event.start_mark)
            return
        if self.stack and self._wants_key():
            here = self.stack[-1]
            if not isinstance(known.value, str | Plain):
                self._refuse("A map key must be text", event.start_mark)
            here.key = known.value.text if isinstance(known.value, Plain) else known.value
            here.key_mark, here.pending_key = event.start_mark, True
            return
        self._put(known.value, event.start_mark, known.size, known.height)

    def _wants_key(self) -> bool:
        here = self.stack[-1]
        return isinstance(here.node, MarkedMap) and not here.pending_key

    def _put(self, value: Any, mark: Any, size: int, height: int) -> None:
        if not self.stack:
            self.root = value
            return
        here = self.stack[-1]
        here.size += size
        if height >= here.height:
            here.height = height + 1
        if here.size > self.limits.nodes:
            self._refuse(f"The text expands to more than {self.limits.nodes} nodes", mark)
        if len(self.stack) + height > self.limits.depth + 1:
            self._refuse(_too_deep(self.limits).rstrip("."), mark)
        node, key = here.node, here.key
        if isinstance(node, MarkedList):
            node.append(value)
            node.marks.append((mark.line, mark.column, mark.line, mark.column))
            return
        here.pending_key = False
        if key is _MERGE:
            here.merges.append((mark, value))
            return
        if key in node:
            self._duplicate(here, here.key_mark)
        node[key] = value
        node.marks[key] = (here.key_mark.line, here.key_mark.column, mark.line, mark.column)

    def _duplicate(self, here: _Open, mark: Any) -> None:
        assert isinstance(here.node, MarkedMap)
        first = here.node.marks[here.key][0] + 1
        line = mark.line + 1
        message = f"The key {here.key!r} stands twice in one map, on lines {first} and {line}; the last one holds."
        path = ".".join([*(str(part.key) for part in self.stack[:-1] if part.pending_key), str(here.key)])
        self.warnings.append(
            Problem(message=message, path=path, file=self.file, line=line, column=mark.column + 1, code="duplicate-key")
        )

    def _merge(self, done: _Open, mark: Any, value: Any) -> None:
        """``<<``: keys that the map has itself win; of several maps the first wins."""
        assert isinstance(done.node, MarkedMap)
        for part in value if isinstance(value, list) else [value]:
            if not isinstance(part, MarkedMap):
                self._refuse("'<<' takes a map or a list of maps", mark)
            for key, item in part.items():
                if key not in done.node:
                    done.node[key] = item
                    done.node.marks[key] = part.marks[key]


def _called(name: str, args: Any, mark: Any) -> MarkedMap:
    """What a short form stands for. ``!GetAtt resource.attribute`` takes both in one text."""
    call = MarkedMap()
    call[name] = args.split(".", 1) if name == "Fn::GetAtt" and isinstance(args, str) else args
    call.marks[name] = (mark.line, mark.column, mark.line, mark.column)
    return call


def _resolve(text: str) -> str:
    """The tag that YAML 1.1 gives a plain scalar."""
    for tag, pattern in _RESOLVERS.get(text[:1], ()):
        if pattern.match(text):
            return str(tag)
    return _STR


def read_or_take(
    text: Any, *, file: str, limits: Limits, strict: bool, what: str
) -> tuple[dict[Any, Any], Faults, tuple[Problem, ...]]:
    """A text read, or a mapping that the client parsed, with the collector of its problems.

    Raises `InvalidInput` where it is no mapping. An empty text is an empty mapping.
    """
    if isinstance(text, str):
        reading = read(text, file=file, limits=limits)
        root, warnings = reading.root, reading.warnings
    else:
        root, warnings = text, ()
        check_shape(root, file=file, limits=limits)
    if root is None:
        root = MarkedMap()
    if not isinstance(root, dict):
        message = f"The {what} must be a map, not {shape(plain(root))}."
        raise InvalidInput([Problem(message=message, file=file, code="not-a-map")])
    faults = Faults(Source(file, root))
    if strict:
        faults.extend(warnings)
    return root, faults, () if strict else warnings
