"""What a case came to: agreement with Heat, an exception that is listed with its reason, or a difference."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calor.server.errors import CalorError

EXCEPTIONS = Path(__file__).with_name("exceptions.json")


@dataclass(frozen=True)
class Found:
    """What we give: a value, or a refusal with its text and the codes of its problems."""

    value: Any = None
    refusal: str | None = None
    codes: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"refused: {self.refusal}" if self.refusal is not None else json.dumps(self.value, sort_keys=True)


@dataclass(frozen=True)
class Verdict:
    """``exception`` names the listed kind of difference; ``difference`` says what is otherwise different."""

    suite: str
    kind: str
    ident: str
    exception: str = ""
    difference: str = ""


def attempt(compute: Callable[[], Any]) -> Found:
    """The value of a computation, as JSON gives it, or its refusal."""
    try:
        return Found(json.loads(json.dumps(compute())))
    except CalorError as error:
        return Found(refusal=error.detail, codes=frozenset(problem.code for problem in error.problems))


def is_refusal(wanted: Any) -> bool:
    return isinstance(wanted, Mapping) and "error" in wanted


def agrees(wanted: Any, found: Found) -> bool:
    """Heat refuses and so do we, or the values are equal (1 and true are not). Classes and texts do not count."""
    if is_refusal(wanted) or found.refusal is not None:
        return is_refusal(wanted) and found.refusal is not None
    return json.dumps(wanted, sort_keys=True) == json.dumps(found.value, sort_keys=True)


class Exceptions:
    """The kinds of differences that are meant, from ``exceptions.json``."""

    def __init__(self, path: Path = EXCEPTIONS) -> None:
        self.entries: list[Mapping[str, Any]] = json.loads(path.read_text())

    def name(self, suite: str, kind: str, case: Any, wanted: Any, found: Found) -> str:
        """The exception that a difference falls under; empty for none."""
        text = json.dumps(case, sort_keys=True)
        for entry in self.entries:
            if suite in entry["suites"] and kind in entry.get("kinds", [kind]) and _fits(entry, text, wanted, found):
                return str(entry["name"])
        return ""

    def noted(self, suite: str, case: str, difference: str) -> str:
        """The exception for a difference that is told in words: by what was asked, and by the words."""
        for entry in self.entries:
            if (
                suite in entry["suites"]
                and re.search(entry["case"], case)
                and re.search(entry["difference"], difference)
            ):
                return str(entry["name"])
        return ""


def _fits(entry: Mapping[str, Any], case: str, wanted: Any, found: Found) -> bool:
    """All that an entry says holds."""
    heat = "refuses" if is_refusal(wanted) else "accepts"
    if heat == "refuses" and wanted["error"].get("http_status") == 500:
        heat = "crashes"
    calor = "accepts" if found.refusal is None else "refuses"
    if heat not in (entry["heat"] if isinstance(entry["heat"], list) else [entry["heat"]]) or entry["calor"] != calor:
        return False
    if "case" in entry and not re.search(entry["case"], case):
        return False
    lines = (found.refusal or "").splitlines()
    if "refusal" in entry and not all(re.search(entry["refusal"], line) for line in lines):
        return False
    return "differs_in" not in entry or set(_different(wanted, found.value)) <= set(entry["differs_in"])


def _different(wanted: Any, found: Any) -> Iterator[str]:
    """Keys of two maps that differ; of what is nested in ``environment`` the inner ones."""
    if not isinstance(wanted, Mapping) or not isinstance(found, Mapping):
        yield "everything"
        return
    for key in wanted.keys() | found.keys():
        if wanted.get(key) != found.get(key):
            inner = key == "environment" and isinstance(wanted.get(key), Mapping)
            yield from _different(wanted[key], found.get(key)) if inner else (key,)


class Judge:
    """Judges the cases of one suite."""

    def __init__(self, suite: str, exceptions: Exceptions) -> None:
        self.suite = suite
        self.exceptions = exceptions

    def noted(self, kind: str, ident: str, case: str, difference: str) -> Verdict:
        """``difference`` is empty where Heat agrees."""
        name = self.exceptions.noted(self.suite, case, difference) if difference else ""
        return Verdict(self.suite, kind, ident, name, "" if name else f"{case}: {difference}" if difference else "")

    def verdict(self, kind: str, ident: str, case: Any, wanted: Any, variants: Iterable[Found]) -> Verdict:
        """``variants`` are what the readings of a case give that its file does not tell apart; one must agree."""
        first: Found | None = None
        for found in variants:
            if agrees(wanted, found):
                return Verdict(self.suite, kind, ident)
            first = first or found
        assert first is not None
        name = self.exceptions.name(self.suite, kind, case, wanted, first)
        difference = (
            "" if name else f"wanted {json.dumps(wanted, sort_keys=True)[:600]}\n      found {str(first)[:600]}"
        )
        return Verdict(self.suite, kind, ident, name, difference)
