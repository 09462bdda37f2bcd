"""The child stack that a resource would have: asked of its type and drawn, without making anything."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from calor.server.engine.durable.sealing import Sealing
from calor.server.engine.reconcile.nested import facade_of
from calor.server.engine.revision.blueprint import Blueprint, converted, draw
from calor.server.engine.revision.kinds import typed
from calor.server.engine.revision.nested_sources import known, surroundings
from calor.server.engine.revision.revisions import Blueprints
from calor.server.engine.revision.template_type import TemplateType
from calor.server.errors import CalorError
from calor.server.resources.base import Incarnation, Nested, Registry, ResourceType
from calor.server.store.rows import ResourceRow, StackRow
from calor.server.template import UNKNOWN, DeletionPolicy, NothingKnown, bind, has_unknown, parse_template, plain

LATER = "known_after_create"
"""The parameter that stands, in a template that a type makes, for what is not known yet."""


def asked(
    kind: ResourceType[Any],
    name: str,
    want: Mapping[str, Any],
    row: ResourceRow | None = None,
    was: Nested | None = None,
    members: Sequence[str] = (),
) -> Nested | None:
    """What the type would have made of the properties; None where its members depend on what is not known yet."""
    late = {key for key, value in want.items() if has_unknown(value)}
    if isinstance(kind, TemplateType):
        given = {key: value for key, value in want.items() if key not in late}
    elif late <= kind.handed_on:
        given = {key: _postponed(value) if key in late else value for key, value in want.items()}
    else:
        return None
    me = Incarnation(id="" if row is None else row.id, name=name, type=kind.name, physical_name=name)
    nested = kind.nested(me, typed(kind, given), was, list(dict.fromkeys(members)))
    if isinstance(kind, TemplateType) or not late or isinstance(nested.template, str):
        return nested
    return replace(nested, template={**nested.template, "parameters": {LATER: {"type": "json"}}})


def _postponed(value: Any) -> Any:
    if value is UNKNOWN:
        return {"get_param": LATER}
    if isinstance(value, Mapping):
        return {key: _postponed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_postponed(item) for item in value]
    return {"get_param": LATER} if has_unknown(value) else value


def drawn(
    blueprints: Blueprints,
    sealing: Sealing,
    child: StackRow,
    blueprint: Blueprint,
    name: str,
    row: ResourceRow | None,
    nested: Nested,
) -> Blueprint:
    """The blueprint of ``nested``, as far as values are known. Raises `CalorError` for what is wrong in it."""
    inner, files = surroundings(blueprint, name, nested)
    template = parse_template(nested.template, file=nested.file or f"template of {name}")
    given = known(nested.parameters)
    metadata = {} if row is None else sealing.value(row.meta) or {}
    policy = DeletionPolicy.DELETE.value if row is None else row.deletion_policy
    facade = facade_of(blueprint, name, metadata, policy)
    return blueprints.draw(child, template, inner, given, files, facade, unknown=[], allow_missing=True)


def outlined(blueprint: Blueprint, name: str, kind: ResourceType[Any], registry: Registry) -> Blueprint | None:
    """The same without a stack, for who only looks at a template; None where it cannot be read, or depends on what is
    not known yet."""
    try:
        nested = asked(kind, name, plain(converted(blueprint, name, NothingKnown())[0]))
        if nested is None:
            return None
        template = kind.template if isinstance(kind, TemplateType) else parse_template(nested.template)
        inner, files = surroundings(blueprint, name, nested)
        model = bind(template, inner, known(nested.parameters), files=files, allow_missing=True, later=True)
        return draw(model, registry, files, [])
    except CalorError:  # whoever checks the template tells of it
        return None


def unborn(stack: StackRow, name: str) -> StackRow:
    """A child stack that does not exist: it has no rows."""
    return replace(stack, id="", name=f"{stack.name}-{name}")
