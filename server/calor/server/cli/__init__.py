"""The ``calor`` command. A verb is one module with a click command and one line in `COMMANDS`."""

from calor.server.cli.lazy import LazyCommand, LazyGroup

COMMANDS = {
    "server": LazyCommand("calor.server.cli.server:server", "Run the orchestration server."),
    "dev": LazyCommand("calor.server.cli.dev.command:dev", "Run the server with an embedded OpenStack cloud."),
    "validate": LazyCommand("calor.server.cli.validate:validate", "Check a template, without a server."),
    "schema": LazyCommand("calor.server.cli.schema:schema", "Print a JSON Schema of HOT, for editors."),
    "lsp": LazyCommand("calor.server.cli.lsp:lsp", "Serve editors: complete, explain and check templates."),
    "graph": LazyCommand("calor.server.cli.graph:graph", "Print which resource needs which."),
    "stack": LazyCommand("calor.server.cli.stack.group:stack", "Create, watch and delete stacks."),
    "deployment": LazyCommand("calor.server.cli.deployment:deployment", "Cancel deployments, run them on demand."),
    "image": LazyCommand("calor.server.cli.image:image", "Build images for the embedded cloud."),
    "db": LazyCommand("calor.server.cli.db:db", "Upgrade or show the database schema."),
    "keys": LazyCommand("calor.server.cli.keys:keys", "Renew the server's keys."),
    "config": LazyCommand("calor.server.cli.config:config", "Print a sample calor.conf; check one."),
    "version": LazyCommand("calor.server.cli.version:version", "Print the version."),
}

main = LazyGroup(
    commands=COMMANDS,
    name="calor",
    help_text="Calor orchestrates cloud stacks and what runs inside their instances.",
)
"""The entry point: ``main()`` parses the command line and runs one verb."""
