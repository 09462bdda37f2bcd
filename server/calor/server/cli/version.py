"""``calor version``."""

import platform

import click

from calor.server import __version__


@click.command()
def version() -> None:
    """Print the version of Calor and of Python."""
    click.echo(f"calor {__version__} (Python {platform.python_version()})")
