"""OS::Nova::Flavor."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from calor.server.resources.base import Context, ResourceType
from calor.server.resources.bodies import present
from calor.server.resources.collections import FLAVORS
from calor.server.resources.declare import UPDATABLE, Since, attributes
from calor.server.template.properties import AttributeSchema, Custom, Kind, Support


@dataclass(frozen=True, kw_only=True)
class FlavorProps:
    ram: int
    vcpus: int
    disk: int = 0
    swap: int = 0
    ephemeral: int = 0
    rxtx_factor: float = 1.0
    extra_specs: Annotated[Mapping[str, Any] | None, UPDATABLE] = None
    flavorid: Annotated[str | None, Since("7.0.0")] = None
    name: Annotated[str | None, Since("7.0.0")] = None
    is_public: Annotated[bool, Since("6.0.0")] = True
    tenants: Annotated[tuple[Annotated[str, Custom("keystone.project")], ...], UPDATABLE, Since("8.0.0")] = ()


class Flavor(ResourceType[FlavorProps]):
    """A flavor; only administrators may make one. Its id is ours to choose, so the row's id finds the twin."""

    name, props = "OS::Nova::Flavor", FlavorProps
    collection = FLAVORS
    support = Support(since="2014.2")
    attributes = attributes(
        is_public=AttributeSchema(kind=Kind.BOOLEAN, support=Since("6.0.0")),
        extra_specs=AttributeSchema(kind=Kind.MAP, support=Since("7.0.0")),
    )

    async def create(self, at: Context, want: FlavorProps) -> str:
        body = {
            "id": want.flavorid or at.me.id,
            "name": want.name or at.me.physical_name,
            "ram": want.ram,
            "vcpus": want.vcpus,
            "disk": want.disk,
            "swap": want.swap,
            "OS-FLV-EXT-DATA:ephemeral": want.ephemeral,
            "rxtx_factor": want.rxtx_factor,
            "os-flavor-access:is_public": want.is_public,
        }
        return str((await at.cloud.create(FLAVORS, **present(body)))["id"])

    async def find_twin(self, at: Context, want: FlavorProps) -> str | None:
        """A flavor of the id that the user chose is ours only if it has our generated name."""
        ident, name = want.flavorid or at.me.id, at.me.physical_name
        found = [one for one in await at.cloud.list(FLAVORS, is_public="None") if one["id"] == ident]
        return ident if found and (want.flavorid is None or found[0]["name"] == name) else None

    async def settle(self, at: Context, want: FlavorProps) -> None:
        await self._describe(at, want, {}, ())

    async def update(self, at: Context, want: FlavorProps, was: FlavorProps, changed: frozenset[str]) -> None:
        await self._describe(at, want, was.extra_specs or {}, was.tenants)

    async def settle_delete(self, at: Context) -> None:
        """The compute service deletes before it answers."""

    async def attribute(self, at: Context, was: FlavorProps, name: str) -> Any:
        if name == "extra_specs":
            answer = await at.cloud.call("compute", "get", f"/flavors/{at.me.physical_id}/os-extra_specs")
            return answer["extra_specs"]
        record = await at.cloud.get(FLAVORS, at.me.physical_id or "")
        return dict(record) if name == "show" else record.get("os-flavor-access:is_public")

    async def _describe(
        self, at: Context, want: FlavorProps, specs: Mapping[str, Any], tenants: tuple[str, ...]
    ) -> None:
        """Extra specs and access, which the creation cannot say."""
        path = f"/flavors/{at.me.physical_id}"
        wanted = {key: str(value) for key, value in (want.extra_specs or {}).items()}
        for key in sorted(set(specs) - set(wanted)):
            await at.cloud.call("compute", "delete", f"{path}/os-extra_specs/{key}")
        if wanted:
            await at.cloud.call("compute", "post", f"{path}/os-extra_specs", json={"extra_specs": wanted})
        if want.is_public:
            return
        for verb, projects in (
            ("addTenantAccess", sorted(set(want.tenants) - set(tenants))),
            ("removeTenantAccess", sorted(set(tenants) - set(want.tenants))),
        ):
            for project in projects:
                await at.cloud.call("compute", "post", f"{path}/action", json={verb: {"tenant": project}})
