"""What the types of the network service share: creating once, changing by difference, deleting at once."""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from calor.server.cloud.door import Record
from calor.server.cloud.errors import CloudMissing
from calor.server.resources.base import Context, ResourceFailed, ResourceType
from calor.server.resources.bodies import changes, present
from calor.server.resources.unresolved import is_same

P = TypeVar("P")

TOKEN = "calor resource "  # noqa: S105 - begins a description, opens nothing


class NetworkObject(ResourceType[P]):
    """A type that declares ``body``. Its twin is found by a description that the user did not set, else by the
    generated name, else among the objects of its name that were not there before."""

    ready = frozenset({"ACTIVE", "DOWN"})
    has_tags: ClassVar[bool] = False
    has_description: ClassVar[bool] = True

    async def body(self, at: Context, want: P) -> dict[str, Any]:
        """The whole request body, with None for what is not set."""
        raise NotImplementedError(self.name)

    def request(self, body: dict[str, Any]) -> dict[str, Any]:
        """The body as the service wants it, where that is not what a comparison needs."""
        return body

    async def create(self, at: Context, want: P) -> str:
        assert self.collection is not None
        body = present(await self.body(at, want))
        if "description" not in body and self.has_description:
            body["description"] = token(at)
        elif self.has_description and body.get("name") != at.me.physical_name:
            await self._remember_others(at, body)
        record = await at.cloud.create(self.collection, **self.request(body))
        if record.get("status") not in (None, *self.ready):
            await at.remember(pending=True)
        return str(record["id"])

    async def settle(self, at: Context, want: P) -> None:
        if at.me.data.get("pending"):
            await super().settle(at, want)
        await self._tag(at, getattr(want, "tags", None), None)

    async def find_twin(self, at: Context, want: P) -> str | None:
        assert self.collection is not None
        body = present(await self.body(at, want))
        if "description" not in body:
            found = await at.cloud.list(self.collection, description=token(at))
        else:
            known = at.me.data.get("others") or ()
            named = await at.cloud.list(self.collection, name=body.get("name", ""))
            found = [record for record in named if record["id"] not in known]
        if found and found[0].get("status") not in (None, *self.ready):
            await at.remember(pending=True)
        return str(found[0]["id"]) if found else None

    async def update(self, at: Context, want: P, was: P, changed: frozenset[str]) -> None:
        assert self.collection is not None and at.me.physical_id is not None
        body = changes(await self.body(at, want), await self.body(at, was))
        if body:
            await at.cloud.update(self.collection, at.me.physical_id, **self.request(body))
        if "tags" in changed:
            await self._tag(at, getattr(want, "tags", None), getattr(was, "tags", None))

    async def settle_delete(self, at: Context) -> None:
        """The network service deletes before it answers."""

    async def check(self, at: Context, was: P) -> None:
        record = await self.record(at)
        if record.get("status") not in (None, *self.ready):
            raise ResourceFailed(f"The {self.name} {at.me.name} has the status {record['status']}.")

    async def record(self, at: Context) -> Record:
        if self.collection is None or at.me.physical_id is None:
            raise CloudMissing(f"{at.me.name} has not been created.")
        return await at.cloud.get(self.collection, at.me.physical_id)

    async def _remember_others(self, at: Context, body: Mapping[str, Any]) -> None:
        assert self.collection is not None
        if "others" not in at.me.data:
            named = await at.cloud.list(self.collection, name=body.get("name", ""))
            await at.remember(others=[record["id"] for record in named])

    async def _tag(self, at: Context, want: tuple[str, ...] | None, was: tuple[str, ...] | None) -> None:
        if self.has_tags and self.collection is not None and (want or was):
            path = f"/{self.collection.single}s/{at.me.physical_id}/tags"
            await at.cloud.call("network", "put", path, json={"tags": list(want or ())})


def token(at: Context) -> str:
    """A description that only this incarnation's object has."""
    return TOKEN + at.me.id


def same_network(others: Mapping[str, tuple[str, Mapping[str, Any]]], network: Any) -> frozenset[str]:
    """The subnets of the template that lie on a network: which of them serves is known only once all are there."""
    return frozenset(
        name
        for name, (kind, properties) in others.items()
        if kind == "OS::Neutron::Subnet" and is_same(subnet_network(properties), network)
    )


def subnet_network(properties: Mapping[str, Any]) -> Any:
    return properties.get("network", properties.get("network_id"))
