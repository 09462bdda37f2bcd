"""A template as a resource type: its parameters are the properties, its outputs the attributes."""

import functools
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calor.server.resources.base import Child, Context, Incarnation, Nested, ResourceType
from calor.server.template import ParameterKind, Template, parse_template
from calor.server.template.properties import AttributeSchema, Kind, PropertySchema
from calor.server.template.unread import AnyName

SUFFIXES = (".yaml", ".yml", ".template", ".json")
_KINDS = {
    ParameterKind.STRING: Kind.STRING,
    ParameterKind.NUMBER: Kind.NUMBER,
    ParameterKind.LIST: Kind.LIST,
    ParameterKind.JSON: Kind.ANY,
    ParameterKind.BOOLEAN: Kind.BOOLEAN,
}


@dataclass(frozen=True, kw_only=True)
class TemplateProps:
    """The schema of a template's properties comes from its parameters, not from here."""


@functools.lru_cache(maxsize=256)
def parsed(text: str, file: str) -> Template:
    """With what is wrong in its ``faults``, as far as it can be read. Raises `InvalidInput`."""
    return parse_template(text, file=file, lenient=True)


class TemplateType(ResourceType[Mapping[str, Any]]):
    """One template file, as a type of that name. Its ``want`` is the plain map of its properties.

    ``defaults`` are the parameters that the environment gives a value (``parameter_defaults``): they need none.
    """

    is_nested = True
    any_attributes = True
    props = TemplateProps

    def __init__(self, file: str, text: str, defaults: Container[str] = ()) -> None:
        self.name = file  # type: ignore[misc]  # a type made at run time: its name is the instance's
        self.text = text
        self.defaults = defaults

    @property
    def template(self) -> Template:
        """See `parsed`."""
        return parsed(self.text, self.name)

    @property
    def any_properties(self) -> bool:  # type: ignore[override]  # of a type made at run time, its template says that
        """What it takes is not known where its parameters cannot be read."""
        return isinstance(self.template.names.parameters, AnyName)

    def schema(self) -> Mapping[str, PropertySchema]:
        return {
            name: PropertySchema(
                kind=_KINDS[parameter.kind],
                required=not parameter.has_default and name not in self.defaults,
                update_allowed=True,
                description=parameter.description,
            )
            for name, parameter in self.template.parameters.items()
        }

    def outputs(self) -> Mapping[str, AttributeSchema]:
        return {name: AttributeSchema() for name in self.template.outputs}

    def nested(self, me: Incarnation, want: Mapping[str, Any], was: Nested | None, current: Sequence[str]) -> Nested:
        given = {name: value for name, value in want.items() if value is not None}
        return Nested(template=self.text, parameters=given, file=self.name)

    async def nested_attribute(
        self, at: Context, child: Child, was: Mapping[str, Any], name: str, path: Sequence[Any]
    ) -> Any:
        if name in self.template.outputs:
            return await child.output(name)
        if name == "outputs":
            return {output: await child.output(output) for output in self.template.outputs}
        if name.startswith("resource.") or name == "resource":
            parts: list[Any] = [*name.split(".")[1:], *path]
            member, rest = str(parts[0]), parts[1:]
            return await child.attribute(member, *rest) if rest else await child.reference(member)
        if name == "OS::stack_id":
            return child.arn()
        return None

    async def reference(self, at: Context) -> Any:
        """``get_resource`` gives the child's id, or the output OS::stack_id where the template has one."""
        return at.me.physical_id


def is_template_name(name: str) -> bool:
    return name.endswith(SUFFIXES)
