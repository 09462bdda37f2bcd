"""``calor stack create | update``: a template, environments, parameters and all files that they name."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from calor.server.cli.client import Client, connecting
from calor.server.cli.shown import put_json
from calor.server.cli.sources import quoting
from calor.server.cli.stack.parameters import warn_of_unknown
from calor.server.cli.stack.watch import follow
from calor.server.cli.template_files import Gathered

F = TypeVar("F", bound=Callable[..., Any])
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def pairs(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """``NAME=VALUE`` options as a map."""
    wrong = [one for one in given if "=" not in one or one.startswith("=")]
    if wrong:
        raise click.BadParameter(f"{wrong[0]!r} is no NAME=VALUE.")
    return {name: value for name, _, value in (one.partition("=") for one in given)}


def describing(command: F) -> F:
    """Add what create and update have in common."""
    for option in (
        click.option(
            "--format",
            "shape",
            type=click.Choice(["text", "json"]),
            default="text",
            show_default=True,
            help="Of what is answered, and of the faults of what is refused.",
        ),
        click.option(
            "--wait", is_flag=True, help="Watch until it is done; exit code 1 if it failed, rolled back or not."
        ),
        click.option("--tags", metavar="A,B", help="Tags of the stack."),
        click.option("--timeout", type=click.IntRange(1), metavar="MINUTES", help="When to give up."),
    ):
        command = option(command)
    return feeding(command)


def guarding(command: F) -> F:
    """Add what an update may replace, and what it must not lose."""
    for option in (
        click.option(
            "--guard-data",
            is_flag=True,
            help="Refuse before anything is done if data would be lost: of a server, a volume or the like.",
        ),
        click.option(
            "--allow-replace",
            "allowed",
            multiple=True,
            metavar="RESOURCE",
            help="This one may be replaced, whatever restricted_actions or --guard-data say. Nested ones: PARENT/NAME.",
        ),
    ):
        command = option(command)
    return command


def guards(allowed: tuple[str, ...], *, guard_data: bool) -> dict[str, Any]:
    """The part of a body that `guarding` is about. What the environment restricts is always refused beforehand."""
    return {"guard": "data" if guard_data else "restricted", "allow_replace": list(allowed)}


def _bound(plan_id: str | None) -> dict[str, str]:
    return {"X-Calor-Plan": plan_id} if plan_id else {}


def feeding(command: F) -> F:
    """Add what goes into a template: environments and parameters."""
    for option in (
        click.option(
            "--parameter-file",
            "parameter_files",
            multiple=True,
            callback=pairs,
            metavar="NAME=FILE",
            help="A parameter's value from a file.",
        ),
        click.option(
            "--parameter", "parameters", multiple=True, callback=pairs, metavar="NAME=VALUE", help="A parameter."
        ),
        click.option(
            "-e", "--environment", "environments", type=FILE, multiple=True, help="An environment; several merge."
        ),
    ):
        command = option(command)
    return command


@click.command()
@click.argument("name")
@click.option("-t", "--template", type=FILE, required=True, help="The template.")
@click.option("--enable-rollback", is_flag=True, help="Delete what was made if the creation fails.")
@click.option(
    "--plan", "plan_id", metavar="ID", help="Only exactly what that `calor stack plan` of a new stack showed."
)
@describing
@connecting
def create(
    client: Client,
    name: str,
    template: Path,
    enable_rollback: bool,
    plan_id: str | None,
    wait: bool,
    shape: str,
    **given: Any,
) -> None:
    """Create a stack of a template; get_file and nested templates are sent along."""
    body = {**body_of(template, **given), "stack_name": name, "disable_rollback": not enable_rollback}
    with quoting(body, template, shape):
        made = client.send("POST", "/stacks", body, headers=_bound(plan_id))["stack"]
    if shape == "json":
        put_json({"stack_name": name, "id": made["id"]})
    else:
        click.echo(made["id"])
    if wait:
        raise click.exceptions.Exit(follow(client, client.stack_path(made["id"]), beside_json=shape == "json"))


@click.command()
@click.argument("stack")
@click.option("-t", "--template", type=FILE, help="The new template.")
@click.option("--existing", is_flag=True, help="Keep what is not given as it is: template, environment, parameters.")
@click.option(
    "--clear-parameter", "cleared", multiple=True, metavar="NAME", help="With --existing: back to the default."
)
@click.option("--plan", "plan_id", metavar="ID", help="Only if nothing has changed since that `calor stack plan`.")
@click.option(
    "--rollback/--no-rollback",
    default=None,
    help="Whether to go back if the update fails. The stack keeps the setting for later updates, too.",
)
@guarding
@describing
@connecting
def update(
    client: Client,
    stack: str,
    template: Path | None,
    existing: bool,
    cleared: tuple[str, ...],
    rollback: bool | None,
    plan_id: str | None,
    allowed: tuple[str, ...],
    guard_data: bool,
    wait: bool,
    shape: str,
    **given: Any,
) -> None:
    """Update a stack to a template, or with --existing its parameters only.

    It is refused before anything is done if the environment's restricted_actions forbid any of it.
    """
    if template is None and not existing:
        raise click.UsageError("Give a --template, or --existing to keep the one that the stack has.")
    body = body_of(template, **given) | guards(allowed, guard_data=guard_data)
    if cleared:
        body["clear_parameters"] = list(cleared)
    if rollback is not None:
        body["disable_rollback"] = not rollback
    path = client.stack_path(stack)
    if existing:
        warn_of_unknown(client, path, body)
    with quoting(body, template, shape):
        answer = client.send("PATCH" if existing else "PUT", path, body, headers=_bound(plan_id))
    counts = (answer or {}).get("counts") or {}
    if shape == "json":
        put_json({"stack_name": path.split("/")[2], "id": path.split("/")[3], "counts": counts})
    elif counts and not any(counts[action] for action in ("create", "update", "replace", "delete")):
        click.echo("Nothing changes.")
    if wait:
        raise click.exceptions.Exit(follow(client, path, beside_json=shape == "json"))


def body_of(
    template: Path | None,
    *,
    environments: tuple[Path, ...],
    parameters: dict[str, str],
    parameter_files: dict[str, str],
    timeout: int | None = None,
    tags: str | None = None,
) -> dict[str, Any]:
    """The request's body."""
    gathered = Gathered(names={path.resolve(): str(path) for path in (template, *environments) if path is not None})
    body: dict[str, Any] = {"template": gathered.template(template)} if template is not None else {}
    names = [gathered.environment(path) for path in environments]
    values: dict[str, Any] = dict(parameters)
    for name, file in parameter_files.items():
        values[name] = _read(name, Path(file))
    gathered.require_all(template, environments, values)
    if names:
        body["environment_files"] = names
    body |= {"files": gathered.files, "parameters": values}
    body |= {"timeout_mins": timeout} if timeout else {}
    body |= {"tags": tags} if tags else {}
    return body


def _read(name: str, path: Path) -> Any:
    """JSON where it is a document, else text."""
    try:
        text = path.read_bytes().decode("utf-8")  # each line end as it is
    except (OSError, UnicodeDecodeError) as exc:
        raise click.ClickException(f"--parameter-file {name}: {exc}") from exc
    if text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text
