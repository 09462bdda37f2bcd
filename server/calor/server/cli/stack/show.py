"""``calor stack list | show | events``."""

from collections.abc import Mapping
from typing import Any

import click

from calor.server.cli.client import Client, connecting
from calor.server.cli.shown import JSON_HAS_ALL, as_format, put_facts, put_json, put_table
from calor.server.cli.stack.places import DEEPEST, Places


@click.command(name="list")
@as_format
@click.option("--nested", is_flag=True, help="Nested stacks too.")
@click.option("--deleted", is_flag=True, help="Deleted stacks too.")
@connecting
def list_stacks(client: Client, shape: str, nested: bool, deleted: bool) -> None:
    """List stacks."""
    found = client.get("/stacks", show_nested=nested or None, show_deleted=deleted or None)["stacks"]
    if shape == "json":
        put_json(found)
        return
    names = ("id", "stack_name", "stack_status", "creation_time", "updated_time")
    put_table(("ID", "Name", "Status", "Created", "Updated"), [[one.get(name) for name in names] for one in found])


@click.command()
@click.argument("stack")
@as_format
@connecting
def show(client: Client, stack: str, shape: str) -> None:
    """Show a stack, its outputs and what its instances do."""
    path = client.stack_path(stack)
    found, progress = client.get(path)["stack"], client.get(f"{path}/progress")
    if shape == "json":
        put_json({**found, "progress": progress})
        return
    names = ("stack_name", "id", "stack_status", "stack_status_reason", "description", "creation_time", "updated_time")
    put_facts({name.removeprefix("stack_"): found.get(name) for name in names if found.get(name)})
    _put_section("Parameters", found.get("parameters") or {}, JSON_HAS_ALL)
    how = f"`--format json` shows all, `openstack stack output show {found['stack_name']} OUTPUT` this one"
    _put_section("Outputs", {one["output_key"]: _output(one) for one in found.get("outputs") or ()}, how)
    if progress["guests"]:
        click.echo("\nInstances")
        put_table(
            ("Server", "State", "Last contact", "cloud-init"),
            [
                (path_of(one), one["state"], one["last_contact"], (one["cloud_init"] or {}).get("status"))
                for one in progress["guests"]
            ],
        )
    if progress["deployments"]:
        click.echo("\nDeployments")
        put_table(
            ("Resource", "ID", "Server", "Action", "State", "Status", "Step"),
            [
                (
                    path_of(one) + (" (on demand)" if one["on_demand_of"] else ""),
                    one["id"],
                    one["server_name"],
                    one["action"],
                    one["state"],
                    one["status"],
                    step_of(one),
                )
                for one in progress["deployments"]
            ],
        )


def path_of(shown: Mapping[str, Any]) -> str:
    """Where an instance or a deployment is in the stack that was asked for, as ``group/0/install``."""
    return str(shown.get("resource_path") or shown["resource_name"])


def step_of(run: dict[str, Any]) -> str:
    """What a run is doing, with how much of it is done."""
    done = f" ({run['percent']} %)" if run["percent"] is not None else ""
    return f"{run['step']}{done}" if run["step"] else ""


def _output(one: dict[str, Any]) -> Any:
    return one.get("output_value") if not one.get("output_error") else f"error: {one['output_error']}"


def _put_section(title: str, facts: dict[str, Any], how: str) -> None:
    if facts:
        click.echo(f"\n{title}")
        put_facts(facts, how)


@click.command()
@click.argument("stack")
@click.option("--nested-depth", type=click.IntRange(0, DEEPEST), default=0, help="Events of nested stacks too.")
@click.option("--resource", help="Of this resource only.")
@as_format
@connecting
def events(client: Client, stack: str, nested_depth: int, resource: str | None, shape: str) -> None:
    """List the events of a stack, the oldest first."""
    path = client.stack_path(stack)
    path += f"/resources/{resource}/events" if resource else "/events"
    found = client.get(path, nested_depth=nested_depth or None)["events"]
    if shape == "json":
        put_json(found)
        return
    places = Places(found)
    rows = [
        (one.get("event_time"), places.of(one), one["resource_status"], one.get("resource_status_reason"))
        for one in found
    ]
    put_table(("Time", "Resource", "Status", "Reason"), rows)
