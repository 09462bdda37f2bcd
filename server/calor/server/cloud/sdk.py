"""The real door: openstacksdk in a bounded thread pool.

Objects are read and written as the services' own JSON. The SDK gives sessions, catalog, version discovery, and each
collection's path and keys; its attribute names stay out, so that a property we do not know still gets through.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import openstack.connection
from keystoneauth1 import adapter
from openstack import utils as sdk_utils

from calor.server.cloud import trusts
from calor.server.cloud.credentials import Credentials
from calor.server.cloud.door import Cloud, Collection, Delegator, Record
from calor.server.cloud.errors import CloudAmbiguous, CloudError, CloudFailed, CloudMissing
from calor.server.cloud.faults import SDK_ERRORS, Answer, ConnectionLost, NotSent, answer_of, translated
from calor.server.cloud.resting import Shape, plain, shape_of
from calor.server.cloud.retries import Retries, Throttle
from calor.server.cloud.sessions import Sessions, key_of
from calor.server.cloud.settings import CloudSettings
from calor.server.cloud.watches import Listing, Watches

T = TypeVar("T")

Records = list[Record]
VERBS = frozenset({"get", "head", "put", "patch", "delete", "post"})
GONE_STATES = frozenset({"DELETED", "SOFT_DELETED"})


@dataclass
class Traffic:
    """What all clouds of a door share: threads, retries, throttles, watches, and the count of calls by service."""

    settings: CloudSettings
    sessions: Sessions
    threads: ThreadPoolExecutor
    retries: Retries
    watches: Watches
    calls: Counter[str] = field(default_factory=Counter)
    throttles: dict[str, Throttle] = field(default_factory=dict)

    def throttle(self, service: str) -> Throttle:
        return self.throttles.setdefault(service, Throttle(self.settings.threads))

    async def threaded(self, service: str, work: Callable[[], T]) -> T:
        """Run blocking SDK code in a thread. Raises `CloudError`s only."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self.threads, work)
        except SDK_ERRORS as exc:
            raise translated(exc, service) from exc


