"""Problems as data: what the API answers to those who ask for it, and what the command line prints as JSON."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from calor.server.errors import Problem
from calor.server.template.nearest import meant


def in_order(problems: Iterable[Problem], root: str) -> list[Problem]:
    """As they stand: those of the template named ``root``, or of no file, first, then by file; in each by line."""
    return sorted(problems, key=lambda one: (one.file not in ("", root), one.file, one.line, one.column))


def as_data(problem: Problem) -> dict[str, Any]:
    """``message``, ``path``, ``file``, ``line``, ``column``, ``code``, and ``did_you_mean``: the names it offers."""
    return {**asdict(problem), "did_you_mean": meant(problem.message)}


def of_data(data: Mapping[str, Any]) -> Problem:
    """The same back; what a newer server adds is left out."""

    def text(name: str) -> str:
        return str(data.get(name) or "")

    return Problem(
        message=text("message"),
        path=text("path"),
        file=text("file"),
        line=int(data.get("line") or 0),
        column=int(data.get("column") or 0),
        code=text("code"),
    )
