"""``calor db``: the schema of the database."""

import asyncio
from pathlib import Path

import click

from calor.server.cli.options import configured, load_settings


@click.group()
def db() -> None:
    """Upgrade or show the database schema."""


@db.command()
@configured
def upgrade(config_files: tuple[Path, ...], dev_dir: Path | None) -> None:
    """Bring the database to the schema of this server; a new database is made."""
    from calor.server import store
    from calor.server.cli.database_faults import DatabaseFault, database_faults
    from calor.server.store import schema

    settings = load_settings(config_files, dev_dir)
    if not settings.database.connection:
        Path(settings.general.state_dir).mkdir(parents=True, exist_ok=True)
    try:
        with database_faults(settings.database_url):
            asyncio.run(store.upgrade(settings.database_url))
    except DatabaseFault as exc:
        raise click.ClickException(str(exc)) from exc
    click.echo(f"The database has schema {schema.needed()}.")


@db.command()
@configured
def version(config_files: tuple[Path, ...], dev_dir: Path | None) -> None:
    """Say whether the database has the schema of this server; exit code 1 if not."""
    from calor.server import store
    from calor.server.cli.database_faults import DatabaseFault, database_faults
    from calor.server.store import schema

    settings = load_settings(config_files, dev_dir)
    try:
        with database_faults(settings.database_url):
            asyncio.run(_open_and_close(settings.database_url))
    except (DatabaseFault, store.SchemaUnknown) as exc:
        raise click.ClickException(str(exc)) from exc
    click.echo(f"The database has schema {schema.needed()}, which is this server's.")


async def _open_and_close(url: str) -> None:
    from calor.server import store

    database = await store.open_database(url)
    await database.close()
