"""``calor schema``: HOT as a JSON Schema, for editors."""

import json

import click


@click.command()
@click.option("--indent", type=click.IntRange(0, 8), default=None, help="Spaces of indentation. Default: one line.")
def schema(indent: int | None) -> None:
    """Print a JSON Schema of HOT with all resource types of this release.

    Editors with a YAML language server complete and check templates by it: `calor schema > hot.schema.json`, and in a
    template's first line `# yaml-language-server: $schema=hot.schema.json`.
    """
    from calor.server.authoring.json_schema import of_hot
    from calor.server.resources.registry import installed

    click.echo(json.dumps(of_hot(installed()), indent=indent, default=str))
