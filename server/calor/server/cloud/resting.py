"""How a collection looks over HTTP: its path, the keys around its objects, its pages. The SDK knows; we ask it."""

import functools
import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from openstack import resource as sdk_resource

MODULES: Mapping[str, str] = {
    "compute": "openstack.compute.v2._proxy",
    "network": "openstack.network.v2._proxy",
    "block_storage": "openstack.block_storage.v3._proxy",
    "image": "openstack.image.v2._proxy",
    "identity": "openstack.identity.v3._proxy",
    "dns": "openstack.dns.v2._proxy",
    "load_balancer": "openstack.load_balancer.v2._proxy",
    "key_manager": "openstack.key_manager.v1._proxy",
}
HAS_DETAIL = frozenset({"servers", "flavors", "volumes", "snapshots", "backups"})
FILTERS_BY_NAME = frozenset({"network", "image", "identity", "compute/server", "block_storage/volume"})
NAMED_BY_ID = frozenset({"keypair"})
"""Objects whose id is their name."""
UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True)
class Shape:
    """One collection."""

    path: str
    single_key: str | None
    plural_key: str
    update_verb: str
    filters_by_name: bool
    named_by_id: bool

    def at(self, ident: str) -> str:
        return f"{self.path}/{quote(ident, safe='')}"

    def listing(self, detailed: bool) -> str:
        return f"{self.path}/detail" if detailed and self.plural_key in HAS_DETAIL else self.path

    def looks_like_id(self, text: str) -> bool:
        return self.named_by_id or UUID.fullmatch(text) is not None

    def wrapped(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The request body. A key with a colon in front stands beside the object: ``:OS-SCH-HNT:scheduler_hints``."""
        if self.single_key is None:
            return dict(body)
        beside = {key[1:]: value for key, value in body.items() if key.startswith(":")}
        inside = {key: value for key, value in body.items() if not key.startswith(":")}
        return {self.single_key: inside, **beside}

    def one(self, body: Any) -> dict[str, Any]:
        record = body.get(self.single_key, body) if isinstance(body, Mapping) and self.single_key else body
        return self._named(record) if isinstance(record, Mapping) else {}

    def many(self, body: Any) -> list[dict[str, Any]]:
        records = body.get(self.plural_key, []) if isinstance(body, Mapping) else []
        return [self.one(record) for record in records]

    def next_page(self, body: Any) -> str | None:
        """The path of the next page, as the services give it: in a list of links, in ``links`` or in ``next``."""
        if not isinstance(body, Mapping):
            return None
        links = body.get(f"{self.plural_key}_links") or body.get("links") or []
        if isinstance(links, Mapping):
            return _from_version(links.get("next"))
        given = next((link["href"] for link in links if link.get("rel") == "next"), body.get("next"))
        return _from_version(given)

    def _named(self, record: Mapping[str, Any]) -> dict[str, Any]:
        return {**record, "id": record["name"]} if self.named_by_id and "name" in record else dict(record)


@functools.cache
def shape_of(service: str, single: str) -> Shape:
    """Raises KeyError for what the SDK does not know: a mistake in a type's declaration."""
    proxy = importlib.import_module(MODULES[service]).Proxy
    kind = proxy._resource_registry[single]
    path = kind.base_path
    return Shape(
        path=path,
        single_key=kind.resource_key,
        plural_key=kind.resources_key or path.rpartition("/")[2],
        update_verb=kind.commit_method,
        filters_by_name=bool({service, f"{service}/{single}"} & FILTERS_BY_NAME),
        named_by_id=single in NAMED_BY_ID,
    )


def _from_version(url: str | None) -> str | None:
    """A link may name another host than the one we reach: only its path behind the version counts."""
    if not url:
        return None
    parts = urlsplit(url)
    path = re.sub(r"^.*?/v\d+(\.\d+)?(?=/|$)", "", parts.path)
    return f"{path}?{parts.query}" if parts.query else path


def plain(value: Any) -> Any:
    """What an SDK method gave, as plain values with the services' own names."""
    if isinstance(value, sdk_resource.Resource):
        return value.to_dict(original_names=True, computed=False)
    if isinstance(value, Iterator | list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return value
