"""What a server can be asked for."""

from collections.abc import Mapping, Sequence
from typing import Any

from calor.server.cloud.door import Record
from calor.server.cloud.errors import CloudError
from calor.server.resources.base import Context
from calor.server.resources.collections import PORTS, SERVERS
from calor.server.resources.declare import Deprecated, Hidden, Since, attributes
from calor.server.template.properties import AttributeSchema, Kind

ATTRIBUTES = attributes(
    name=Kind.STRING,
    addresses=AttributeSchema(kind=Kind.MAP, support=Since("11.0.0")),
    networks=Kind.MAP,
    first_address=AttributeSchema(support=Hidden("5.0.0", "Use networks instead.")),
    instance_name=Kind.STRING,
    accessIPv4=AttributeSchema(kind=Kind.STRING, support=Deprecated("14.0.0")),
    accessIPv6=AttributeSchema(kind=Kind.STRING, support=Deprecated("14.0.0")),
    console_urls=AttributeSchema(kind=Kind.MAP, support=Since("2015.1")),
    os_collect_config=AttributeSchema(kind=Kind.MAP, cached=False, support=Since("9.0.0")),
    tags=AttributeSchema(kind=Kind.LIST, support=Since("8.0.0")),
)
CONSOLES: Mapping[str, str] = {
    "novnc": "vnc",
    "xvpvnc": "vnc",
    "spice-html5": "spice",
    "rdp-html5": "rdp",
    "serial": "serial",
    "webmks": "mks",
}


async def attribute(at: Context, name: str) -> Any:
    if name == "os_collect_config":
        return at.me.metadata.get("os-collect-config") or {}
    if not at.me.physical_id:
        return None
    if name == "console_urls":
        return {kind: await _console(at, kind, protocol) for kind, protocol in CONSOLES.items()}
    record = await at.cloud.get(SERVERS, at.me.physical_id)
    if name == "addresses":
        return await addresses(at, record)
    if name == "networks":
        return networks(record, await _ports(at))
    if name == "first_address":
        return first_address(record)
    if name == "instance_name":
        return record.get("OS-EXT-SRV-ATTR:instance_name")
    return dict(record) if name == "show" else record.get(name)


def first_address(record: Record) -> str:
    """The first address that the compute service lists, empty if there is none."""
    return next((str(one["addr"]) for group in (record.get("addresses") or {}).values() for one in group), "")


def networks(record: Record, ports: Sequence[Record]) -> dict[str, list[str]]:
    """Addresses by the network's name, and again by its id."""
    by_name = {name: [str(one["addr"]) for one in group] for name, group in (record.get("addresses") or {}).items()}
    by_mac = {str(port["mac_address"]): str(port["network_id"]) for port in ports}
    by_id = {
        by_mac[str(one.get("OS-EXT-IPS-MAC:mac_addr"))]: by_name[name]
        for name, group in (record.get("addresses") or {}).items()
        for one in group
        if str(one.get("OS-EXT-IPS-MAC:mac_addr")) in by_mac
    }
    return {**by_name, **by_id}


async def addresses(at: Context, record: Record) -> dict[str, Any]:
    """The service's own map with each address's port, under the network's name and its id."""
    ports = {str(port["mac_address"]): port for port in await _ports(at)}
    answer: dict[str, Any] = {}
    for name, group in (record.get("addresses") or {}).items():
        entries = []
        for one in group:
            port = ports.get(str(one.get("OS-EXT-IPS-MAC:mac_addr")))
            entries.append({**one, "port": None if port is None else port["id"]})
            if port is not None:
                answer[str(port["network_id"])] = entries
        answer[name] = entries
    return answer


async def _ports(at: Context) -> Sequence[Record]:
    return await at.cloud.list(PORTS, device_id=at.me.physical_id)


async def _console(at: Context, kind: str, protocol: str) -> str:
    body = {"remote_console": {"protocol": protocol, "type": kind}}
    try:
        answer = await at.cloud.call(
            "compute", "post", f"/servers/{at.me.physical_id}/remote-consoles", json=body, microversion="2.8"
        )
    except CloudError as exc:
        return exc.detail
    return str(answer["remote_console"]["url"])
