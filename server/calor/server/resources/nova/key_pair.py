"""OS::Nova::KeyPair."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from calor.server.cloud.errors import CloudMissing
from calor.server.resources.base import Context, ResourceFailed, ResourceType
from calor.server.resources.bodies import present
from calor.server.resources.collections import KEYPAIRS
from calor.server.resources.declare import Alias, Since, attributes
from calor.server.template import Secret
from calor.server.template.properties import AllowedValues, AttributeSchema, Custom, Kind, Length, Support


@dataclass(frozen=True, kw_only=True)
class KeyPairProps:
    name: Annotated[str, Length(1, 255)]
    save_private_key: bool = False
    public_key: str | None = None
    kind: Annotated[str | None, Alias("type"), AllowedValues("ssh", "x509"), Since("8.0.0")] = None
    user: Annotated[str | None, Custom("keystone.user"), Since("9.0.0")] = None


class KeyPair(ResourceType[KeyPairProps]):
    """A key pair. Its name is its id and the service allows no second one, so the twin is the one we remember to
    have asked for: a private key whose answer was lost is gone, and such a pair is made anew."""

    name, props = "OS::Nova::KeyPair", KeyPairProps
    collection = KEYPAIRS
    support = Support(since="2014.1")
    supports = frozenset({"check"})
    attributes = attributes(public_key=Kind.STRING, private_key=AttributeSchema(kind=Kind.STRING, cached=False))

    async def create(self, at: Context, want: KeyPairProps) -> str:
        if "asked" not in at.me.data:
            taken = await self._exists(at, want.name)
            await at.remember(asked=not taken)
        body = {"name": want.name, "public_key": want.public_key, "type": want.kind, "user_id": want.user}
        record = await at.cloud.create(KEYPAIRS, **present(body))
        if want.save_private_key and record.get("private_key"):
            await at.remember(private_key=record["private_key"])
        return str(record["name"])

    async def settle(self, at: Context, want: KeyPairProps) -> None:
        """The compute service answers when it is there."""

    async def find_twin(self, at: Context, want: KeyPairProps) -> str | None:
        if not at.me.data.get("asked") or not await self._exists(at, want.name):
            return None
        if want.save_private_key and want.public_key is None and not at.me.data.get("private_key"):
            await at.cloud.delete(KEYPAIRS, want.name)
            return None
        return want.name

    async def release(self, at: Context, was: KeyPairProps, want: KeyPairProps | None) -> None:
        """The name. The public half is remembered: with it the pair can be put back."""
        if at.me.data.get("given_up") or (want is not None and want.name != was.name):
            return
        if await self._exists(at, was.name):
            record = await at.cloud.get(KEYPAIRS, was.name)
            await at.remember(public_key=record.get("public_key"))
            await at.cloud.delete(KEYPAIRS, was.name)
        await at.remember(given_up=True)

    async def reclaim(self, at: Context, was: KeyPairProps) -> None:
        if at.me.data.get("given_up") and not await self._exists(at, was.name):
            public = was.public_key or at.me.data.get("public_key")
            body = {"name": was.name, "public_key": public, "type": was.kind, "user_id": was.user}
            await at.cloud.create(KEYPAIRS, **present(body))
        await at.remember(given_up=None)

    async def delete(self, at: Context, was: KeyPairProps | None) -> None:
        if not at.me.data.get("given_up"):  # else the pair of this name is another's
            await super().delete(at, was)

    async def settle_delete(self, at: Context) -> None:
        """The compute service deletes before it answers."""

    async def check(self, at: Context, was: KeyPairProps) -> None:
        if not await self._exists(at, was.name):
            raise ResourceFailed(f"The key pair {was.name} is gone.")

    async def attribute(self, at: Context, was: KeyPairProps, name: str) -> Any:
        if name == "private_key":
            return Secret(at.me.data.get("private_key", ""))
        if name == "public_key" and was.public_key:
            return was.public_key
        record: Mapping[str, Any] = await at.cloud.get(KEYPAIRS, was.name)
        return {**record} if name == "show" else record.get(name)

    async def _exists(self, at: Context, name: str) -> bool:
        try:
            await at.cloud.get(KEYPAIRS, name)
        except CloudMissing:
            return False
        return True
