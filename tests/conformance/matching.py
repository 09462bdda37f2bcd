"""An answer against one that was recorded with placeholders for what differs from run to run."""

import json
import re
from collections.abc import Mapping
from typing import Any

RECORDED_BASE = "http://heat.example:8004"
PLACEHOLDERS = {
    "<time>": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
    "<uuid>": r"[0-9a-f-]{36}",
    "<short>": r"[a-z0-9]{6,14}",
    "<text>": r"(?s).*",
}
OURS_TO_CHOOSE = frozenset({"stack_user_project_id"})
"""Our guests need no project of their own."""


TEXTS_LEFT_OUT = frozenset({"description", "Description"})
"""The record leaves out what is Heat's prose."""


class Mismatch(Exception):
    """Where an answer differs, and how."""


class Match:
    """Compares; raises `Mismatch`. ``base`` is our server's URL, ``names`` the ids behind `<id:NAME>`."""

    def __init__(self, base: str, names: Mapping[str, str]) -> None:
        self._base, self._names = base, names

    def __call__(self, wanted: Any, found: Any, path: str) -> None:
        if isinstance(wanted, dict):
            self._maps(wanted, found, path)
        elif isinstance(wanted, list):
            self._lists(wanted, found, path)
        elif isinstance(wanted, str):
            is_text = isinstance(found, str) and re.fullmatch(self._pattern(wanted), found)
            if not is_text and not (wanted == "<text>" and found is None):
                raise Mismatch(f"{path}: {found!r}, not {wanted!r}")
        elif wanted != found:
            raise Mismatch(f"{path}: {found!r}, not {wanted!r}")

    def _maps(self, wanted: Mapping[str, Any], found: Any, path: str) -> None:
        keys = wanted.keys() ^ found.keys() if isinstance(found, dict) else {type(found).__name__}
        if keys - (TEXTS_LEFT_OUT - wanted.keys()):
            raise Mismatch(f"{path}: keys differ: {sorted(keys)}")
        for key, value in wanted.items():
            if key not in OURS_TO_CHOOSE:
                self(value, found[key], f"{path}.{key}")

    def _lists(self, wanted: list[Any], found: Any, path: str) -> None:
        """The file sorts its lists; so each wanted one must be there, in any order."""
        if not isinstance(found, list) or len(found) != len(wanted):
            raise Mismatch(f"{path}: {json.dumps(found)[:300]}, not {len(wanted)} of them")
        left = list(found)
        for number, one in enumerate(wanted):
            left.sort(key=lambda candidate: -_likeness(one, candidate))
            reasons = []
            for candidate in left:
                try:
                    self(one, candidate, f"{path}[{number}]")
                except Mismatch as error:
                    reasons.append(str(error))
                else:
                    left.remove(candidate)
                    break
            else:
                raise Mismatch(reasons[0])

    def _pattern(self, wanted: str) -> str:
        text = re.escape(wanted.replace(RECORDED_BASE, self._base))
        for placeholder, pattern in PLACEHOLDERS.items():
            text = text.replace(re.escape(placeholder), pattern)
        return re.sub(r"<id:(\w+)>", lambda found: re.escape(self._names.get(found[1], found[0])), text)


def _likeness(wanted: Any, found: Any) -> int:
    if not isinstance(wanted, dict) or not isinstance(found, dict):
        return int(wanted == found)
    return sum(1 for key, value in wanted.items() if found.get(key) == value)