class SdkCloud:
    """One project with one set of credentials (`door.Cloud`)."""

    def __init__(self, traffic: Traffic, credentials: Credentials) -> None:
        self._traffic = traffic
        self._credentials = credentials

    @property
    def project_id(self) -> str:
        return self._credentials.project_id

    async def create(self, of: Collection, **body: Any) -> Record:
        microversion = body.pop("microversion", of.microversion)
        shape = self._shape(of)
        answer = await self._send(
            of.service, "POST", shape.path, json=shape.wrapped(body), microversion=microversion, repeatable=False
        )
        return shape.one(answer.body)

    async def get(self, of: Collection, ident: str) -> Record:
        shape = self._shape(of)
        answer = await self._send(of.service, "GET", shape.at(ident), microversion=of.microversion)
        return shape.one(answer.body)

    async def find(self, of: Collection, name_or_id: str) -> Record | None:
        shape = self._shape(of)
        if shape.looks_like_id(name_or_id):
            try:
                return await self.get(of, name_or_id)
            except CloudMissing:
                if shape.named_by_id:
                    return None
        records = await self.list(of, **({"name": name_or_id} if shape.filters_by_name else {}))
        found = [record for record in records if record.get("name") == name_or_id]
        own = [record for record in found if owner(record) == self.project_id]
        if len(own or found) > 1:
            raise CloudAmbiguous(f"{len(own or found)} {of.plural} have the name {name_or_id!r}; give the id instead.")
        if found:
            return (own or found)[0]
        return None if shape.looks_like_id(name_or_id) else await self._by_odd_id(of, name_or_id)

    async def list(self, of: Collection, **query: Any) -> list[Record]:
        shape = self._shape(of)
        records: list[Record] = []
        path: str | None = shape.listing(of.detailed)
        params: Mapping[str, Any] | None = query
        while path is not None:
            answer = await self._send(of.service, "GET", path, params=params, microversion=of.microversion)
            records += shape.many(answer.body)
            path, params = shape.next_page(answer.body), None
        return records

    async def update(self, of: Collection, ident: str, **body: Any) -> Record:
        shape = self._shape(of)
        answer = await self._send(
            of.service, shape.update_verb, shape.at(ident), json=shape.wrapped(body), microversion=of.microversion
        )
        return shape.one(answer.body)

    async def delete(self, of: Collection, ident: str) -> bool:
        try:
            await self._send(of.service, "DELETE", self._shape(of).at(ident), microversion=of.microversion)
        except CloudMissing:
            return False
        return True

    async def call(self, service: str, method: str, /, *args: Any, **kwargs: Any) -> Any:
        if method in VERBS:
            repeatable = method not in {"post", "patch"}
            answer = await self._send(service, method.upper(), *args, repeatable=repeatable, **kwargs)
            return answer.headers if method == "head" else answer.body
        self._traffic.calls[service] += 1
        connection = self._connection()
        return await self._traffic.threaded(
            service, lambda: plain(getattr(getattr(connection, service), method)(*args, **kwargs))
        )

    async def settled(self, of: Collection, ident: str, *, ready: frozenset[str], failed: frozenset[str]) -> Record:
        fresh = True
        while True:
            listing = await self._next(of, fresh)
            fresh = False
            record = listing.get(ident) or await self.get(of, ident)
            status = str(record.get("status", "")).upper()
            if status in ready:
                return record
            if status in failed:
                raise CloudFailed(await self._fault_text(of, record))

    async def gone(self, of: Collection, ident: str, *, failed: frozenset[str] = frozenset()) -> None:
        fresh = True
        while True:
            listing = await self._next(of, fresh)
            fresh = False
            record = listing.get(ident)
            if record is None or str(record.get("status", "")).upper() in GONE_STATES:
                return
            if str(record.get("status", "")).upper() in failed:
                raise CloudFailed(await self._fault_text(of, record))

    async def listed(self, service: str, path: str, *, fresh: bool) -> Listing:
        return await self._watched((service, path), lambda: self._named(service, path), fresh)

    async def endpoint(self, service_type: str, *, region: str | None = None) -> str:
        settings = self._traffic.settings
        connection = self._connection()
        wanted = region or self._credentials.region or settings.region
        url = await self._traffic.threaded(
            service_type,
            lambda: connection.session.get_endpoint(
                service_type=service_type, interface=settings.interface, region_name=wanted
            ),
        )
        if not url:
            where = f" in region {wanted}" if wanted else ""
            raise CloudMissing(f"The catalog has no endpoint of type {service_type}{where}.")
        return str(url)

    async def _next(self, of: Collection, fresh: bool) -> Listing:
        return await self._watched(of, lambda: self.list(of), fresh)

    async def _named(self, service: str, path: str) -> Records:
        """All pages of a plain JSON listing whose items have names."""
        records: Records = []
        while True:
            params = {"format": "json", **({"marker": records[-1]["name"]} if records else {})}
            page = (await self._send(service, "GET", path, params=params)).body
            if not isinstance(page, list) or not page:
                return [{**record, "id": record["name"]} for record in records]
            records += page

    async def _watched(self, what: Hashable, listing: Callable[[], Awaitable[Records]], fresh: bool) -> Listing:
        """The watch's next listing. A service that is down for a while is waited for: what it was asked to do goes on
        without us."""
        until = asyncio.get_running_loop().time() + self._traffic.settings.patience
        while True:
            try:
                watch = self._traffic.watches.on((key_of(self._credentials), what), listing)
                return await watch.next(fresh=fresh)
            except CloudError as exc:
                passes = isinstance(exc, NotSent | ConnectionLost) or exc.code >= 500
                if not passes or asyncio.get_running_loop().time() > until:
                    raise

    def _connection(self) -> openstack.connection.Connection:
        return self._traffic.sessions.open(self._credentials)

    def _shape(self, of: Collection) -> Shape:
        return shape_of(of.service, of.single)

    async def _by_odd_id(self, of: Collection, ident: str) -> Record | None:
        try:
            return await self.get(of, ident)
        except CloudMissing:
            return None

    async def _fault_text(self, of: Collection, record: Record) -> str:
        fault = record.get("fault") or (await self.get(of, str(record["id"]))).get("fault") or {}
        said = f"Message: {fault['message']}, Code: {fault.get('code', '')}" if fault.get("message") else "Unknown"
        return f'Went to status {str(record["status"]).upper()} due to "{said}"'

    async def _send(
        self,
        service: str,
        method: str,
        path: str,
        *,
        json: Any = None,
        params: Mapping[str, Any] | None = None,
        microversion: str | None = None,
        repeatable: bool = True,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> Answer:
        traffic = self._traffic
        connection = self._connection()

        def request() -> Answer:
            proxy = getattr(connection, service)
            spoken = sdk_utils.maximum_supported_microversion(proxy, microversion)
            # keystoneauth's own request: the SDK's proxy adds metrics that nobody reads
            response = adapter.Adapter.request(
                proxy,
                path,
                method,
                raise_exc=False,
                json=json,
                params=params or None,
                microversion=spoken,
                headers={"Accept": "application/json", **(headers or {})},
                **more,
            )
            return answer_of(response)

        async def send() -> Answer:
            traffic.calls[service] += 1
            return await traffic.threaded(service, request)

        return await traffic.retries.run(
            send, service=service, repeatable=repeatable, throttle=traffic.throttle(service)
        )


class SdkDoor:
    """Opens clouds (`door.CloudDoor`). Make it inside a running event loop; close it there."""

    def __init__(self, settings: CloudSettings) -> None:
        self.settings = settings
        self._traffic = Traffic(
            settings=settings,
            sessions=Sessions(settings),
            threads=ThreadPoolExecutor(settings.threads, thread_name_prefix="cloud"),
            retries=Retries(attempts=settings.retries, patience=settings.patience),
            watches=Watches(settings.watch_fastest, settings.watch_slowest),
        )

    @property
    def calls(self) -> Mapping[str, int]:
        """How many calls each service has had."""
        return self._traffic.calls

    def open(self, credentials: Credentials) -> Cloud:
        return SdkCloud(self._traffic, credentials)

    async def delegate(self, caller: Delegator) -> Credentials:
        return await self._traffic.threaded(
            "identity", lambda: trusts.delegate(self._traffic.sessions, self.settings, caller)
        )

    async def revoke(self, credentials: Credentials) -> None:
        await self._traffic.threaded(
            "identity", lambda: trusts.revoke(self._traffic.sessions, self.settings, credentials)
        )
        self._traffic.sessions.forget(credentials)

    async def close(self) -> None:
        self._traffic.watches.stop()
        await asyncio.to_thread(self._traffic.threads.shutdown, cancel_futures=True)
        self._traffic.sessions.close()


def owner(record: Record) -> str | None:
    return record.get("project_id") or record.get("tenant_id") or record.get("owner")
