"""Which dev cloud a verb of ``calor dev`` is about: ``--state-dir``, given before the verb or after it."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from calor.server.cli.dev import files

if TYPE_CHECKING:
    from calor.server.devcloud.state import DevState


def state_dir_option(command: click.decorators.FC) -> click.decorators.FC:
    return click.option(
        "--state-dir",
        "directory",
        type=click.Path(file_okay=False, path_type=Path),
        callback=_chosen,
        help="Where state, passwords and chosen ports lie. [default: $XDG_STATE_HOME/calor/dev, which is "
        "~/.local/state/calor/dev where XDG_STATE_HOME is not set]",
    )(command)


def _chosen(ctx: click.Context, _option: click.Parameter, given: Path | None) -> Path:
    """What is said nearest to the verb holds."""
    return given or ctx.find_object(Path) or files.default_directory()


def known_state(directory: Path) -> "DevState":
    """Raises `click.ClickException` where no dev cloud has been."""
    from calor.server.devcloud import state

    try:
        known = state.load(directory)
    except state.StateError as exc:
        raise click.ClickException(str(exc)) from exc
    if known is None:
        raise click.ClickException(
            f"There is no dev cloud in {directory}. Start one: calor dev --state-dir {directory}"
        )
    return known
