"""``calor lsp``: the language server of templates, for editors."""

import click


@click.command()
def lsp() -> None:
    """Speak the Language Server Protocol on stdin and stdout.

    An editor starts it: diagnostics while typing, completion and hover for types, properties, functions and parameters,
    go to definition. Initialization options: {"environments": ["env.yaml"]}.
    """
    try:
        from calor.server.authoring.language_server import made
    except ModuleNotFoundError as error:
        raise click.ClickException("The language server needs pygls: pip install 'calor[server,lsp]'.") from error
    made().start_io()
