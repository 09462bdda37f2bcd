"""``calor validate``: a template checked on this machine, without a server."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calor.server.cli import verdict
from calor.server.cli.templates import environments_option, parameters_option, templates_argument

if TYPE_CHECKING:
    from calor.server.authoring.checking import Report, Wanted


@click.command()
@templates_argument
@environments_option
@parameters_option
@click.option("--strict", is_flag=True, help="A warning (a key that stands twice) is an error.")
@click.option(
    "--unknown-types",
    type=click.Choice(["error", "allow"]),
    default="error",
    show_default=True,
    help="What a resource type is that this release does not have: an error, or a warning.",
)
@click.option(
    "--format", "shape", type=click.Choice(["text", "json"]), default="text", show_default=True, help="For CI: json."
)
@click.option("--show-translation", is_flag=True, help="Of a TOSCA template: print the HOT that is made of it, too.")
def validate(
    templates: tuple[Path, ...],
    environments: tuple[Path, ...],
    parameters: dict[str, Any],
    strict: bool,
    unknown_types: str,
    shape: str,
    show_translation: bool,
) -> None:
    """Check each TEMPLATE with the environments and every file that they name. Needs no server.

    TEMPLATE is HOT, CloudFormation or TOSCA; the latter also as an archive (.csar, .zip).

    Ends with 0 if a server would take them, as far as that can be known without a cloud, and with 1 if not.
    """
    from calor.server.authoring.checking import Wanted

    reports = {}
    for template in templates:
        wanted = Wanted(
            template=template,
            environments=environments,
            parameters=parameters,
            allow_unknown_types=unknown_types == "allow",
            strict=strict,
        )
        report = reports[template] = _checked(wanted)
        if show_translation and report.translation is not None:
            click.echo(report.translation, err=shape == "json")
        if shape == "text":
            click.echo(verdict.as_text(str(template), report.problems, report.warnings, report.texts.get))
    if shape == "json":
        problems = [one for report in reports.values() for one in report.problems]
        warnings = [one for report in reports.values() for one in report.warnings]
        click.echo(verdict.as_json(problems, warnings))
    sys.exit(0 if all(report.is_valid for report in reports.values()) else 1)


def _checked(wanted: "Wanted") -> "Report":
    from calor.server.authoring.checking import as_given, check

    try:
        return as_given(wanted, check(wanted))
    except OSError as error:
        raise click.ClickException(f"{error.filename} cannot be read: {error.strerror}.") from error
