"""Where a cursor stands in a template, by indentation alone: it must work while the text is no YAML yet."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_KEY = re.compile(r"""^(?P<lead>\s*(?:-\s+)*)(?P<key>"[^"]*"|'[^']*'|[^\s:#'"{\[][^:]*?):(?:\s+(?P<value>.*))?$""")
_LEAD = re.compile(r"^\s*(?:-\s+)*")
_CALL = re.compile(r"""\{\s*["']?(?P<name>[\w:]+)["']?\s*:\s*(?P<rest>[^{}]*)$""")
_OPEN = re.compile(r"\{\s*(?P<word>[\w:]*)$")
_WORD = re.compile(r"[\w:./$-]+")


@dataclass(frozen=True, kw_only=True)
class Place:
    """``path`` are the keys above. In a value, ``key`` is its key and ``text`` what stands before the cursor of it;
    for a key, ``text`` is what there is of it. ``call`` is the innermost function in braces, whose arguments begin
    with ``text``; ``opened``: a brace was opened just now; ``item``: an item of a list, which may be a value or begin a
    map. ``word`` is the whole word under the cursor."""

    path: tuple[str, ...] = ()
    key: str | None = None
    text: str = ""
    call: str = ""
    opened: bool = False
    item: bool = False
    word: str = ""


class Outline:
    """The lines of one text."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()

    def place(self, line: int, column: int) -> Place:
        """``line`` and ``column`` count from 0."""
        whole = self.lines[line] if line < len(self.lines) else ""
        head, word = whole[:column], _word(whole, column)
        indent, found = len(_lead(head)), _KEY.match(head)
        path = tuple(self._above(line, indent if head.strip() else column))
        if opened := _OPEN.search(head):
            return Place(path=_joined(path, found), text=opened["word"], opened=True, word=word)
        if call := _CALL.search(head):
            return Place(path=_joined(path, found), call=call["name"], text=call["rest"], word=word)
        if found is not None:
            return Place(path=path, key=_plain(found["key"]), text=found["value"] or "", word=word)
        item = head[indent:]
        if path and head.lstrip().startswith("-") and not item.endswith(":"):
            return Place(path=path, key=path[-1], text=item, item=True, word=word)
        return Place(path=path, text=item, word=word)

    def _above(self, line: int, indent: int) -> Sequence[str]:
        path: list[str] = []
        for number in range(min(line, len(self.lines)) - 1, -1, -1):
            text = self.lines[number]
            found = _KEY.match(text)
            if not text.strip() or text.lstrip().startswith("#") or found is None:
                continue
            lead = found["lead"]
            begins = len(lead) - len(lead.lstrip())
            if len(lead) < indent:
                path.insert(0, _plain(found["key"]))
                indent = begins if "-" in lead else len(lead)
            if indent == 0:
                break
        return path

    def entries(self, *path: str) -> Mapping[str, tuple[int, int]]:
        """The keys of a block with the line and column of each, counted from 0."""
        found: dict[str, tuple[int, int]] = {}
        for number, key, indent in self._block(path):
            found.setdefault(key, (number, indent))
        return found

    def _block(self, path: Sequence[str]) -> Iterator[tuple[int, str, int]]:
        start, indent = 0, -1
        for part in path:
            hit = next(((n, i) for n, key, i in self._children(start, indent) if key == part), None)
            if hit is None:
                return
            start, indent = hit[0] + 1, hit[1]
        yield from self._children(start, indent)

    def _children(self, start: int, above: int) -> Iterator[tuple[int, str, int]]:
        level: int | None = None
        for number in range(start, len(self.lines)):
            text = self.lines[number]
            if not text.strip() or text.lstrip().startswith("#"):
                continue
            indent = len(text) - len(text.lstrip())
            if indent <= above:
                return
            level = indent if level is None else level
            found = _KEY.match(text)
            if indent == level and found is not None:
                yield number, _plain(found["key"]), indent

    def value(self, *path: str) -> str:
        """The scalar of a key of a block; empty where there is none."""
        hit = self.entries(*path[:-1]).get(path[-1])
        found = _KEY.match(self.lines[hit[0]]) if hit is not None else None
        return _plain((found["value"] or "").partition(" #")[0].strip()) if found is not None else ""

    def block(self, *path: str) -> str:
        """The lines of an entry."""
        hit = self.entries(*path[:-1]).get(path[-1])
        if hit is None:
            return ""
        number, indent = hit
        lines = [self.lines[number]]
        for text in self.lines[number + 1 :]:
            if text.strip() and len(text) - len(text.lstrip()) <= indent:
                break
            lines.append(text)
        return "\n".join(line[indent:] for line in lines).rstrip()


def _lead(text: str) -> str:
    found = _LEAD.match(text)
    return found.group() if found is not None else ""


def _joined(path: tuple[str, ...], found: "re.Match[str] | None") -> tuple[str, ...]:
    """In braces, the key of the line stands above, too."""
    return path if found is None or "{" in found["key"] else (*path, _plain(found["key"]))


def _plain(text: str) -> str:
    return text.strip().strip("\"'")


def _word(text: str, column: int) -> str:
    for found in _WORD.finditer(text):
        if found.start() <= column <= found.end():
            return found.group().rstrip(":")
    return ""
