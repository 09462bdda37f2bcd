"""``calor stack failures``: what failed, down to the instance's last output; also what failed before a rollback."""

from collections.abc import Mapping
from typing import Any

import click

from calor.server.cli.client import Client, connecting
from calor.server.cli.shown import console, harmless, last_lines, put_facts, styled

DEEPEST = 20
SHORT = 20
"""Lines of an output that are shown unless all are asked for."""
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
    if not put_failures(client, path, status, runs, whole=whole):
        click.echo("Nothing has failed.")


def put_failures(client: Client, path: str, status: str, runs: list[dict[str, Any]], *, whole: bool) -> int:
    """Show what failed, or what led to the rollback that ``status`` tells of; gives how many there are."""
    known = {one["id"]: one for one in runs}
    before = failed_before_rollback(client, path) if status.startswith(ROLLBACK) else []
    if before:
        click.echo("Before the rollback:")
    for one in before:
        put_failure(one, None, whole=whole)  # what runs now is what the rollback made
    now = failed_resources(client, path)
    if before and now:
        click.echo("Now:")
    for one in now:
        put_failure(one, known.get(str(one.get("physical_resource_id"))), whole=whole)
    return len(before) + len(now)


def failed_resources(client: Client, path: str) -> list[dict[str, Any]]:
    """The deepest causes: a nested stack that failed because of what is in it is left out."""
    found = client.get(f"{path}/resources", nested_depth=DEEPEST, status="FAILED")["resources"]
    parents = {one.get("parent_resource") for one in found}
    return [one for one in found if one["resource_name"] not in parents]


def failed_before_rollback(client: Client, path: str) -> list[dict[str, Any]]:
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
    with_cause = {stack for stack, _ in failed}
    return [
        {**one, "resource_name": _place(one, of_resources)}
        for one in failed.values()
        if one["physical_resource_id"] not in with_cause
    ]


def _place(event: Mapping[str, Any], events: list[dict[str, Any]]) -> str:
    """``group/0/install``: a nested stack is named by the resource that it is."""
    holders = {one["physical_resource_id"]: one for one in events}
    names, at = [event["resource_name"]], holders.get(stack_of(event))
    while at is not None and len(names) <= DEEPEST:
        names.append(at["resource_name"])
        at = holders.get(stack_of(at))
    return "/".join(reversed(names))


def stack_of(shown: Mapping[str, Any]) -> str:
    """The id of the stack that a resource or an event is in: from its link."""
    links = {one["rel"]: one["href"] for one in shown.get("links", ())}
    return str(links.get("stack", "")).rstrip("/").rpartition("/")[2]


def put_failure(resource: Mapping[str, Any], run: Mapping[str, Any] | None, *, whole: bool) -> None:
    """A resource, or an event of one, which does not tell its type; ``run`` is its deployment."""
    out = console()
    out.print(f"{resource['resource_name']}", style="bold", end="  ", markup=False)
    out.print(styled(resource["resource_status"]))
    outputs = {name: str(value) for name, value in (run["output_values"] if run else {}).items() if value is not None}
    facts = {"type": resource["resource_type"]} if "resource_type" in resource else {}
    facts["physical id"] = resource.get("physical_resource_id") or "none"
    reason = str(resource["resource_status_reason"])
    facts["reason"] = reason.partition(_LAST_LINES)[0] if any(outputs.values()) else reason  # they follow below
    put_facts(facts, "`openstack stack resource show` shows all")
    for name, text in outputs.items():
        if text:
            click.echo(f"{name}:")
            lines = harmless(text).splitlines() if whole else last_lines(text, SHORT, ALL)
            click.echo("\n".join(f"  {line}" for line in lines))
