"""OS::Heat::ResourceGroup: the same resource several times."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Annotated, Any, ClassVar

from calor.server.errors import BadRequest
from calor.server.resources.base import Child, Context, Incarnation, Nested, ResourceType
from calor.server.resources.declare import UPDATABLE, Since, attributes
from calor.server.resources.heat.group_templates import REMOVED, batch_rules, by_name, removed_before, template
from calor.server.template.properties import (
    AllowedValues,
    AttributeSchema,
    Kind,
    Length,
    PropertySchema,
    Range,
    Support,
)


@dataclass(frozen=True, kw_only=True)
class RemovalPolicy:
    resource_list: tuple[Any, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Definition:
    type: str
    properties: Mapping[str, Any] | None = None
    metadata: Annotated[Mapping[str, Any] | None, Since("5.0.0")] = None


@dataclass(frozen=True, kw_only=True)
class ResourceGroupProps:
    resource_def: Annotated[Definition, UPDATABLE]
    count: Annotated[int, UPDATABLE, Range(min=0)] = 1
    index_var: Annotated[str, Length(min=3), Since("2014.2")] = "%index%"
    removal_policies: Annotated[tuple[RemovalPolicy, ...], UPDATABLE, Since("2015.1")] = field(default_factory=tuple)
    removal_policies_mode: Annotated[str, AllowedValues("append", "update"), UPDATABLE, Since("10.0.0")] = "append"


class ResourceGroup(ResourceType[ResourceGroupProps]):
    """A child stack with members 0, 1, 2 …; names that were removed by policy are not used again."""

    name, props = "OS::Heat::ResourceGroup", ResourceGroupProps
    support = Support(since="2014.1")
    supports = frozenset({"check", "suspend", "resume"})
    is_nested = True
    handed_on = frozenset({"resource_def"})
    any_attributes = True
    update_policy: ClassVar[Mapping[str, PropertySchema]] = batch_rules("5.0.0", in_service=True)
    attributes = attributes(
        refs=Kind.LIST,
        refs_map=AttributeSchema(kind=Kind.MAP, support=Since("7.0.0")),
        attributes=AttributeSchema(kind=Kind.MAP, support=Since("2014.2")),
        removed_rsrc_list=AttributeSchema(kind=Kind.LIST, support=Since("7.0.0")),
    )

    def nested(self, me: Incarnation, want: ResourceGroupProps, was: Nested | None, current: Sequence[str]) -> Nested:
        removed = removed_names(want, removed_before(was.template) if was else [], current)
        members = {name: member(want, name) for name in islice(free_names(removed), want.count)}
        return Nested(template=template(members, sorted(removed, key=lambda name: (len(name), name))))

    async def nested_attribute(
        self, at: Context, child: Child, was: ResourceGroupProps, name: str, path: Sequence[Any]
    ) -> Any:
        if name == "show":
            return {"stack_id": child.stack_id}
        if name == "refs":
            return list((await by_name(child, ())).values())
        if name == "refs_map":
            return await by_name(child, ())
        if name == REMOVED:
            return await child.output(REMOVED)
        if name == "attributes":
            if not path:
                raise BadRequest("The attribute 'attributes' of a group needs the name of one of its members'.")
            return await by_name(child, path)
        if name == "resource" or name.startswith("resource."):
            return await self._of_member(child, [*name.split(".")[1:], *map(str, path)], path)
        return list((await by_name(child, (name, *path))).values())

    async def _of_member(self, child: Child, parts: list[str], path: Sequence[Any]) -> Any:
        members = list(child.members())
        if not members:
            return None
        if not parts or parts[0] not in members:
            raise BadRequest(f"The group has no member {parts[0] if parts else ''!r}; it has {', '.join(members)}.")
        rest: list[Any] = parts[1:]
        if path and len(rest) >= len(path):
            rest = [*rest[: len(rest) - len(path)], *path]
        return await child.attribute(parts[0], *rest) if rest else await child.reference(parts[0])


def free_names(removed: frozenset[str]) -> Iterator[str]:
    return (str(number) for number in count() if str(number) not in removed)


def removed_names(want: ResourceGroupProps, before: Sequence[str], current: Sequence[str]) -> frozenset[str]:
    """Names taken out by policy: those of members there are (or were removed before), kept or not by the mode."""
    listed = {str(one) for policy in want.removal_policies for one in policy.resource_list}
    asked = frozenset(name for name in listed if name in current or name in before)
    return asked | frozenset(before) if want.removal_policies_mode == "append" else asked


def member(want: ResourceGroupProps, name: str) -> dict[str, Any]:
    definition: dict[str, Any] = {"type": want.resource_def.type}
    if want.resource_def.properties:
        given = {key: value for key, value in want.resource_def.properties.items() if value is not None}
        definition["properties"] = indexed(given, want.index_var, name)
    if want.resource_def.metadata:
        definition["metadata"] = indexed(want.resource_def.metadata, want.index_var, name)
    return {key: indexed(value, want.index_var, name) for key, value in definition.items()}


def indexed(value: Any, variable: str, name: str) -> Any:
    """The value with the member's name for the index variable in all texts."""
    if isinstance(value, str):
        return value.replace(variable, name)
    if isinstance(value, Mapping):
        return {key: indexed(item, variable, name) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [indexed(item, variable, name) for item in value]
    return value
