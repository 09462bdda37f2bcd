"""Files of this machine as text, and a problem shown in its line with a caret."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from calor.server.errors import Problem
from calor.server.template.files import text_of

WIDEST = 160


@dataclass(frozen=True)
class Text:
    path: Path
    content: str


def load(path: Path) -> Text:
    """Raises `OSError`."""
    return Text(path, text_of(path.read_bytes()))


def shown(problem: Problem, text: str | None, severity: str = "error") -> str:
    """The problem, its line and a caret below the place::

    web.yaml:12:7: error: resources.web.properties.imagee: There is no property … [unknown-property]
       12 |       imagee: cirros
          |       ^
    """
    place = problem.file + (f":{problem.line}:{problem.column}" if problem.line else "")
    words = [place, severity, problem.path, problem.message]
    code = f" [{problem.code}]" if problem.code else ""
    first = ": ".join(word for word in words if word) + code
    lines = (text or "").splitlines()
    if not 0 < problem.line <= len(lines):
        return first
    line = lines[problem.line - 1].replace("\t", " ")[:WIDEST]
    number = str(problem.line).rjust(5)
    caret = " " * min(max(problem.column - 1, 0), WIDEST)
    return f"{first}\n{number} | {line}\n{' ' * len(number)} | {caret}^"


def quoting(problems: Sequence[Problem], read: Callable[[str], str | None], severity: str = "error") -> str:
    """Several problems, each with its line; ``read`` gives the text of a file by the name that problems have."""
    return "\n".join(shown(problem, read(problem.file), severity) for problem in problems)
