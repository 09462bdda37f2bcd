"""``calor deployment``: deployments that run: end one, run a config on demand, read what was printed."""

from typing import Any

import click

from calor.server.cli.api_fault import Fault
from calor.server.cli.client import Client, connecting
from calor.server.cli.shown import as_format, put_facts, put_json, put_table
from calor.server.cli.stack.change import pairs
from calor.server.cli.stack.logs import Lines, echo, pages
from calor.server.cli.stack.show import path_of, step_of

in_stack = click.option(
    "--stack",
    help="Name the deployment as in this stack's template, not by its id; in a nested stack by its path: g/0/install.",
)


@click.group()
def deployment() -> None:
    """End deployments that run, run their configs on demand, read what they print."""


@deployment.command()
@click.argument("deployment")
@in_stack
@connecting
def cancel(client: Client, deployment: str, stack: str | None) -> None:
    """End a deployment (or a run on demand) that runs or waits, with all its processes; it is then FAILED."""
    run = client.send("POST", f"/software_deployments/{_ident(client, deployment, stack)}/cancel", {})["run"]
    click.echo(f"{run['id']}: {run['state']}")


@deployment.command()
@click.argument("deployment")
@in_stack
@click.option("--action", help="What to run: a component's config is chosen by it. Default: that of the last run.")
@click.option(
    "--input", "values", multiple=True, callback=pairs, metavar="NAME=VALUE", help="Another value of an input."
)
@click.option(
    "--policy",
    type=click.Choice(["queue", "refuse"]),
    default="queue",
    help="What to do while the same action runs or waits: wait for it, or refuse.",
)
@click.option("--wait", is_flag=True, help="Print what it prints until it ends; the exit code tells how.")
@connecting
def run(
    client: Client,
    deployment: str,
    stack: str | None,
    action: str | None,
    values: dict[str, str],
    policy: str,
    wait: bool,
) -> None:
    """Run a deployment's config on its server now. The deployment and its stack stay as they are."""
    ident = _ident(client, deployment, stack)
    body: dict[str, Any] = {"input_values": values, "policy": policy, **({"action": action} if action else {})}
    made = client.send("POST", f"/software_deployments/{ident}/runs", body)["run"]
    click.echo(made["id"])
    if wait:
        _put_output(client, made["id"], follow=True)
        ended = client.get(f"/software_deployments/{ident}/runs/{made['id']}")["run"]
        click.echo(f"{ended['status']}: {ended['status_reason']}", err=True)
        raise click.exceptions.Exit(0 if ended["status"] == "COMPLETE" else 1)


@deployment.command()
@click.argument("deployment")
@in_stack
@as_format
@connecting
def runs(client: Client, deployment: str, stack: str | None, shape: str) -> None:
    """List the runs on demand of a deployment."""
    found = client.get(f"/software_deployments/{_ident(client, deployment, stack)}/runs")["runs"]
    if shape == "json":
        put_json(found)
        return
    put_table(
        ("ID", "Action", "State", "Status", "Asked by", "Began", "Ended", "Exit code"),
        [
            (
                one["id"],
                one["action"],
                one["state"],
                one["status"],
                one["asked_by"],
                one["creation_time"],
                one["updated_time"] if one["status"] != "IN_PROGRESS" else "",
                one["output_values"].get("deploy_status_code"),
            )
            for one in found
        ],
    )


@deployment.command()
@click.argument("run")
@as_format
@connecting
def show(client: Client, run: str, shape: str) -> None:
    """Show a deployment, or a run on demand, by its id."""
    found = client.get(f"/software_deployments/{run}/runs/{run}")["run"]
    if shape == "json":
        put_json(found)
        return
    names = ("id", "on_demand_of", "resource_name", "server_name", "action", "state", "status", "status_reason")
    put_facts({name: found[name] for name in names if found[name]} | {"step": step_of(found)} | found["output_values"])


@deployment.command()
@click.argument("run")
@in_stack
@click.option("-f", "--follow", is_flag=True, help="Go on until it ends.")
@connecting
def logs(client: Client, run: str, stack: str | None, follow: bool) -> None:
    """Print what a deployment, or a run on demand, prints."""
    _put_output(client, _ident(client, run, stack), follow=follow)


def _put_output(client: Client, ident: str, *, follow: bool) -> None:
    lines = Lines(echo)
    for page in pages(client, f"/software_deployments/{ident}/logs", follow=follow):
        for piece in page:
            lines.add(piece)
    lines.close()


def _ident(client: Client, deployment: str, stack: str | None) -> str:
    """The id of a deployment that may be named by its resource, or by the path of one in a nested stack."""
    if stack is None:
        return deployment
    path = client.stack_path(stack)
    if "/" in deployment:
        return _by_path(client, path, deployment.strip("/"))
    try:
        found = client.get(f"{path}/resources/{deployment}")["resource"]
    except Fault as fault:
        if fault.status != 404:
            raise
        raise _missing(path, _known(client, path), f"There is no {deployment}") from fault
    ident, kind = str(found["physical_resource_id"]), str(found["resource_type"])
    if not kind.endswith("Deployment"):  # it may yet be one, by a type that an environment names
        known = _known(client, path)
        if not any(one["id"] == ident for one in known):
            raise _missing(path, known, f"{deployment} is no deployment but {kind}")
    return ident


def _by_path(client: Client, path: str, place: str) -> str:
    known = _known(client, path)
    for one in known:
        if path_of(one) == place:
            return str(one["id"])
    raise _missing(path, known, f"There is no deployment {place}")


def _known(client: Client, path: str) -> list[dict[str, Any]]:
    return [one for one in client.get(f"{path}/progress")["deployments"] if not one["on_demand_of"]]


def _missing(path: str, known: list[dict[str, Any]], what: str) -> Fault:
    """With the paths by which the deployments that there are can be named."""
    stack, names = path.split("/")[2], ", ".join(path_of(one) for one in known)
    return Fault(f"{what}; the deployments of {stack} are: {names}." if names else f"{what}; {stack} has none.")
