"""Reading from a server that may be away for a moment, as while it is started anew."""

import time
from typing import Any, Protocol

import click

from calor.server.cli.api_fault import Fault, Unreachable

PATIENCE = 120.0
"""Seconds for which a server that is away is asked again."""
PAUSE = 1.0
AWAY = frozenset({502, 503, 504})
"""Answers of a proxy, or of a server, that cannot do it just now."""


class Reader(Protocol):
    """What reads from the API: a `Client`, or a patient one."""

    def get(self, path: str, **query: Any) -> Any: ...


class Patient:
    """Reads as another does, and asks again where the server is away; says so once, and when it is back."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def get(self, path: str, **query: Any) -> Any:
        """Raises `Fault`: also when the server has been away for too long."""
        deadline: float | None = None
        while True:
            try:
                answer = self._reader.get(path, **query)
            except Fault as fault:
                deadline = _next(fault, deadline)
                time.sleep(PAUSE)
                continue
            if deadline is not None:
                click.echo("The server answers again.", err=True)
            return answer


def _next(fault: Fault, deadline: float | None) -> float:
    """Until when to ask again; raises the fault where that is no use."""
    now = time.monotonic()
    if not isinstance(fault, Unreachable) and fault.status not in AWAY:
        raise fault
    if deadline is None:
        click.echo(f"{fault.message}\nTrying again for {PATIENCE / 60:.0f} minutes …", err=True)
        return now + PATIENCE
    if now >= deadline:
        raise fault
    return deadline
