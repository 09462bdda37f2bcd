"""What verbs that read a template of this machine share: the file, its environments, its parameters."""

from pathlib import Path
from typing import Any

import click

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

template_argument = click.argument("template", type=_FILE)
templates_argument = click.argument("templates", type=_FILE, nargs=-1, required=True, metavar="TEMPLATE...")
environments_option = click.option(
    "-e", "--environment", "environments", type=_FILE, multiple=True, help="An environment file; several, in order."
)


def _parameters(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, Any]:
    found = {}
    for entry in given:
        name, sign, value = entry.partition("=")
        if not sign or not name:
            raise click.BadParameter(f"{entry!r} is not NAME=VALUE.")
        found[name] = value
    return found


parameters_option = click.option(
    "--parameter", "-P", "parameters", multiple=True, callback=_parameters, metavar="NAME=VALUE", help="A parameter."
)
