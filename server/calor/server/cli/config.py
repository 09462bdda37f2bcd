"""``calor config``: everything that can be configured, and whether a configuration can be used."""

import sys
from pathlib import Path

import click

from calor.server.cli.options import configured, load_settings


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
def check(config_files: tuple[Path, ...], dev_dir: Path | None) -> None:
    """Say what in the configuration means nothing or cannot be used.

    Ends with 0 where there is nothing to say, with 1 otherwise.
    """
    from calor.server.config import ConfigurationFault

    settings = load_settings(config_files, dev_dir)
    faults = list(settings.unknown)
    try:
        settings.guest_urls(rest_port=settings.heat_api.bind_port, cfn_port=settings.heat_api_cfn.bind_port)
    except ConfigurationFault as exc:
        faults.append(str(exc))
    for fault in faults:
        click.echo(fault, err=True)
    if faults:
        sys.exit(1)
    click.echo("The configuration can be used as it is.")
