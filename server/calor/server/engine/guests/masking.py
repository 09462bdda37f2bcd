"""Hides secrets in a stream of bytes that comes in pieces. Pure.

A secret may lie across the border of two pieces: what could be the beginning of one is left for the next piece, and
so is half a character. Whoever sends the pieces is told how far they were taken, and sends the rest again.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

MASK = b"******"
SHORTEST = 4
"""Bytes of a secret that is looked for; a shorter one would hide half of any text."""

LONG_LINE = 16
"""Characters of a line of a secret of several lines that is looked for by itself."""


class Masker:
    def __init__(self, secrets: Iterable[str]) -> None:
        found = {form.encode("utf-8", "replace") for text in secrets for form in forms_of(text)}
        self._secrets = sorted((one for one in found if len(one) >= SHORTEST), key=len, reverse=True)
        self._pattern = re.compile(b"|".join(re.escape(one) for one in self._secrets))

    def text(self, text: str) -> str:
        """A whole text."""
        if not self._secrets or not text:
            return text
        return self._hidden(text.encode("utf-8", "replace")).decode("utf-8", "replace")

    def _hidden(self, data: bytes) -> bytes:
        return self._pattern.sub(MASK, data)

    def piece(self, data: bytes, *, final: bool, after_gap: bool = False) -> tuple[bytes, int]:
        """(the masked beginning of ``data``, how many bytes of it that is). ``final``: nothing follows.
        ``after_gap``: what came before is not known, so that the end of a secret may stand at the beginning."""
        cut = len(data) if final else min(self._open(data), _whole_characters(data))
        shown, at = bytearray(), self._rest_of_secret(data) if after_gap else 0
        if at:
            shown += MASK
            cut = max(cut, at)
        for match in self._pattern.finditer(data, at) if self._secrets else ():
            if match.start() >= cut:
                break
            shown += data[at : match.start()] + MASK
            at = match.end()
            cut = max(cut, at)
        shown += data[at:cut]
        return bytes(shown), cut

    def _open(self, data: bytes) -> int:
        """Where the longest end of ``data`` begins that is the beginning of a secret."""
        lengths = (_overlap(data, secret) for secret in self._secrets)
        return len(data) - max(lengths, default=0)

    def _rest_of_secret(self, data: bytes) -> int:
        """How much of the beginning of ``data`` is the end of a secret."""
        for secret in self._secrets:
            for begin in range(1, len(secret) - SHORTEST + 1):
                if data.startswith(secret[begin:]):
                    return len(secret) - begin
        return 0


def forms_of(secret: str) -> Iterator[str]:
    """As programs print it: as it is, as JSON has it, and of several lines (a key) each by itself."""
    whole = secret.strip("\r\n")
    yield whole
    yield json.dumps(whole)[1:-1]
    lines = whole.splitlines()
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= LONG_LINE)


def is_seen(secret: str, tree: Any) -> bool:
    """Whether a secret stands somewhere in a tree in a form that is looked for: if not, it went in by another way."""
    if isinstance(tree, Mapping):
        return any(is_seen(secret, value) for value in tree.values())
    if isinstance(tree, list | tuple):
        return any(is_seen(secret, value) for value in tree)
    return any(form in str(tree) for form in forms_of(secret))


def without(tree: Any, secrets: Iterable[str], masker: Masker) -> Any:
    """A copy of a tree without secrets. A text with one that is too short to be looked for is hidden whole."""
    short = [one for one in secrets if one and len(one.encode("utf-8", "replace")) < SHORTEST]

    def shown(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: shown(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [shown(item) for item in value]
        if value is None or isinstance(value, bool):
            return value
        text = str(value)
        hidden = MASK.decode() if any(one in text for one in short) else masker.text(text)
        return value if hidden == text else hidden

    return shown(tree)


def _overlap(data: bytes, secret: bytes) -> int:
    """The length of the longest end of ``data`` that is a beginning of ``secret``, but not all of it."""
    for length in range(min(len(data), len(secret) - 1), 0, -1):
        if data.endswith(secret[:length]):
            return length
    return 0


def _whole_characters(data: bytes) -> int:
    """The length without a UTF-8 character at the end of which bytes are missing."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if 0xC2 <= byte <= 0xF4:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) - back if needed > back else len(data)
        if not 0x80 <= byte < 0xC0:
            break
    return len(data)
