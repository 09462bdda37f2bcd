"""What the command line says when the API refuses, or cannot be reached."""

from collections.abc import Mapping, Sequence
from typing import Any

import click


class Fault(click.ClickException):
    """An answer of the API that is an error; ``status`` is HTTP's. ``problems`` are the faults of what was sent."""

    def __init__(self, message: str, status: int = 0, problems: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.problems = problems


class Unreachable(Fault):
    """Nobody answers at all: the server, or the Keystone before it, is not running or cannot be reached."""
