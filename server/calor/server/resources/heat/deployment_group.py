"""OS::Heat::{Software,Structured}DeploymentGroup: one config applied to several servers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeVar

from calor.server.resources.base import Child, Context, Incarnation, Nested, ResourceType
from calor.server.resources.declare import UPDATABLE, attributes, plain
from calor.server.resources.heat.group_templates import batch_rules, by_name, template
from calor.server.resources.heat.software_deployment import SET_BY, DeploymentProps, StructuredProps
from calor.server.resources.unresolved import resource_named
from calor.server.template.properties import Kind, PropertySchema, Support

PLURALS: Mapping[str, str] = {
    "deploy_stdouts": "deploy_stdout",
    "deploy_stderrs": "deploy_stderr",
    "deploy_status_codes": "deploy_status_code",
}


@dataclass(frozen=True, kw_only=True)
class DeploymentGroupProps(DeploymentProps):
    servers: Annotated[Mapping[str, Any], UPDATABLE]


@dataclass(frozen=True, kw_only=True)
class StructuredGroupProps(DeploymentGroupProps, StructuredProps):
    """Of several servers and a map config."""


P = TypeVar("P", bound=DeploymentGroupProps)


class Group(ResourceType[P]):
    """A child stack with one deployment a server, named as the servers are."""

    member: ClassVar[str]
    support = Support(since="5.0.0")
    supports = frozenset({"check", "suspend", "resume"})
    is_nested = True
    any_attributes = True
    needs_trust = True
    set_by: ClassVar[Mapping[str, str]] = SET_BY
    update_policy: ClassVar[Mapping[str, PropertySchema]] = batch_rules("7.0.0", in_service=False)
    attributes = attributes(deploy_stdouts=Kind.MAP, deploy_stderrs=Kind.MAP, deploy_status_codes=Kind.MAP)

    def deploys_to(self, mine: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
        servers = mine.get("servers")
        named = [resource_named(server) for server in servers.values()] if isinstance(servers, Mapping) else []
        return [("servers", server) for server in named if server is not None]

    def nested(self, me: Incarnation, want: P, was: Nested | None, current: Sequence[str]) -> Nested:
        shared = {key: value for key, value in plain(want).items() if key != "servers"}
        return Nested(
            template=template(
                {
                    str(name): {"type": self.member, "properties": {**shared, "server": server}}
                    for name, server in sorted(want.servers.items())
                }
            )
        )

    async def nested_attribute(self, at: Context, child: Child, was: P, name: str, path: Sequence[Any]) -> Any:
        if name == "show":
            return {"stack_id": child.stack_id}
        found: Any = await by_name(child, [PLURALS.get(name, name)])
        return found.get(str(path[0])) if path else found


class SoftwareDeploymentGroup(Group[DeploymentGroupProps]):
    """A text config for several servers."""

    name, props, member = "OS::Heat::SoftwareDeploymentGroup", DeploymentGroupProps, "OS::Heat::SoftwareDeployment"


class StructuredDeploymentGroup(Group[StructuredGroupProps]):
    """A map config for several servers."""

    name, props, member = "OS::Heat::StructuredDeploymentGroup", StructuredGroupProps, "OS::Heat::StructuredDeployment"
