"""A request's template, environment, parameters and files, merged with what a stack has where it is a PATCH."""

import json
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from calor.server.engine.contract.views import StackRequest
from calor.server.engine.durable.sealing import Sealing
from calor.server.engine.revision.revisions import Blueprints
from calor.server.engine.settings import Settings
from calor.server.errors import BadRequest, InvalidInput, Problem, RequestLimitExceeded, StackValidationFailed
from calor.server.identity import Caller
from calor.server.store.rows import RevisionRow, StackRow
from calor.server.store.states import Action, Status
from calor.server.template import (
    Environment,
    Limits,
    Template,
    mask,
    merge_environments,
    merge_for,
    parse_environment,
    parse_template,
)

HIDDEN = "******"
NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_.-]{0,254}")
LONGEST_SHOWN = 80


@dataclass(frozen=True)
class Wish:
    """What a request asks for, read but not yet bound to a stack. ``is_heavy``: work on it may take long (`costs`)."""

    source: Mapping[str, Any] | str
    template: Template
    environment: Environment
    given: Mapping[str, Any]
    files: Mapping[str, str]
    file: str = ""
    is_heavy: bool = False


def check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        shown = name if len(name) <= LONGEST_SHOWN else f"{name[:LONGEST_SHOWN]}…"
        raise StackValidationFailed(
            f"Invalid stack name {shown!r}: it must begin with a letter and have at most 255 letters, digits, "
            "'_', '.' and '-'."
        )


def read(request: StackRequest, settings: Settings) -> Wish:
    """A request that stands for itself: create, update by PUT, preview, validate."""
    source = request.template
    if source is None:
        raise BadRequest("No template specified")
    template, environment = read_both(
        lambda: parsed(source, settings, request.template_name), lambda template: environment_of(request, template)
    )
    return Wish(
        source=source,
        template=template,
        environment=replace(environment, allowed=tuple(request.allow_replace)),
        given=dict(request.parameters),
        files=dict(request.files),
    )


def read_both(
    template: Callable[[], Template], environment: Callable[[Template | None], Environment]
) -> tuple[Template, Environment]:
    """Raises `InvalidInput` with the faults of both where one of them cannot be read: what the template means is not
    known without its environment."""
    faults, read = list[Problem](), None
    try:
        read = template()
        faults += read.faults
    except InvalidInput as error:
        faults += error.problems
    try:
        found = environment(read)
    except InvalidInput as error:
        raise InvalidInput([*faults, *error.problems]) from None
    if read is None:
        raise InvalidInput([*faults, *found.faults])
    return read, found


def parsed(template: Mapping[str, Any] | str, settings: Settings, file: str = "template") -> Template:
    if isinstance(template, str) and len(template.encode("utf-8", "surrogatepass")) > settings.max_template_size:
        raise RequestLimitExceeded(
            f"max_template_size: a template may have {settings.max_template_size} bytes, this one has "
            f"{len(template.encode('utf-8', 'surrogatepass'))}."
        )
    return parse_template(template, file=file, limits=Limits(size=settings.max_template_size), lenient=True)


def environment_of(request: StackRequest, template: Template | None = None) -> Environment:
    """As far as it can be read, with its faults. ``template`` says of what type the parameters are that several files
    give values of."""
    if request.environment_files is None:
        return parse_environment(request.environment, lenient=True)
    missing = [name for name in request.environment_files if name not in request.files]
    if missing:
        raise BadRequest(f"The environment file {missing[0]!r} is not among the files of the request.")
    found = [parse_environment(request.files[name], file=name, lenient=True) for name in request.environment_files]
    return merge_for(template, request.files, found)


async def patched(
    request: StackRequest, row: RevisionRow, blueprints: Blueprints, sealing: Sealing, settings: Settings
) -> Wish:
    """PATCH: what is not given stays as it is; ``clear_parameters`` go back to their defaults."""
    source = sealing.value(row.template) if request.template is None else request.template
    name = request.template_name if request.template is not None else row.template_file or "template"
    stored = parse_environment(sealing.value(row.environment))
    asked = request.environment_files is not None or request.environment
    template, environment = read_both(
        lambda: parsed(source, settings, name),
        lambda template: _over(stored, environment_of(request, template)) if asked else stored,
    )
    environment = replace(environment, allowed=tuple(request.allow_replace))
    given = {**sealing.value(row.parameters), **request.parameters}
    given = {
        name: value
        for name, value in given.items()
        if name not in request.clear_parameters and name in template.parameters
    }
    files = {**(await blueprints.files(row)), **request.files}
    return Wish(source, template, environment, given, files, row.template_file)


def _over(stored: Environment, asked: Environment) -> Environment:
    """What is asked replaces what is stored: strategies are for the files of one request."""
    return merge_environments([replace(asked, parameter_merge_strategies={})], base=stored)


def shown_template(row: RevisionRow, sealing: Sealing) -> Mapping[str, Any]:
    """As ``stack template`` shows it: the defaults of hidden parameters are masked (F164)."""
    template = parse_template(sealing.value(row.template))
    raw = mask(template.raw)
    for name, parameter in template.parameters.items():
        if parameter.hidden and parameter.has_default:
            section = raw["parameters" if "parameters" in raw else "Parameters"]
            section[name] = {
                key: HIDDEN if key in ("default", "Default") else item for key, item in section[name].items()
            }
    return json.loads(json.dumps(raw, default=str))  # type: ignore[no-any-return]  # a mapping's JSON is one


def fresh_stack(caller: Caller, request: StackRequest, wish: Wish, now: datetime, settings: Settings) -> StackRow:
    """The row of a root stack that is asked for."""
    ident = str(uuid.uuid4())
    rollback_off = True if request.disable_rollback is None else request.disable_rollback
    return StackRow(
        id=ident,
        name=request.name,
        live_name=f"{caller.project_id}/{request.name}",
        project_id=caller.project_id,
        user_id=caller.user_id,
        user_name=caller.user_name,
        root_id=ident,
        owner_id=None,
        owner_resource_id=None,
        depth=0,
        revision_id=None,
        good_revision_id=None,
        action=Action.CREATE,
        status=Status.IN_PROGRESS,
        status_reason="Stack CREATE started",
        description=wish.template.description,
        created_at=now,
        updated_at=None,
        deleted_at=None,
        started_at=now,
        timeout_mins=request.timeout_mins,
        disable_rollback=rollback_off,
        tags=list(request.tags or ()),
        region=settings.region,
        credentials=None,
        outputs=None,
    )
