"""OS::Heat::DeployedServer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from calor.server.resources import collecting
from calor.server.resources.base import Context, ResourceType
from calor.server.resources.collecting import write_collect_metadata
from calor.server.resources.declare import UPDATABLE, Since, attributes
from calor.server.resources.nova.server_props import SwiftData
from calor.server.template.properties import AllowedValues, AttributeSchema, Kind, Support

TRANSPORTS = AllowedValues("POLL_SERVER_CFN", "POLL_SERVER_HEAT", "POLL_TEMP_URL", "ZAQAR_MESSAGE")


@dataclass(frozen=True, kw_only=True)
class DeployedServerProps:
    name: Annotated[str | None, UPDATABLE] = None
    metadata: Annotated[Mapping[str, Any] | None, UPDATABLE, Support("DEPRECATED", since="9.0.0")] = None
    software_config_transport: Annotated[str, UPDATABLE, TRANSPORTS] = "POLL_SERVER_CFN"
    deployment_swift_data: Annotated[SwiftData, UPDATABLE, Since("9.0.0")] = field(default_factory=SwiftData)


class DeployedServer(ResourceType[DeployedServerProps]):
    """A machine that exists already and that no cloud of ours knows: only its agent does, by the metadata here. Its
    physical id is the row's own."""

    name, props = "OS::Heat::DeployedServer", DeployedServerProps
    supports = frozenset({"suspend", "resume"})
    physical_name_limit = 53
    has_metadata_endpoint = True
    deletion_policies = ("Delete", "Retain", "Snapshot")
    set_by: ClassVar[Mapping[str, str]] = {"software_config_transport": "default_software_config_transport"}
    attributes = attributes(
        name=Kind.STRING,
        os_collect_config=AttributeSchema(kind=Kind.MAP, cached=False, support=Since("9.0.0")),
    )

    def needs_services(self, properties: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
        return collecting.needed(properties)

    def is_deferred(self, properties: Mapping[str, Any]) -> bool:
        return bool(collecting.needed(properties))

    def new_metadata(self, known: Mapping[str, Any], written: Mapping[str, Any]) -> Mapping[str, Any]:
        return collecting.merged(known, written)

    async def create(self, at: Context, want: DeployedServerProps) -> str:
        await write_collect_metadata(at, want.software_config_transport, want.deployment_swift_data)
        return at.me.id

    async def find_twin(self, at: Context, want: DeployedServerProps) -> str | None:
        return None  # nothing outside is made

    async def update(
        self, at: Context, want: DeployedServerProps, was: DeployedServerProps, changed: frozenset[str]
    ) -> None:
        await write_collect_metadata(at, want.software_config_transport, want.deployment_swift_data)
        await collecting.forget(at, but=want.software_config_transport)

    async def delete(self, at: Context, was: DeployedServerProps | None) -> None:
        await collecting.forget(at)

    async def suspend(self, at: Context, was: DeployedServerProps) -> None:
        """Its deployments may have something to do; the machine itself is nobody's here."""

    async def resume(self, at: Context, was: DeployedServerProps) -> None:
        """As `suspend`."""

    async def attribute(self, at: Context, was: DeployedServerProps, name: str) -> Any:
        known = {
            "name": was.name or at.me.physical_name,
            "os_collect_config": at.me.metadata.get("os-collect-config") or {},
        }
        return known if name == "show" else known[name]
