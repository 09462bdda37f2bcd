"""OS::Heat::Stack: a stack of its own template, as one resource."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from calor.server.errors import BadRequest
from calor.server.resources.base import Child, Context, Incarnation, Nested, ResourceType
from calor.server.resources.declare import UPDATABLE, Since, attributes
from calor.server.template import parse_template
from calor.server.template.properties import Kind


@dataclass(frozen=True, kw_only=True)
class RemoteContext:
    region_name: str | None = None
    credential_secret_id: Annotated[str | None, UPDATABLE, Since("12.0.0")] = None
    ca_cert: Annotated[str | None, UPDATABLE, Since("12.0.0")] = None
    insecure: Annotated[bool, UPDATABLE, Since("12.0.0")] = False


@dataclass(frozen=True, kw_only=True)
class StackProps:
    template: Annotated[str, UPDATABLE]
    context: Annotated[RemoteContext | None, UPDATABLE] = None
    timeout: Annotated[int | None, UPDATABLE] = None
    parameters: Annotated[Mapping[str, Any], UPDATABLE] = field(default_factory=dict)


class Stack(ResourceType[StackProps]):
    """A child stack in this cloud and region; other clouds' stacks need their own orchestration service."""

    name, props = "OS::Heat::Stack", StackProps
    supports = frozenset({"check", "suspend", "resume"})
    is_nested = True
    any_attributes = True
    attributes = attributes(stack_name=Kind.STRING, outputs=Kind.MAP)

    def validate(self, properties: Mapping[str, Any]) -> Sequence[str]:
        context = properties.get("context")
        given = context if isinstance(context, Mapping) else {}
        foreign = [key for key in ("credential_secret_id", "ca_cert", "region_name") if given.get(key)]
        if foreign:
            return [f"context: stacks in other clouds and regions are not served here; leave out {', '.join(foreign)}."]
        return ()

    def nested(self, me: Incarnation, want: StackProps, was: Nested | None, current: Sequence[str]) -> Nested:
        return Nested(template=want.template, parameters=want.parameters, timeout_mins=want.timeout)

    async def nested_attribute(self, at: Context, child: Child, was: StackProps, name: str, path: Sequence[Any]) -> Any:
        if name == "stack_name":
            return at.me.physical_name
        if name == "outputs":
            if path:
                return await child.output(str(path[0]))
            return {output: await _or_nothing(child, output) for output in parse_template(was.template).outputs}
        if name == "show":
            return {"id": child.stack_id, "stack_name": at.me.physical_name}
        return await child.output(name)


async def _or_nothing(child: Child, output: str) -> Any:
    """Of all outputs together, one that could not be had is nothing."""
    try:
        return await child.output(output)
    except BadRequest:
        return None
