"""Bodies of create, update, preview and validate → `StackRequest`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from calor.server.api.bodies import required_map
from calor.server.api.faults import HTTPBadRequest
from calor.server.api.queries import as_flag
from calor.server.config import Limits
from calor.server.engine.contract.views import Guard, StackRequest
from calor.server.errors import NotSupported, RequestLimitExceeded, StackValidationFailed
from calor.server.template.files import has_nul

_LONGEST_TAG = 80


def read_create(body: Mapping[str, Any], limits: Limits) -> StackRequest:
    """Raises `HTTPBadRequest`, `StackValidationFailed`, `RequestLimitExceeded` or `NotSupported`."""
    if body.get("adopt_stack_data") is not None:
        raise NotSupported("Stack Adopt is not enabled on this server (enable_stack_adopt).")
    if "stack_name" not in body:
        raise HTTPBadRequest("'stack_name' is missing: give the stack a name.")
    if not isinstance(body["stack_name"], str):
        raise StackValidationFailed("'stack_name' must be a text.")
    if "converge" in body:
        raise HTTPBadRequest("'converge' belongs to an update, not to a create.")
    return _read(body, limits, name=body["stack_name"], needs_template=True)


def read_validate(body: Mapping[str, Any], limits: Limits) -> StackRequest:
    return _read(body, limits, needs_template=True)


def read_update(body: Mapping[str, Any], limits: Limits) -> StackRequest:
    """PUT: a template is needed unless ``existing`` says that the old one stays."""
    existing = as_flag("existing", body.get("existing") or False)
    return _guarded(body, _read(body, limits, needs_template=not existing, existing=existing))


def read_plan(body: Mapping[str, Any], limits: Limits, name: str) -> StackRequest:
    """The body of an update, PUT's or (``existing``) PATCH's."""
    existing = as_flag("existing", body.get("existing") or False)
    return _guarded(body, _read(body, limits, needs_template=not existing, name=name, existing=existing))


def read_patch(body: Mapping[str, Any], limits: Limits) -> StackRequest:
    """PATCH: what is not given stays as it was."""
    return _guarded(body, _read(body, limits, needs_template=False, existing=True))


def _guarded(body: Mapping[str, Any], request: StackRequest) -> StackRequest:
    """With what an update is refused for beforehand: Calor's own fields, which no client of Heat's sends."""
    asked = body.get("guard", Guard.NONE.value)
    if asked not in (known := [one.value for one in Guard]):
        raise HTTPBadRequest(f"'guard' must be one of {', '.join(known)}, not {asked!r}.")
    return replace(request, guard=Guard(asked), allow_replace=_names(body, "allow_replace") or ())


def _read(
    body: Mapping[str, Any], limits: Limits, *, needs_template: bool, name: str = "", existing: bool = False
) -> StackRequest:
    container = body.get("files_container") or ""
    if not isinstance(container, str) or "/" in container:
        raise HTTPBadRequest("'files_container' must be the name of a container.")
    template = _template(body, limits)
    if template is None and needs_template:
        raise HTTPBadRequest("'template' is missing: send a template.")
    disable = body.get("disable_rollback")
    return StackRequest(
        template=template,
        name=name,
        environment=_text_or_map(body, "environment"),
        environment_files=_names(body, "environment_files"),
        files=_files(body),
        files_container=container,
        parameters=required_map(body, "parameters"),
        timeout_mins=_minutes(body.get("timeout_mins")),
        disable_rollback=None if disable is None else as_flag("disable_rollback", disable),
        tags=_tags(body.get("tags")),
        clear_parameters=_names(body, "clear_parameters") or (),
        existing=existing,
        converge=as_flag("converge", body.get("converge") or False),
    )


def _template(body: Mapping[str, Any], limits: Limits) -> Mapping[str, Any] | str | None:
    template = _text_or_map(body, "template")
    if template is None:
        if body.get("template_url"):
            # Nothing is opened and nothing is asked: the answer is the same for every URL (F159, F160).
            raise HTTPBadRequest("'template_url' is not allowed on this server: send the template in 'template'.")
        return None
    size = len(template.encode() if isinstance(template, str) else json.dumps(template))
    if size > limits.max_template_size:
        raise RequestLimitExceeded(
            f"The template is too large: max_template_size is {limits.max_template_size} bytes, it has {size}."
        )
    return template


def _text_or_map(body: Mapping[str, Any], name: str) -> Mapping[str, Any] | str | None:
    value = body.get(name)
    if value is None or isinstance(value, (str, Mapping)):
        return value
    raise HTTPBadRequest(f"'{name}' must be a text or a map.")


def _names(body: Mapping[str, Any], name: str) -> Sequence[str] | None:
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise HTTPBadRequest(f"'{name}' must be a list of names.")
    return value or None


def _files(body: Mapping[str, Any]) -> Mapping[str, str]:
    files = required_map(body, "files")
    for name, text in files.items():
        if not isinstance(text, str):
            raise HTTPBadRequest(f"The content of the file '{name}' in 'files' must be a text.")
        if has_nul(text):
            raise HTTPBadRequest(f"The file '{name}' in 'files' is not text: it holds a NUL character.")
    return files


def _minutes(value: Any) -> int | None:
    if value is None:
        return None
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdecimal() and 0 < int(text) < 2**31):
        raise HTTPBadRequest(f"'timeout_mins' must be a number of minutes above 0, not '{value}'.")
    return int(text)


def _tags(value: Any) -> Sequence[str] | None:
    if value is None:
        return None
    tags = value.split(",") if isinstance(value, str) else value
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise HTTPBadRequest("'tags' must be a text with commas between the tags.")
    stripped = [tag.strip() for tag in tags if tag.strip()]
    for tag in stripped:
        if len(tag) > _LONGEST_TAG:
            raise HTTPBadRequest(f"The tag '{tag}' has {len(tag)} characters; at most {_LONGEST_TAG} are possible.")
    return stripped
