"""``calor keys``: the file that signs URLs and seals secrets."""

from pathlib import Path

import click

from calor.server.cli.options import configured, load_settings


@click.group()
def keys() -> None:
    """Renew the server's keys."""


@keys.command()
@configured
def rotate(config_files: tuple[Path, ...], dev_dir: Path | None) -> None:
    """Seal what is stored from now on with a new key. Older keys stay, to open what they sealed."""
    from calor.server.identity import KeyFileFault
    from calor.server.identity import keys as key_file

    path = load_settings(config_files, dev_dir).key_file
    try:
        known = key_file.rotate(path)
    except KeyFileFault as exc:
        raise click.ClickException(str(exc)) from exc
    except OSError as exc:
        raise click.ClickException(f"The key file {path} cannot be written: {exc.strerror}.") from exc
    click.echo(
        f"{path} has {len(known.sealing)} sealing keys, a new one first. Copy it to every machine of this server, "
        "then restart each process."
    )
