"""``calor config``: everything that can be configured, and whether a configuration can be used."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from calor.server.cli.options import NO_FILE, configured, load_settings

if TYPE_CHECKING:
    from calor.server.config import Settings


@click.group()
def config() -> None:
    """Show what can be configured; check what is."""


@config.command()
def sample() -> None:
    """Print a calor.conf with every option, its meaning and its default."""
    from calor.server.config import sample as sample_text

    click.echo(sample_text(), nl=False)


@config.command()
@configured
@click.option("--connect", is_flag=True, help="Log in at Keystone as the service user, and open the database, too.")
def check(config_files: tuple[Path, ...], dev_dir: Path | None, connect: bool) -> None:
    """Say what in the configuration means nothing, has no effect or cannot be used, files that it names included.

    Run it as the user that the server runs as. Ends with 0 where there is nothing to say, with 1 otherwise.
    """
    from calor.server.cli import preflight

    settings = load_settings(config_files, dev_dir)
    if not settings.files:
        click.echo(NO_FILE, err=True)
    faults = [*settings.unknown, *preflight.faults(settings)]
    if connect:
        faults += _connection_faults(settings)
    for fault in faults:
        click.echo(fault, err=True)
    if faults:
        sys.exit(1)
    click.echo("The configuration can be used as it is.")


def _connection_faults(settings: "Settings") -> Iterator[str]:
    from calor.server import store
    from calor.server.auth import keystone
    from calor.server.cli.database_faults import DatabaseFault, database_faults

    async def opened() -> None:
        with database_faults(settings.database_url):
            await (await store.open_database(settings.database_url)).close()

    if settings.keystone.auth_url:
        try:
            keystone.log_in(settings.keystone)
        except keystone.LogInFault as exc:
            yield str(exc)
    try:
        asyncio.run(opened())
    except (DatabaseFault, store.SchemaUnknown) as exc:
        yield str(exc)
