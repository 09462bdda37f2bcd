"""Scripted trouble: which calls fail, get lost, wait or run into limits. For tests, by Python or ``/faults``."""

import enum
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


class Trouble(enum.Enum):
    ERROR = "error"
    """Answer ``status`` with ``message`` and do nothing."""
    LOST = "lost"
    """Do it, then close the connection without an answer."""
    DELAY = "delay"
    """Wait ``seconds``, then do it."""
    QUOTA = "quota"
    """Refuse as the service refuses what exceeds a quota."""
    BUSY = "busy"
    """429 with Retry-After."""
    NEVER_READY = "never_ready"
    """What the call creates stays in its first state until it is deleted."""
    BROKEN = "broken"
    """What the call creates goes into an error state with ``message``."""


@dataclass(kw_only=True)
class Rule:
    """Strikes calls whose method and path match, ``times`` times (None: always), after letting ``skip`` pass."""

    trouble: Trouble
    method: str = ".*"
    path: str = ".*"
    times: int | None = 1
    skip: int = 0
    status: int = 500
    message: str = "The dev cloud was told to fail here."
    seconds: float = 1.0
    struck: int = field(default=0)

    def matches(self, method: str, path: str) -> bool:
        return bool(re.fullmatch(self.method, method) and re.search(self.path, path))

    def as_json(self) -> dict[str, Any]:
        return {**self.__dict__, "trouble": self.trouble.value}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Rule":
        """Raises ValueError with what is wrong."""
        known = {"trouble", "method", "path", "times", "skip", "status", "message", "seconds"}
        unknown = set(body) - known
        if unknown:
            raise ValueError(f"unknown fields {sorted(unknown)}; known are {sorted(known)}")
        try:
            rule = cls(**{**body, "trouble": Trouble(body.get("trouble"))})
            re.compile(rule.method)
            re.compile(rule.path)
        except re.error as exc:
            raise ValueError(f"not a regular expression: {exc}") from exc
        return rule


_STRIKING: ContextVar[Rule | None] = ContextVar("striking", default=None)


@contextmanager
def striking(rule: Rule) -> Iterator[None]:
    """The rule hits the call that is handled inside the block."""
    token = _STRIKING.set(rule)
    try:
        yield
    finally:
        _STRIKING.reset(token)


def fate() -> tuple[str | None, str]:
    """What becomes of the thing that the present call creates: (``never_ready``, ``broken`` or None, message)."""
    rule = _STRIKING.get()
    if rule is None or rule.trouble not in (Trouble.NEVER_READY, Trouble.BROKEN):
        return None, ""
    return rule.trouble.value, rule.message


class Faults:
    """The rules in force. They live in memory: a restarted cloud is well again."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []

    def add(self, rule: Rule) -> Rule:
        self.rules.append(rule)
        return rule

    def clear(self) -> None:
        self.rules.clear()

    def strike(self, method: str, path: str) -> Rule | None:
        """The rule that hits this call, counted."""
        for rule in self.rules:
            if not rule.matches(method, path):
                continue
            if rule.skip > 0:
                rule.skip -= 1
                continue
            if rule.times is not None and rule.struck >= rule.times:
                continue
            rule.struck += 1
            return rule
        return None
