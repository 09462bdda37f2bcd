"""Child templates of group types, and what their members answer together."""

from collections.abc import Mapping, Sequence
from typing import Any

from calor.server.resources.base import Child
from calor.server.resources.declare import Since
from calor.server.template.properties import Kind, PropertySchema, Range

VERSION = "2021-04-16"
REMOVED = "removed_rsrc_list"


def template(members: Mapping[str, Mapping[str, Any]], removed: Sequence[str] | None = None) -> dict[str, Any]:
    """``removed`` lives in the template as an output: the group's memory of names it must not use again."""
    outputs = {} if removed is None else {"outputs": {REMOVED: {"value": list(removed)}}}
    return {
        "heat_template_version": VERSION,
        "resources": {name: dict(one) for name, one in members.items()},
        **outputs,
    }


def removed_before(was: Any) -> list[str]:
    """The memory of the template before."""
    if not isinstance(was, Mapping):
        return []
    return [str(name) for name in ((was.get("outputs") or {}).get(REMOVED) or {}).get("value") or ()]


async def by_name(child: Child, path: Sequence[Any]) -> dict[str, Any]:
    """Member name to attribute (or reference id, for an empty path)."""
    if not path:
        return {name: await child.reference(name) for name in child.members()}
    return {name: await child.attribute(name, *path) for name in child.members()}


def batch_rule(since: str, *, in_service: bool) -> PropertySchema:
    """``batch_create`` and ``rolling_update`` of an update policy."""
    rule = {
        "max_batch_size": PropertySchema(kind=Kind.INTEGER, default=1, constraints=(Range(min=1),)),
        "pause_time": PropertySchema(kind=Kind.NUMBER, default=0, constraints=(Range(min=0),)),
    }
    if in_service:
        rule["min_in_service"] = PropertySchema(kind=Kind.INTEGER, default=0, constraints=(Range(min=0),))
    return PropertySchema(kind=Kind.MAP, schema=rule, support=Since(since))


def batch_rules(since: str, *, in_service: bool) -> Mapping[str, PropertySchema]:
    return {
        "batch_create": batch_rule(since, in_service=False),
        "rolling_update": batch_rule(since, in_service=in_service),
    }
