"""``calor stack``: stacks of the user's project, over the REST API."""

from calor.server.cli.lazy import LazyCommand, LazyGroup

_HERE = "calor.server.cli.stack"
COMMANDS = {
    "list": LazyCommand(f"{_HERE}.show:list_stacks", "List stacks."),
    "show": LazyCommand(f"{_HERE}.show:show", "Show a stack, its outputs and what its instances do."),
    "plan": LazyCommand(f"{_HERE}.plan:plan", "Show what an update would do, before it does."),
    "create": LazyCommand(f"{_HERE}.change:create", "Create a stack."),
    "update": LazyCommand(f"{_HERE}.change:update", "Update a stack."),
    "delete": LazyCommand(f"{_HERE}.delete:delete", "Delete stacks."),
    "watch": LazyCommand(f"{_HERE}.watch:watch", "Watch a stack until its operation ends."),
    "logs": LazyCommand(f"{_HERE}.logs:logs", "Print what deployments print, live."),
    "events": LazyCommand(f"{_HERE}.show:events", "List the events of a stack."),
    "failures": LazyCommand(f"{_HERE}.failures:failures", "Show what failed, down to the instance's last output."),
}

stack = LazyGroup(commands=COMMANDS, name="stack", help_text="Create, watch and delete stacks.")
