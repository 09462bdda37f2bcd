"""``calor stack logs``: what deployments print, line by line, with the path of the resource's name before each."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import click

from calor.server.cli.client import POLL, Client, connecting
from calor.server.cli.patience import Patient, Reader
from calor.server.cli.shown import harmless
from calor.server.cli.stack.places import GrowingPlaces


@dataclass(frozen=True)
class Line:
    """A whole line of what a deployment printed, or (``left_out``) that many bytes which nobody has kept. ``piece`` is
    the piece of output that it ends in."""

    name: str
    text: str
    piece: Mapping[str, Any]
    left_out: int = 0

    def shown(self) -> Iterator[str]:
        """For a terminal, the name before each part: a carriage return begins a new one."""
        text = f"[… {self.left_out} bytes left out …]" if self.left_out else harmless(self.text)
        return (f"{self.name} | {part}" for part in text.split("\n"))

    def as_json(self) -> str:
        names = ("time", "stack_id", "deployment_id", "run_id", "stream")
        about = {name: self.piece.get(name) for name in names}
        what = {"left_out": self.left_out} if self.left_out else {"text": self.text}
        return json.dumps({**about, "resource": self.name, **what}, ensure_ascii=False)


Put = Callable[[Line], None]


def _own_name(piece: Mapping[str, Any]) -> str:
    return str(piece["resource_name"])


class Lines:
    """Puts pieces of several streams together to whole lines. What was left out is said."""

    def __init__(self, put: Put, name: Callable[[Mapping[str, Any]], str] = _own_name) -> None:
        self._put = put
        self._name = name
        self._open: dict[tuple[str, int, str], Line] = {}
        self._ends: dict[tuple[str, int, str], int] = {}

    def add(self, piece: Mapping[str, Any]) -> None:
        key = (piece["run_id"], piece["attempt"], piece["stream"])
        end, name = self._ends.get(key, 0), self._name(piece)
        if piece["end"] <= end:
            return
        if piece["offset"] > end:
            self._put(Line(name, "", piece, left_out=piece["offset"] - end))
        self._ends[key] = piece["end"]
        begun = self._open.pop(key, None)
        *lines, rest = ((begun.text if begun else "") + piece["text"]).split("\n")
        for line in lines:
            self._put(Line(name, line, piece))
        if rest:
            self._open[key] = Line(name, rest, piece)

    def close(self) -> None:
        """Put the lines that have no end."""
        for line in self._open.values():
            self._put(line)
        self._open.clear()


def pages(client: Reader, path: str, *, follow: bool, resource: str | None = None) -> Iterator[list[dict[str, Any]]]:
    """All pieces there are; with ``follow`` also those that come, until the operation is over, and patiently."""
    since, reader = 0, Patient(client) if follow else client
    while True:
        page = reader.get(path, since=since, wait=POLL if follow else None, resource=resource)
        yield page["pieces"]
        if page["over"] or (not follow and not page["pieces"]):
            return
        since = page["next"]


def echo(line: Line) -> None:
    click.echo("\n".join(line.shown()))


def _echo_json(line: Line) -> None:
    click.echo(line.as_json())


@click.command()
@click.argument("stack")
@click.option("-f", "--follow", is_flag=True, help="Go on until the stack's operation ends.")
@click.option("--resource", help="Of this resource only.")
@click.option(
    "--format",
    "shape",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json: an object for each line, with its time, resource and stream.",
)
@connecting
def logs(client: Client, stack: str, follow: bool, resource: str | None, shape: str) -> None:
    """Print what the deployments of a stack, and of those nested in it, print. A deleted stack is named by its id."""
    path = client.stack_path(stack)
    places = GrowingPlaces(Patient(client) if follow else client, path)
    lines = Lines(_echo_json if shape == "json" else echo, places.of_piece)
    try:
        for page in pages(client, f"{path}/logs", follow=follow, resource=resource):
            for piece in page:
                lines.add(piece)
    except KeyboardInterrupt:
        raise click.exceptions.Exit(130) from None
    finally:
        lines.close()
