"""``calor stack delete``: each of the stacks named, whatever becomes of the others (F032)."""

import click

from calor.server.cli.api_fault import Fault
from calor.server.cli.client import Client, connecting
from calor.server.cli.stack.watch import follow


@click.command()
@click.argument("stacks", nargs=-1, required=True)
@click.option(
    "--retain",
    "retained",
    multiple=True,
    metavar="RESOURCE",
    help="Forget this resource instead of deleting it: for a stack whose deletion failed. Nested ones: PARENT/NAME.",
)
@click.option("--wait", is_flag=True, help="Watch until it is gone.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@connecting
def delete(client: Client, stacks: tuple[str, ...], retained: tuple[str, ...], wait: bool, yes: bool) -> None:
    """Delete stacks. An error of one does not keep the others; the exit code is then 1."""
    if retained and len(stacks) > 1:
        raise click.UsageError("--retain names resources of one stack.")
    if not yes:
        click.confirm(f"Delete {', '.join(stacks)}?", abort=True)
    failed: list[str] = []
    begun: list[tuple[str, str]] = []
    for name in stacks:
        try:
            path = client.stack_path(name)
            answer = client.send("DELETE", path, query={"retain": list(retained)} if retained else None)
        except Fault as fault:
            failed.append(name)
            click.echo(f"{name}: {fault.message}", err=True)
            continue
        begun.append((name, path))
        for one in (answer or {}).get("retained", ()):
            physical = one["physical_resource_id"] or "never made"
            click.echo(f"{name}: {one['resource_name']} ({one['resource_type']}) is kept: {physical}")
    for name, path in begun if wait else ():
        if follow(client, path):
            failed.append(name)
    if failed:
        raise click.ClickException(f"not deleted: {', '.join(failed)}")
