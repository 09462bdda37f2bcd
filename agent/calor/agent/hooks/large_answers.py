"""The JSON map of an executable hook that printed more than memory should hold: long texts in it are cut in the middle
while it is read."""

import json
import os
import re
from typing import Any, Dict, Optional, Pattern, Tuple

from calor.agent import outputs

STATUS = re.compile(rb'"deploy_status_code"\s*:\s*"?(-?[0-9]{1,9})\b')
PART = outputs.LIMIT // 3
EDGE = 4096
LONGEST_KEY = 10000
QUOTE = re.compile(rb'"')
BRACKET = re.compile(rb'["\[\]{}]')
VISIBLE = re.compile(rb"[^ \t\r\n]")
AFTER_SCALAR = re.compile(rb"[,\]}\s]")


class NotAMap(Exception):
    """It is no JSON map, or one with a nested value too large to be signalled."""


class Bytes:
    """A file as bytes that are read as they are asked for."""

    BLOCK = 1024 * 1024

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __getitem__(self, part: slice) -> bytes:
        return os.pread(self._handle, part.stop - part.start, part.start)

    def search(self, wanted: Pattern[bytes], at: int) -> int:
        """Where the first byte that matches is, from ``at`` on; -1 if there is none."""
        while True:
            block = self[at : at + self.BLOCK]
            found = wanted.search(block)
            if found is not None:
                return at + found.start()
            if not block:
                return -1
            at += len(block)


def read(path: str) -> Optional[Dict[str, Any]]:
    """The map; None if the file holds something else."""
    with open(path, "rb") as source:
        data = Bytes(source.fileno())
        try:
            return _map(data)
        except (NotAMap, ValueError):
            return _status_alone(data, path)


def _status_alone(data: Bytes, path: str) -> Optional[Dict[str, Any]]:
    """What was to be a map, or has lost its middle (``spool``), still says whether the hook failed."""
    size = os.path.getsize(path)
    codes = STATUS.findall(data[max(0, size - Bytes.BLOCK) : size]) if data[0:1] == b"{" else []
    if not codes:
        return None
    return {"deploy_status_code": int(codes[-1]), "deploy_stdout": outputs.read_bounded(path)}


def _map(data: Bytes) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    at = _expect(data, 0, b"{")
    while True:
        at = _skip(data, at)
        if data[at : at + 1] == b"}" and not found:
            return found
        begin, at = _string(data, at)
        if at - begin > LONGEST_KEY:
            raise NotAMap
        key = str(json.loads(data[begin:at].decode("utf-8")))
        at = _expect(data, at, b":")
        found[key], at = _value(data, _skip(data, at))
        at = _skip(data, at)
        if data[at : at + 1] == b"}":
            return found
        at = _expect(data, at, b",")


def _value(data: Bytes, at: int) -> Tuple[Any, int]:
    first = data[at : at + 1]
    if first == b'"':
        begin, end = _string(data, at)
        return _text(data, begin + 1, end - 1), end
    end = _nested(data, at) if first in (b"{", b"[") else _scalar(data, at)
    if end - at > outputs.LIMIT:
        raise NotAMap
    return json.loads(data[at:end].decode("utf-8")), end


def _text(data: Bytes, begin: int, end: int) -> str:
    """The text between two quotes, or its head and tail around a note of its size."""
    if end - begin <= 2 * PART:
        return str(json.loads('"' + data[begin:end].decode("utf-8") + '"', strict=False))
    head, tail = _whole(data, begin, begin + PART), _whole(data, end - PART, end)
    left_out = (end - begin) - (head[1] - head[0]) - (tail[1] - tail[0])
    note = "\n[... calor: {} of {} bytes left out ...]\n".format(left_out, end - begin)
    return _piece(data, head) + note + _piece(data, tail)


def _whole(data: Bytes, begin: int, end: int) -> Tuple[int, int]:
    """The part from ``begin`` to ``end``, brought to the nearest blank or escaped line end where it would cut a
    character or an escape; these are everywhere but in what nobody reads."""
    if data[begin - 1 : begin] != b'"':
        window = data[begin : begin + EDGE]
        cut = max(window.find(b" "), window.find(b"\\n"))
        begin += max(cut, 0)
    if data[end : end + 1] != b'"':
        window = data[end - EDGE : end]
        cut = max(window.rfind(b" "), window.rfind(b"\\n"))
        end = end - EDGE + cut if cut >= 0 else end
    return begin, end


def _piece(data: Bytes, part: Tuple[int, int]) -> str:
    text = data[part[0] : part[1]].decode("utf-8", "replace")
    for trimmed in (text, text[:-1], text[1:], text[1:-1], text[6:-6]):
        try:
            return str(json.loads('"' + trimmed + '"', strict=False))
        except ValueError:
            continue
    return text


def _string(data: Bytes, at: int) -> Tuple[int, int]:
    """Where a text begins and ends, quotes included."""
    begin = at
    _expect(data, at, b'"')
    while True:
        at = data.search(QUOTE, at + 1)
        if at < 0:
            raise NotAMap
        back = at
        while data[back - 1 : back] == b"\\":
            back -= 1
        if (at - back) % 2 == 0:
            return begin, at + 1


def _nested(data: Bytes, at: int) -> int:
    """Where a list or map ends."""
    depth = 0
    while True:
        at = data.search(BRACKET, at)
        found = data[at : at + 1] if at >= 0 else b""
        if not found:
            raise NotAMap
        if found == b'"':
            at = _string(data, at)[1]
            continue
        depth += 1 if found in (b"{", b"[") else -1
        at += 1
        if depth == 0:
            return at


def _scalar(data: Bytes, at: int) -> int:
    end = data.search(AFTER_SCALAR, at)
    if end <= at:
        raise NotAMap
    return end


def _skip(data: Bytes, at: int) -> int:
    found = data.search(VISIBLE, at)
    if found < 0:
        raise NotAMap
    return found


def _expect(data: Bytes, at: int, what: bytes) -> int:
    at = _skip(data, at)
    if data[at : at + 1] != what:
        raise NotAMap
    return at + 1
