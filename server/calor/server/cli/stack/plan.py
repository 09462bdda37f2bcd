"""``calor stack plan``: what an update or a creation would do, and the id that binds an update to it."""

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import yaml

from calor.server.cli.api_fault import Fault
from calor.server.cli.client import Client, connecting
from calor.server.cli.shown import shortened
from calor.server.cli.sources import quoting
from calor.server.cli.stack.change import FILE, body_of, feeding, guarding, guards

SIGNS = {"create": "+", "update": "~", "replace": "±", "delete": "-"}
COLOURS = {"create": "green", "update": "yellow", "replace": "magenta", "delete": "red"}
LONGEST = 100
HIDDEN = "******"


@click.command()
@click.argument("stack")
@click.option("-t", "--template", type=FILE, help="The template.")
@click.option("--existing", is_flag=True, help="Keep what is not given as it is: template, environment, parameters.")
@click.option("--format", "shape", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--detailed-exitcode", is_flag=True, help="End with 2 if anything would change, 0 if nothing would.")
@guarding
@feeding
@connecting
def plan(
    client: Client,
    stack: str,
    template: Path | None,
    existing: bool,
    shape: str,
    detailed_exitcode: bool,
    allowed: tuple[str, ...],
    guard_data: bool,
    **given: Any,
) -> None:
    """Show what would be done to STACK, resource by resource, nested ones included. Nothing is done.

    The last line tells how to do exactly this: it is refused if anything has changed meanwhile. The exit code is 1 if
    the update would be refused.
    """
    if template is None and not existing:
        raise click.UsageError("Give a --template, or --existing to keep the one that the stack has.")
    body = body_of(template, **given) | {"stack_name": stack} | ({"existing": True} if existing else {})
    body |= guards(allowed, guard_data=guard_data)
    with quoting(body, template, shape):
        found = client.send("POST", "/plans", body)["plan"]
    if shape == "json":
        click.echo(json.dumps(found, indent=2))
    else:
        secret = _hidden(body["template"]) if "template" in body else _hidden_in_stack(client, found)
        for line in lines(found, _command(found, click.get_current_context(), secret)):
            click.echo(line)
    if found["counts"]["refused"]:
        raise click.exceptions.Exit(1)
    if detailed_exitcode and any(step["action"] != "none" for step in found["steps"]):
        raise click.exceptions.Exit(2)


def _hidden(template: Any) -> set[str] | None:
    """The names of the hidden parameters of a template as it is sent; None where it is not sent or not read here."""
    try:
        read = yaml.safe_load(template) if isinstance(template, str) else template
        declared = read.get("parameters") or read.get("Parameters") or {}
        hidden = {name: one.get("hidden") or one.get("NoEcho") for name, one in declared.items()}
    except (yaml.YAMLError, AttributeError):
        return None
    return {name for name, value in hidden.items() if str(value).lower() not in ("none", "false", "no", "off", "0")}


def _hidden_in_stack(client: Client, found: Mapping[str, Any]) -> set[str] | None:
    """The names given that are hidden in the template that the stack has, or that it does not show; None where the
    stack is not shown."""
    given = click.get_current_context().params["parameters"]
    if not given or not found["stack_id"]:
        return None
    try:
        shown = client.get(client.stack_path(found["stack_id"]), resolve_outputs=False)["stack"]["parameters"]
    except Fault:
        return None
    return {name for name in given if shown.get(name, HIDDEN) == HIDDEN}


def _command(found: Mapping[str, Any], context: click.Context, secret: set[str] | None) -> str:
    """The creation or update that is bound to the plan, with the files and values that the plan was asked with; a plan
    is shown to others, so that the value of a hidden parameter is left to be typed."""
    given, verb = context.params, "update" if found["stack_id"] else "create"
    words = ["calor", "stack", verb, "--plan", str(found["id"])]
    words += ["--existing"] if given["existing"] else []
    words += ["-t", str(given["template"])] if given["template"] else []
    words += [word for path in given["environments"] for word in ("-e", str(path))]
    if verb == "update":
        words += [word for name in given["allowed"] for word in ("--allow-replace", name)]
        words += ["--guard-data"] if given["guard_data"] else []
    for key, value in given["parameters"].items():
        words += ["--parameter", f"{key}={HIDDEN if secret is None or key in secret else value}"]
    words += [word for key, file in given["parameter_files"].items() for word in ("--parameter-file", f"{key}={file}")]
    cloud = context.obj.cloud if context.obj else given["os_cloud"]
    words += ["--os-cloud", cloud] if cloud else []
    words += ["--dev", str(given["dev_dir"])] if given.get("dev_dir") else []
    return shlex.join([*words, str(found["stack_name"])])


def lines(found: Mapping[str, Any], command: str) -> Iterator[str]:
    """The plan for a reader: what is lost first, then each step, then how to carry it out."""
    counts, steps = found["counts"], [step for step in found["steps"] if step["action"] != "none"]
    lost = [step for step in steps if step["destroys_data"]]
    if lost:
        names = ", ".join("/".join(step["path"]) for step in lost)
        yield click.style(f"DESTROYS DATA in {len(lost)} resource{'s' * (len(lost) != 1)}: {names}", "red", bold=True)
    yield (
        f"{counts['create']} to create, {counts['update']} to update, {counts['replace']} to replace, "
        f"{counts['delete']} to delete, {counts['none']} unchanged."
    )
    for step in steps:
        yield from _step(step)
    if counts["refused"]:
        yield click.style(f"{counts['refused']} refused: the update would not be begun.", "red")
    elif steps:
        yield f"To do exactly this: {command}"


def _step(step: Mapping[str, Any]) -> Iterator[str]:
    action = step["action"]
    more = " (kept: its deletion policy is Retain)" if step["retained"] else ""
    lost = click.style(" DESTROYS DATA", "red", bold=True) if step["destroys_data"] else ""
    head = f"{SIGNS[action]} {'/'.join(step['path'])} ({step['resource_type']}): {action}{more}"
    yield click.style(head, COLOURS[action]) + lost
    for reason in step["reasons"]:
        yield f"    because {shortened(reason)}"
    for change in step["changes"]:
        new = _shown(change["new"])
        text = new if action == "create" else f"{_shown(change['old'])} → {new}"
        yield f"    {change['property']}: {text}" + ("  (forces replacement)" if change["forces_replacement"] else "")
    if step["refused"]:
        yield click.style(f"    refused: {shortened(step['refused'])}", "red")


def _shown(value: Any) -> str:
    text = value if value == "(known after create)" else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
