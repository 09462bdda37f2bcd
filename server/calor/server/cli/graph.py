"""``calor graph``: which resource needs which, as a picture."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click

from calor.server.cli.templates import environments_option, parameters_option, template_argument


@click.command()
@template_argument
@environments_option
@parameters_option
@click.option(
    "--format",
    "shape",
    type=click.Choice(["dot", "mermaid", "svg"]),
    default="dot",
    show_default=True,
    help="svg needs Graphviz (the program `dot`).",
)
@click.option(
    "--nested-depth",
    type=click.IntRange(0, 5),
    default=1,
    show_default=True,
    help="Levels of nested templates and of groups.",
)
def graph(
    template: Path, environments: tuple[Path, ...], parameters: dict[str, Any], shape: str, nested_depth: int
) -> None:
    """Print the graph of TEMPLATE's resources: an arrow leads from each to what it needs. Needs no server."""
    from calor.server.authoring.checking import Wanted, check
    from calor.server.authoring.drawing import WRITERS, picture
    from calor.server.authoring.texts import quoting
    from calor.server.resources.registry import installed

    wanted = Wanted(template=template, environments=environments, parameters=parameters, allow_unknown_types=True)
    try:
        report = check(wanted)
    except OSError as error:
        raise click.ClickException(f"{error.filename} cannot be read: {error.strerror}.") from error
    if report.blueprint is None:
        click.echo(quoting(report.problems, report.texts.get), err=True)
        sys.exit(1)
    drawn = picture(report.blueprint, installed(), nested_depth)
    text = WRITERS["dot" if shape == "svg" else shape](drawn, template.name)
    click.echo(_svg(text) if shape == "svg" else text)


def _svg(text: str) -> str:
    program = shutil.which("dot")
    if program is None:
        raise click.ClickException("SVG needs Graphviz: install it (`apt install graphviz`), or take --format mermaid.")
    done = subprocess.run([program, "-Tsvg"], input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise click.ClickException(f"dot failed: {done.stderr.strip()}")
    return done.stdout
