"""``calor stack logs``: what deployments print, line by line, with the resource's name before each."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import click

from calor.server.cli.client import POLL, Client, connecting
from calor.server.cli.shown import harmless

Put = Callable[[str, str], None]


class Lines:
    """Puts pieces of several streams together to whole lines. What was left out is said."""

    def __init__(self, put: Put, stack_id: str | None = None) -> None:
        self._put = put
        self._stack_id = stack_id
        self._open: dict[tuple[str, int, str], tuple[str, str]] = {}
        self._ends: dict[tuple[str, int, str], int] = {}

    def add(self, piece: Mapping[str, Any]) -> None:
        key = (piece["run_id"], piece["attempt"], piece["stream"])
        end, name = self._ends.get(key, 0), self.name(piece)
        if piece["end"] <= end:
            return
        if piece["offset"] > end:
            self._put(name, f"[… {piece['offset'] - end} bytes left out …]")
        self._ends[key] = piece["end"]
        text = self._open.pop(key, ("", ""))[1] + piece["text"]
        *lines, rest = text.split("\n")
        for line in lines:
            self._put(name, line)
        if rest:
            self._open[key] = name, rest

    def close(self) -> None:
        """Put the lines that have no end."""
        for name, rest in self._open.values():
            self._put(name, rest)
        self._open.clear()

    def name(self, piece: Mapping[str, Any]) -> str:
        nested = self._stack_id is not None and piece["stack_id"] not in (None, self._stack_id)
        return f"{piece['stack_name']}/{piece['resource_name']}" if nested else str(piece["resource_name"])


def pages(client: Client, path: str, *, follow: bool, resource: str | None = None) -> Iterator[list[dict[str, Any]]]:
    """All pieces there are; with ``follow`` also those that come, until the operation is over."""
    since = 0
    while True:
        page = client.get(path, since=since, wait=POLL if follow else None, resource=resource)
        yield page["pieces"]
        if page["over"] or (not follow and not page["pieces"]):
            return
        since = page["next"]


def echo(name: str, line: str) -> None:
    click.echo("\n".join(f"{name} | {part}" for part in harmless(line).split("\n")))


@click.command()
@click.argument("stack")
@click.option("-f", "--follow", is_flag=True, help="Go on until the stack's operation ends.")
@click.option("--resource", help="Of this resource only.")
@connecting
def logs(client: Client, stack: str, follow: bool, resource: str | None) -> None:
    """Print what the deployments of a stack, and of those nested in it, print. A deleted stack is named by its id."""
    path = client.stack_path(stack)
    lines = Lines(echo, path.rpartition("/")[2])
    try:
        for page in pages(client, f"{path}/logs", follow=follow, resource=resource):
            for piece in page:
                lines.add(piece)
    except KeyboardInterrupt:
        raise click.exceptions.Exit(130) from None
    finally:
        lines.close()
