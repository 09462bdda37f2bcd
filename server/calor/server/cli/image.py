"""``calor image``: images for the embedded cloud and for real ones, and the agent as a package."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import click

T = TypeVar("T")
NAMES = ("debian-12", "host")


@click.group()
def image() -> None:
    """Build, list and remove images, for the embedded cloud and for real ones; build the agent's Debian package."""


@image.command()
@click.argument("name", type=click.Choice(NAMES), default=NAMES[0])
@click.option(
    "--format",
    "kind",
    type=click.Choice(["sandbox", "qcow2", "raw"]),
    default="sandbox",
    show_default=True,
    help="sandbox: a tree of files for the dev cloud's sandboxes. qcow2, raw: a bootable disk for Nova (Glance) and "
    "for the dev cloud's VMs, with kernel and boot loader (BIOS, UEFI).",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the disk goes. [default: the cache, where `calor dev` finds it as image debian-12-vm]",
)
@click.option("--size", type=click.IntRange(min=1), help="MiB of the disk. [default: what fits, at least 1024]")
@click.option("--agent/--no-agent", default=True, help="Bake Calor's agent in, or leave it to be fetched at boot.")
@click.option("--ansible/--no-ansible", default=True, help="With ansible-core, for deployments of group ansible.")
@click.option("--package", "packages", multiple=True, metavar="NAME", help="A further Debian package; repeatable.")
@click.option("--kernel-options", default="", metavar="TEXT", help="Added to the kernel's command line.")
@click.pass_context
def build(
    ctx: click.Context,
    name: str,
    kind: str,
    output: Path | None,
    size: int | None,
    agent: bool,
    ansible: bool,
    packages: tuple[str, ...],
    kernel_options: str,
) -> None:
    """Build an image (debian-12 if none is named) from Debian's packages, as root.

    Sandbox images and disks without --output go to a cache that all dev clouds of this user share.

    \b
    calor image build                                            for sandboxes
    calor image build --format qcow2                             for the dev cloud's VMs
    calor image build --format qcow2 --output debian-12.qcow2    for a real cloud:
      openstack image create --disk-format qcow2 --container-format bare --file debian-12.qcow2 debian-12
    """
    if kind == "sandbox":
        _refuse_disk_options(ctx)
        _build_tree(name)
        return
    if name != "debian-12":
        raise click.UsageError(f"Image {name} is a tree of this machine's files: only debian-12 is built as a disk.")
    from calor.server.devcloud.images import cache_dir, disk

    wanted = disk.Wanted(
        format=kind, size=size, agent=agent, ansible=ansible, packages=packages, kernel_options=kernel_options
    )
    made = _made(disk.build_disk(cache_dir(), wanted, output, _progress))
    click.echo(
        f"The image is {made}." + ("" if output else " A dev cloud shows it as debian-12-vm after its next start.")
    )


@image.command()
@click.option(
    "--output", type=click.Path(file_okay=False, path_type=Path), default=Path(), help="The folder. [default: here]"
)
def deb(output: Path) -> None:
    """Build the agent's Debian package (calor-agent): apt install ./calor-agent_*_all.deb in an image or a machine."""
    from calor.server.devcloud.images import agent_package

    made = _made(agent_package.build_deb(output))
    click.echo(f"The package is {made}.")


@image.command(name="list")
def list_images() -> None:
    """List what the cache of images holds, and how large it is."""
    from calor.server.devcloud.images import cache_dir, cached

    found = cached.entries(cache_dir())
    for each in found:
        click.echo(f"{each.name:<14} {each.kind:<10} {_mib(each.size):>9}  {each.path}")
    click.echo(
        f"{_mib(sum(each.size for each in found))} in {cache_dir()}" if found else f"{cache_dir()} has no image."
    )


@image.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "everything", is_flag=True, help="All images, and the bases that builds begin with.")
def remove(names: tuple[str, ...], everything: bool) -> None:
    """Remove images from the cache, all versions of each name. What runs is left alone, and refused."""
    from calor.server.devcloud.images import cache_dir, cached

    if bool(names) == everything:
        raise click.UsageError("Give the names of images (`calor image list`), or --all.")
    gone = _made(cached.remove(cache_dir(), None if everything else names))
    for each in gone:
        click.echo(f"Removed {each.folder} ({_mib(each.size)}).")
    click.echo(f"{_mib(sum(each.size for each in gone))} are free again.")


def _mib(size: int) -> str:
    return f"{-(-size // (1 << 20))} MiB"


def _build_tree(name: str) -> None:
    from calor.server.devcloud.images import cache_dir, debian, host

    make = debian.build_debian if name == debian.NAME else host.ensure_host
    made = _made(make(cache_dir(), _progress))
    click.echo(f"Image {made.name} is in {made.path}; a dev cloud shows it after its next start.")


def _refuse_disk_options(ctx: click.Context) -> None:
    given = {
        parameter.opts[0]
        for parameter in ctx.command.params
        if parameter.name not in ("name", "kind") and _is_given(ctx, parameter.name or "")
    }
    if given:
        raise click.UsageError(f"{', '.join(sorted(given))}: for a disk only; add --format qcow2 or --format raw.")


def _is_given(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _progress(text: str) -> None:
    click.echo(text, err=True)


def _made(building: Coroutine[Any, Any, T]) -> T:
    from calor.server.devcloud.images import ImageError

    try:
        return asyncio.run(building)
    except ImageError as exc:
        raise click.ClickException(str(exc)) from exc
