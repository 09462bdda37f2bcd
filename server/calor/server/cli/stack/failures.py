"""``calor stack failures``: what failed, down to the instance's last output; also what failed before a rollback."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

from calor.server.cli.client import Client, connecting
from calor.server.cli.patience import Reader
from calor.server.cli.shown import console, harmless, last_lines, put_facts, styled
from calor.server.cli.stack.places import DEEPEST, Places, nested_of, stack_of

LARGE = 80
"""Characters from which on a text is not told again where it stands already; of several lines, any."""
ALL = "`calor stack failures --long` shows all"
ROLLBACK = "ROLLBACK_"
_LAST_LINES = "; last lines: "
"""Where a server's reason goes on with the end of the output."""


@click.command()
@click.argument("stack")
@click.option("--long", "whole", is_flag=True, help="All of what the deployments printed, not the last lines.")
@connecting
def failures(client: Client, stack: str, whole: bool) -> None:
    """Show what failed in a stack and in those nested in it, with the instance's last output. After a rollback: what
    failed before it."""
    path = client.stack_path(stack)
    status = client.get(path, resolve_outputs=False)["stack"]["stack_status"]
    runs = client.get(f"{path}/progress")["deployments"]
    found = failed(client, path, status)
    put_failures(found, runs, whole=whole)
    if not found.all:
        click.echo("Nothing has failed.")


@dataclass(frozen=True)
class Failed:
    """The deepest causes, with paths from the root stack as names; ``before`` led to a rollback."""

    before: list[dict[str, Any]]
    now: list[dict[str, Any]]

    @property
    def all(self) -> list[dict[str, Any]]:
        return [*self.before, *self.now]

    def left_of(self, reason: str) -> str:
        """What a stack's reason tells beside the reasons of these."""
        for cause in (str(one["resource_status_reason"]) for one in self.all):
            if cause and cause in reason:
                return reason.partition(cause)[0].rstrip(": ")
        return reason


def failed(client: Reader, path: str, status: str) -> Failed:
    """What failed, and what led to the rollback that ``status`` tells of."""
    before = failed_before_rollback(client, path) if status.startswith(ROLLBACK) else []
    return Failed(before, failed_resources(client, path))


def put_failures(found: Failed, runs: list[dict[str, Any]], *, whole: bool) -> None:
    """Show them, with what their deployments among ``runs`` printed last."""
    known = {one["id"]: one for one in runs}
    if found.before:
        click.echo("Before the rollback:")
    for one in found.before:
        put_failure(one, None, whole=whole)  # what runs now is what the rollback made
    if found.before and found.now:
        click.echo("Now:")
    for one in found.now:
        put_failure(one, known.get(str(one.get("physical_resource_id"))), whole=whole)


def failed_resources(client: Reader, path: str) -> list[dict[str, Any]]:
    """The deepest causes: a nested stack that failed because of what is in it is left out."""
    found = client.get(f"{path}/resources", nested_depth=DEEPEST, status="FAILED")["resources"]
    places, with_cause = Places(found), {stack_of(one) for one in found}
    return [{**one, "resource_name": places.of(one)} for one in found if nested_of(one) not in with_cause]


def failed_before_rollback(client: Reader, path: str) -> list[dict[str, Any]]:
    """The same of the operation that the last rollback undid, from its events: the resources may be gone. Names are
    paths from the root stack."""
    root = path.rpartition("/")[2]
    found = client.get(f"{path}/events", nested_depth=DEEPEST)["events"]
    begun = {
        at: one["resource_status"]
        for at, one in enumerate(found)
        if one["physical_resource_id"] == root and one["resource_status"].endswith("_IN_PROGRESS")
    }
    end = max((at for at, status in begun.items() if status.startswith(ROLLBACK)), default=0)
    begin = max((at for at in begun if at < end), default=0)
    of_resources = [one for one in found[begin:end] if one["physical_resource_id"] != stack_of(one)]
    failed = {
        (stack_of(one), one["resource_name"]): one for one in of_resources if one["resource_status"].endswith("_FAILED")
    }
    with_cause, places = {stack for stack, _ in failed}, Places(of_resources)
    return [
        {**one, "resource_name": places.of(one)}
        for one in failed.values()
        if one["physical_resource_id"] not in with_cause
    ]


def put_failure(resource: Mapping[str, Any], run: Mapping[str, Any] | None, *, whole: bool) -> None:
    """A resource, or an event of one, which does not tell its type; ``run`` is its deployment."""
    out = console()
    out.print(f"{resource['resource_name']}", style="bold", end="  ", markup=False)
    out.print(styled(resource["resource_status"]))
    outputs = {name: str(value) for name, value in (run["output_values"] if run else {}).items() if value is not None}
    facts = {"type": resource["resource_type"]} if "resource_type" in resource else {}
    facts["physical id"] = resource.get("physical_resource_id") or "none"
    facts["reason"] = _left_of_outputs(str(resource["resource_status_reason"]), outputs)
    put_facts(facts, "`openstack stack resource show` shows all")
    for name, text in outputs.items():
        if text:
            click.echo(f"{name}:")
            lines = harmless(text).splitlines() if whole else last_lines(text, ALL)
            click.echo("\n".join(f"  {line}" for line in lines))


def _left_of_outputs(reason: str, outputs: Mapping[str, str]) -> str:
    """What a reason tells beside the outputs, which follow it: it quotes their ends, and error outputs whole."""
    found = reason.partition(_LAST_LINES)[0] if any(outputs.values()) else reason
    for name, text in outputs.items():
        if len(text) <= LARGE and "\n" not in text.strip():
            continue
        before, quoted, after = found.partition(f"{name} : {text}")
        if not quoted:  # a reason is bounded: this may be only the beginning of the text
            before, quoted, _ = found.partition(f"{name} : {text[:LARGE]}")
        found = f"{before}{name} : see below{after}" if quoted else found
    return found
