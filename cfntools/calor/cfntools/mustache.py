"""Mustache templates, for files with a ``context``: https://mustache.github.io/mustache.5.html without partials
(there is nothing that a partial could name here) and lambdas."""

import html
import re
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

SIGILS = "#^/!>&={"
DELIMITERS = ("{{", "}}")


class TemplateFault(Exception):
    """The template cannot be read; the message says where."""


class Node(NamedTuple):
    """``kind`` is a sigil, "" for an escaped value, or "text"; ``value`` a name or the text."""

    kind: str
    value: str
    children: List["Node"]


class Token(NamedTuple):
    kind: str
    value: str
    line: int


def render(template: str, context: Any, as_text: Optional[Callable[[Any], str]] = None) -> str:
    """The text; a name that the context does not have is nothing. ``as_text`` says how a value is written where it
    is not by Mustache's rules (as text, with HTML's characters escaped). Raises TemplateFault."""
    nodes, rest = _tree(_tokens(template), 0, None)
    if rest:
        raise TemplateFault("section end without beginning")
    return "".join(_rendered(nodes, [context], as_text))


# --- reading ---------------------------------------------------------------------------------------------------------


def _tokens(template: str) -> List[Token]:
    found: List[Token] = []
    opening, closing = DELIMITERS
    at = 0
    while True:
        start = template.find(opening, at)
        if start < 0:
            found.append(Token("text", template[at:], 0))
            return found
        line = template.count("\n", 0, start) + 1
        kind, value, end = _tag(template, start + len(opening), closing, line)
        before = template[at:start]
        if kind not in ("", "&", "{"):
            before, end = _standalone(template, before, start, end)
        if kind == "=":
            opening, closing = _delimiters(value, line)
        found.append(Token("text", before, line))
        found.append(Token("&" if kind == "{" else kind, value, line))
        at = end


def _tag(template: str, at: int, closing: str, line: int) -> Tuple[str, str, int]:
    """(kind, content, where the text goes on)."""
    kind = template[at : at + 1] if template[at : at + 1] in SIGILS else ""
    ending = {"{": "}", "=": "="}.get(kind, "") + closing
    end = template.find(ending, at + len(kind))
    if end < 0:
        raise TemplateFault("line {}: a tag that does not end with {}".format(line, ending))
    return kind, template[at + len(kind) : end].strip(), end + len(ending)


def _standalone(template: str, before: str, start: int, end: int) -> Tuple[str, int]:
    """A tag that stands alone on its line takes the line with it."""
    begin = template.rfind("\n", 0, start) + 1
    after = re.compile(r"[ \t]*(\r?\n|\Z)").match(template, end)
    if template[begin:start].strip(" \t") or after is None or len(before) < start - begin:
        return before, end
    return before[: len(before) - (start - begin)], after.end()


def _delimiters(value: str, line: int) -> Tuple[str, str]:
    parts = value.split()
    if len(parts) != 2:
        raise TemplateFault("line {}: delimiters must be two, parted by a space".format(line))
    return parts[0], parts[1]


def _tree(tokens: List[Token], at: int, section: Optional[Token]) -> Tuple[List[Node], int]:
    """The nodes up to the end of ``section``, and where to go on (0 at the end of all)."""
    nodes: List[Node] = []
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token.kind in ("#", "^"):
            children, at = _tree(tokens, at, token)
            nodes.append(Node(token.kind, token.value, children))
        elif token.kind == "/":
            if section is None or section.value != token.value:
                raise TemplateFault("line {}: {} ends here but does not begin".format(token.line, token.value))
            return nodes, at
        elif token.kind == ">":
            raise TemplateFault("line {}: there are no partials: {}".format(token.line, token.value))
        elif token.kind not in ("!", "="):
            nodes.append(Node(token.kind, token.value, []))
    if section is not None:
        raise TemplateFault("line {}: {} begins here and does not end".format(section.line, section.value))
    return nodes, 0


# --- rendering -------------------------------------------------------------------------------------------------------


def _rendered(nodes: List[Node], stack: List[Any], as_text: Optional[Callable[[Any], str]]) -> List[str]:
    found: List[str] = []
    for node in nodes:
        if node.kind == "text":
            found.append(node.value)
            continue
        value = _look_up(node.value, stack)
        if node.kind == "#":
            for inner in _repeated(value):
                found += _rendered(node.children, [*stack, inner], as_text)
        elif node.kind == "^":
            found += [] if _repeated(value) else _rendered(node.children, stack, as_text)
        elif as_text is not None:
            found.append(as_text(value))
        else:
            text = _text(value)
            found.append(text if node.kind == "&" else html.escape(text, quote=True))
    return found


def _repeated(value: Any) -> List[Any]:
    if isinstance(value, list):
        return value
    return [] if value is None or value is False or value == "" else [value]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _look_up(name: str, stack: List[Any]) -> Any:
    """A dotted name: its first part anywhere up the stack, the others below that."""
    if name == ".":
        return stack[-1]
    first, *others = name.split(".")
    value: Any = None
    for frame in reversed(stack):
        if isinstance(frame, dict) and first in frame:
            value = frame[first]
            break
    for part in others:
        value = value.get(part) if isinstance(value, dict) else None
    return value
