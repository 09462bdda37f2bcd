"""``calor config``: everything that can be configured."""

import click


@click.group()
def config() -> None:
    """Show what can be configured."""


@config.command()
def sample() -> None:
    """Print a calor.conf with every option, its meaning and its default."""
    from calor.server.config import sample as sample_text

    click.echo(sample_text(), nl=False)
