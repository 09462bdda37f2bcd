"""``calor stack watch``: a tree of stacks while something is done to it; the exit code tells how it ended."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import click
from rich.console import Group
from rich.live import Live
from rich.text import Text
from rich.tree import Tree

from calor.server.cli.api_fault import Fault
from calor.server.cli.client import Client, connecting
from calor.server.cli.patience import Patient, Reader
from calor.server.cli.shown import console, harmless, shortened, styled
from calor.server.cli.stack.failures import ROLLBACK, failed, put_failures
from calor.server.cli.stack.logs import Line, Lines
from calor.server.cli.stack.places import DEEPEST, GrowingPlaces, Places, stack_of
from calor.server.cli.stack.show import step_of

PERIOD = 1.0
NEWEST = 8
"""Lines of output below the tree."""
LONGEST = 500
"""Characters of each: what is drawn four times a second must be little."""
REASON_HAS_ALL = "`openstack stack show` and `stack resource show` have all"
UNDER_WAY = frozenset({"RUNNING", "UNREACHABLE", "CANCELLING", "FETCHED", "QUEUED"})


@dataclass
class Picture:
    """A tree at one moment. ``status`` is DELETE_COMPLETE where the stack is gone."""

    name: str
    status: str
    reason: str = ""
    began: str = ""
    resources: list[dict[str, Any]] = field(default_factory=list)
    progress: dict[str, Any] = field(default_factory=lambda: {"guests": [], "deployments": []})

    @property
    def is_over(self) -> bool:
        return not self.status.endswith("_IN_PROGRESS")

    @property
    def has_outputs(self) -> bool:
        """Whether what its template declares is there to be seen."""
        return self.status in ("CREATE_COMPLETE", "UPDATE_COMPLETE")

    @property
    def has_failed(self) -> bool:
        """What was asked for was not done: also where that has been undone in good order."""
        return self.status.endswith("_FAILED") or self.status.startswith(ROLLBACK)


@click.command()
@click.argument("stack")
@connecting
def watch(client: Client, stack: str) -> None:
    """Watch a stack until its operation ends: resources, instances, running steps, the newest output. Where standard
    output is no terminal, a line for each change. The exit code is 1 if the operation failed, rolled back or not."""
    try:
        path = client.stack_path(stack)
    except Fault as fault:
        if fault.status != 404:
            raise
        raise Fault(f"{fault.message} It may have been deleted: `calor stack list --deleted` tells.", 404) from fault
    raise click.exceptions.Exit(follow(client, path))


def follow(given: Reader, path: str, *, beside_json: bool = False) -> int:
    """Show a stack until its operation ends: 0 if that went well, 1 if not. ``beside_json``: on standard error. A
    server that is away for a moment is waited for."""
    client = Patient(given)
    places = GrowingPlaces(client, path)
    try:
        is_live = not beside_json and console().is_terminal
        last = _live(client, path, places) if is_live else _plainly(client, path, places, err=beside_json)
    except KeyboardInterrupt:
        click.echo("\nThe operation goes on without being watched.", err=True)
        raise click.exceptions.Exit(130) from None
    if not last.has_failed:
        _put_way_to_outputs(client, path, last, err=beside_json)
        return 0
    found = failed(client, path, last.status)
    reason = shortened(found.left_of(last.reason), REASON_HAS_ALL)
    click.echo(f"\n{last.name} is {last.status}{': ' if reason else ''}{reason}\n", err=True)
    put_failures(found, last.progress["deployments"], whole=False)
    return 1


def _put_way_to_outputs(client: Reader, path: str, last: Picture, *, err: bool) -> None:
    if last.has_outputs and client.get(f"{path}/outputs")["outputs"]:
        click.echo(f"Its outputs: calor stack show {last.name}", err=err)


def taken(client: Reader, path: str) -> Picture:
    try:
        found = client.get(path, resolve_outputs=False)["stack"]
        progress = client.get(f"{path}/progress")
        resources = client.get(f"{path}/resources", nested_depth=DEEPEST)["resources"]  # names what is in progress
    except Fault as fault:
        if fault.status != 404:
            raise
        return Picture(path.split("/")[2], "DELETE_COMPLETE")
    began = found["updated_time"] or found["creation_time"]
    status, reason = found["stack_status"], found["stack_status_reason"]
    return Picture(found["stack_name"], status, reason, began, resources, progress)


def _each_moment(
    client: Reader, path: str, places: GrowingPlaces, put: Callable[[Picture], None], lines: Lines
) -> Picture:
    """Take pictures until the operation is over and all of its output has been put."""
    since = 0
    while True:
        picture = taken(client, path)
        places.learn(picture.resources)
        page = client.get(f"{path}/logs", since=since)
        since = page["next"]
        for piece in page["pieces"]:
            if piece["time"] >= picture.began:  # both in whole seconds; what was printed before is no news
                lines.add(piece)
        put(picture)
        if picture.is_over and not page["pieces"]:
            lines.close()
            return picture
        if not page["pieces"]:
            time.sleep(PERIOD)


def _plainly(client: Reader, path: str, places: GrowingPlaces, *, err: bool) -> Picture:
    known: dict[str, str] = {}

    def put(picture: Picture) -> None:
        for key, text in _facts(picture, places).items():
            if known.get(key) != text:
                known[key] = text
                click.echo(shortened(f"{key}: {text}", REASON_HAS_ALL).replace("\n", " "), err=err)

    def line(one: Line) -> None:
        click.echo("\n".join(one.shown()), err=err)

    return _each_moment(client, path, places, put, Lines(line, places.of_piece))


def _facts(picture: Picture, places: Places) -> dict[str, str]:
    """What has a line of its own when it changes."""
    found = {}
    for one in picture.resources:
        why = f": {one['resource_status_reason']}" if one["resource_status"].endswith("FAILED") else ""
        found[places.of(one)] = one["resource_status"] + why
    for guest in picture.progress["guests"]:
        found[f"{places.within(guest['stack_id'], guest['resource_name'])} (instance)"] = guest["state"]
    for run in picture.progress["deployments"]:
        step = step_of(run)
        which = f" (run {run['id'][:8]})" if run["on_demand_of"] else ""
        name = f"{places.within(run['stack_id'], run['resource_name'])}{which} on {run['server_name']}"
        found[name] = run["state"] + (f", {step}" if step else "")
    return {**found, picture.name: picture.status}


def _live(client: Reader, path: str, places: GrowingPlaces) -> Picture:
    newest: list[str] = []

    def line(one: Line) -> None:
        newest.extend(part[:LONGEST] + ("…" if len(part) > LONGEST else "") for part in one.shown())
        del newest[:-NEWEST]

    with Live(console=console(), refresh_per_second=4, transient=False) as live:
        return _each_moment(
            client,
            path,
            places,
            lambda picture: live.update(Group(tree_of(picture), *(Text(one, style="dim") for one in newest))),
            Lines(line, places.of_piece),
        )


def tree_of(picture: Picture) -> Tree:
    """The stack, its resources and those of nested stacks below theirs."""
    root = Tree(_label(picture.name, picture.status, ""))
    guests = {(one["stack_id"], one["resource_name"]): one for one in picture.progress["guests"]}
    runs: dict[Any, list[dict[str, Any]]] = {}
    for run in picture.progress["deployments"]:
        runs.setdefault((run["stack_id"], run["resource_name"]), []).append(run)
    branches, places = {"": root}, Places(picture.resources)
    for one in picture.resources:
        place, path = (stack_of(one), one["resource_name"]), places.of(one)
        above = branches.get(path.rpartition("/")[0], root)
        guest = guests.get(place)
        branch = above.add(_label(one["resource_name"], one["resource_status"], guest["state"] if guest else ""))
        branches[path] = branch
        for run in runs.get(place, ()):
            if run["state"] in UNDER_WAY:
                branch.add(Text(harmless(f"{run['state']} {step_of(run)}")))
    return root


def _label(name: str, status: str, more: str) -> Text:
    return Text.assemble((harmless(name), "bold"), "  ", styled(status), f"  {more}" if more else "")
