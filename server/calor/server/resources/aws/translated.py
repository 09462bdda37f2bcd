"""Types of CloudFormation that are types of OpenStack by other words."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

from calor.server.resources.base import Context, ResourceType

P = TypeVar("P")
N = TypeVar("N")


class Translated(ResourceType[P], Generic[P, N]):
    """All that it does is done by the native type, with the properties by its words.

    ``renamed`` says which native property a property that may be updated is.
    """

    native: ClassVar[ResourceType[Any]]
    renamed: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def translated(self, want: P) -> N:
        """The native type's properties. Pure."""

    def _perhaps(self, want: P | None) -> N | None:
        return None if want is None else self.translated(want)

    async def create(self, at: Context, want: P) -> str | None:
        return await self.native.create(at, self.translated(want))

    async def find_twin(self, at: Context, want: P) -> str | None:
        return await self.native.find_twin(at, self.translated(want))

    async def settle(self, at: Context, want: P) -> None:
        await self.native.settle(at, self.translated(want))

    async def update(self, at: Context, want: P, was: P, changed: frozenset[str]) -> None:
        names = frozenset(self.renamed[name] for name in changed)
        await self.native.update(at, self.translated(want), self.translated(was), names)

    async def release(self, at: Context, was: P, want: P | None) -> None:
        await self.native.release(at, self.translated(was), self._perhaps(want))

    async def reclaim(self, at: Context, was: P) -> None:
        await self.native.reclaim(at, self.translated(was))

    async def delete(self, at: Context, was: P | None) -> None:
        await self.native.delete(at, self._perhaps(was))

    async def settle_delete(self, at: Context) -> None:
        await self.native.settle_delete(at)

    async def check(self, at: Context, was: P) -> None:
        await self.native.check(at, self.translated(was))

    async def suspend(self, at: Context, was: P) -> None:
        await self.native.suspend(at, self.translated(was))

    async def resume(self, at: Context, was: P) -> None:
        await self.native.resume(at, self.translated(was))

    async def attribute(self, at: Context, was: P, name: str) -> Any:
        return await self.native.attribute(at, self.translated(was), name)
