"""``calor image``: images for the sandboxes of the embedded cloud."""

import asyncio

import click

NAMES = ("debian-12", "host")


@click.group()
def image() -> None:
    """Build and list images for the embedded cloud."""


@image.command()
@click.argument("name", type=click.Choice(NAMES), default=NAMES[0])
def build(name: str) -> None:
    """Build an image (debian-12 if none is named) from Debian's packages. All dev clouds of this user share it."""
    from calor.server.devcloud.images import ImageError, cache_dir, debian, host

    make = debian.build_debian if name == debian.NAME else host.ensure_host
    try:
        made = asyncio.run(make(cache_dir(), lambda text: click.echo(text, err=True)))
    except ImageError as exc:
        raise click.ClickException(str(exc)) from exc
    click.echo(f"Image {made.name} is in {made.path}; a dev cloud shows it after its next start.")


@image.command(name="list")
def list_images() -> None:
    """List the images that are built."""
    from calor.server.devcloud.images import built, cache_dir

    for each in built(cache_dir()):
        click.echo(f"{each.name:<12} {each.path}")
