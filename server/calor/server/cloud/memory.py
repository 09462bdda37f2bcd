"""A `Cloud` in memory: collections of records, ready at once. For building and testing resource types."""

import asyncio
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from calor.server.cloud.door import Cloud, Collection, Record
from calor.server.cloud.errors import CloudAmbiguous, CloudFailed, CloudMissing, CloudUncertain

STATUSES = {"server": "ACTIVE", "volume": "available", "network": "ACTIVE", "port": "DOWN", "router": "ACTIVE"}


@dataclass
class MemoryCloud:
    """``lose`` names kinds whose next creation takes effect and whose answer is lost. ``calls`` are those that went
    by ``call``; ``answers`` serve them by (method, end of the path)."""

    project_id: str = "project"
    records: dict[str, dict[str, dict[str, Any]]] = field(default_factory=lambda: defaultdict(dict))
    lose: set[str] = field(default_factory=set)
    calls: list[tuple[str, str, str, Any]] = field(default_factory=list)
    answers: dict[tuple[str, str], Callable[[str, Any], Any]] = field(default_factory=dict)

    async def create(self, of: Collection, **body: Any) -> Record:
        ident = str(body["name"]) if of.single == "keypair" else str(uuid.uuid4())
        record = {"status": STATUSES.get(of.single), **body, "id": ident}
        self.records[of.single][ident] = record
        if of.single in self.lose:
            self.lose.discard(of.single)
            raise CloudUncertain("the connection was lost after the request")
        return dict(record)

    async def get(self, of: Collection, ident: str) -> Record:
        try:
            return dict(self.records[of.single][ident])
        except KeyError:
            raise CloudMissing(f"No {of.single} {ident}", code=404) from None

    async def find(self, of: Collection, name_or_id: str) -> Record | None:
        found = [one for one in self.records[of.single].values() if name_or_id in (one["id"], one.get("name"))]
        if len(found) > 1:
            raise CloudAmbiguous(f"{len(found)} {of.plural} have the name {name_or_id!r}; give the id instead.")
        return dict(found[0]) if found else None

    async def list(self, of: Collection, **query: Any) -> list[Record]:
        wanted = {key: str(value).strip("^$") for key, value in query.items()}
        return [
            dict(one)
            for one in self.records[of.single].values()
            if all(str(one.get(key)) == value for key, value in wanted.items())
        ]

    async def update(self, of: Collection, ident: str, **body: Any) -> Record:
        await self.get(of, ident)
        self.records[of.single][ident].update(body)
        return await self.get(of, ident)

    async def delete(self, of: Collection, ident: str) -> bool:
        return self.records[of.single].pop(ident, None) is not None

    async def call(self, service: str, method: str, /, *args: Any, **kwargs: Any) -> Any:
        path = str(args[0]) if args else ""
        self.calls.append((service, method, path, kwargs.get("json")))
        for (verb, end), answer in self.answers.items():
            if verb == method and path.endswith(end):
                return answer(path, kwargs.get("json"))
        return {}

    async def settled(self, of: Collection, ident: str, *, ready: frozenset[str], failed: frozenset[str]) -> Record:
        while True:
            record = await self.get(of, ident)
            status = str(record.get("status")).upper()
            if status in ready:
                return record
            if status in failed:
                raise CloudFailed(f'Went to status {status} due to "{record.get("fault", "Unknown")}"')
            await asyncio.sleep(0.01)

    async def gone(self, of: Collection, ident: str, *, failed: frozenset[str] = frozenset()) -> None:
        if ident in self.records[of.single]:
            raise CloudFailed(f"The {of.single} {ident} was not asked to go.")

    async def listed(self, service: str, path: str, *, fresh: bool) -> Mapping[str, Record]:
        await asyncio.sleep(0 if fresh else 0.01)
        return {str(one["name"]): one for one in await self.call(service, "get", path) or ()}

    async def endpoint(self, service_type: str, *, region: str | None = None) -> str:
        if region not in (None, "RegionOne"):
            raise CloudMissing(f"The catalog has no endpoint of type {service_type} in region {region}.")
        return f"http://192.0.2.1/{service_type}"


def as_cloud(cloud: MemoryCloud) -> Cloud:
    """That it is one, checked by mypy."""
    return cloud
