"""Command-line options that several verbs share, and how a fault of the configuration ends a verb."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from calor.server.config import Settings

F = TypeVar("F", bound=Callable[..., Any])

CONFIG_NAME = "calor.conf"
LOCAL_NAME = "local.conf"
"""Beside a dev cloud's calor.conf, which each start writes anew: the user's own settings."""
_DEFAULT_FILES = (Path("/etc/calor/calor.conf"),)
NO_FILE = f"There is no {_DEFAULT_FILES[0]} and no --config-file is given: the defaults hold."


def configured(command: F) -> F:
    """Add ``--config-file`` and ``--dev`` to a verb."""
    files = click.option(
        "--config-file",
        "config_files",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        multiple=True,
        help="A calor.conf; may be given several times, later ones win. Default: /etc/calor/calor.conf.",
    )
    dev = click.option(
        "--dev",
        "dev_dir",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="State directory of `calor dev`: its calor.conf is read, then its local.conf where there is one.",
    )
    return files(dev(command))


def load_settings(config_files: tuple[Path, ...], dev_dir: Path | None) -> "Settings":
    """Raises `click.ClickException` (exit code 1, one clear line)."""
    from calor.server.config import ConfigurationFault, load

    files = list(config_files)
    if dev_dir is not None:
        local = dev_dir / LOCAL_NAME
        files[:0] = [dev_dir / CONFIG_NAME, *([local] if local.exists() else [])]
    if not files:
        files = [file for file in _DEFAULT_FILES if file.exists()]
    missing = [file for file in files if not file.exists()]
    if missing:
        raise click.ClickException(f"There is no {missing[0]}; has `calor dev` run there?")
    try:
        return load(files)
    except ConfigurationFault as exc:
        raise click.ClickException(str(exc)) from exc
