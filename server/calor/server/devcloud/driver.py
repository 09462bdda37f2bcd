"""What the embedded cloud asks of the thing that runs its servers and networks.

Two implementations: ``sandbox`` (namespaces on this machine, as root) and ``record`` (nothing runs). The APIs keep
the records (in the cloud's database) and are the truth; a driver is told the wanted state again after a
restart and makes the world agree with it. Every method is idempotent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True, kw_only=True)
class FixedIp:
    address: str
    prefix: int
    gateway: str | None
    dns: Sequence[str] = ()
    routes: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One security group rule, resolved. ``remotes`` are CIDRs (a remote group's members as /32 and /128)."""

    direction: str  # ingress | egress
    ethertype: str  # IPv4 | IPv6
    protocol: str | None
    port_min: int | None
    port_max: int | None
    remotes: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class PortWiring:
    """A port as plugged into a server. ``rules`` is None where port security is off."""

    port_id: str
    network_id: str
    mac: str
    fixed_ips: Sequence[FixedIp]
    mtu: int
    rules: Sequence[Rule] | None
    allowed_pairs: Sequence[tuple[str, str]] = ()  # (CIDR or address, MAC)


@dataclass(frozen=True, kw_only=True)
class RouterWiring:
    """A router: its legs, static routes, source NAT and floating IPs."""

    router_id: str
    legs: Sequence[tuple[str, str, int]]  # (network id, address, prefix)
    external: tuple[str, str, int] | None  # (network id, address, prefix)
    snat: bool
    floating: Sequence[tuple[str, str]]  # (floating address, fixed address)
    routes: Sequence[tuple[str, str]]  # (destination, next hop)


@dataclass(frozen=True, kw_only=True)
class VolumeWiring:
    """An attached volume: a sparse file that the server sees as a disk."""

    volume_id: str
    path: Path
    device: str


@dataclass(frozen=True, kw_only=True)
class ServerSpec:
    """All that a server is made of. ``files`` come from the create call (path, content)."""

    id: str
    name: str
    hostname: str
    image_id: str
    image_path: Path | None
    image_properties: Mapping[str, str]
    image_format: str | None = None
    """Glance's disk format of an uploaded image: qcow2 and raw are booted by a VM."""
    vcpus: int
    ram_mb: int
    disk_gb: int
    key_name: str | None
    public_key: str | None
    admin_pass: str | None
    ports: Sequence[PortWiring]
    volumes: Sequence[VolumeWiring]
    files: Sequence[tuple[str, bytes]] = ()
    created_at: str = ""


@dataclass(frozen=True, kw_only=True)
class GuestDocument:
    """An answer of the metadata service."""

    body: bytes
    content_type: str = "text/plain"


class Metadata(Protocol):
    """The APIs' side of the metadata service (OpenStack and EC2 formats), asked by path per server."""

    def get(self, server_id: str, path: str) -> GuestDocument | None:
        """None is 404. Also serves the vendor data and the password path."""
        ...


class Driver(Protocol):
    """Runs servers. Errors are `DriverError`, whose text becomes the server's fault."""

    name: str

    async def start(self, metadata: Metadata, forwards: Mapping[int, tuple[str, int]]) -> None:
        """Begin: find what still runs. ``forwards``: port at the fixed guest address (`GUEST_API_ADDRESS`) to
        (host, port) on this machine; opened inside every server's namespace."""
        ...

    async def stop(self, *, keep: bool) -> None:
        """End. ``keep``: leave servers running (a restart will find them); else remove everything."""
        ...

    async def ensure_network(self, network_id: str, *, external: bool, mtu: int) -> None: ...
    async def remove_network(self, network_id: str) -> None: ...
    async def ensure_router(self, router: RouterWiring) -> None: ...
    async def remove_router(self, router_id: str) -> None: ...

    async def spawn(self, server: ServerSpec) -> None:
        """Returns when the server's first process runs."""
        ...

    async def power_on(self, server: ServerSpec) -> None: ...
    async def power_off(self, server_id: str, *, timeout: float) -> None: ...
    async def freeze(self, server_id: str) -> None:
        """Everything in it stands still, with its memory (suspend, pause)."""
        ...

    async def thaw(self, server_id: str) -> None: ...
    async def reboot(self, server: ServerSpec, *, hard: bool) -> None: ...
    async def rebuild(self, server: ServerSpec) -> None: ...
    async def destroy(self, server_id: str) -> None: ...
    async def is_running(self, server_id: str) -> bool: ...
    async def plug(self, server_id: str, port: PortWiring) -> None: ...
    async def unplug(self, server_id: str, port_id: str) -> None: ...
    async def set_rules(self, server_id: str, port: PortWiring) -> None: ...
    async def attach(self, server_id: str, volume: VolumeWiring) -> None: ...
    async def detach(self, server_id: str, volume_id: str) -> None: ...
    async def console(self, server_id: str, lines: int | None) -> str: ...
    def describe(self) -> Mapping[str, Any]:
        """For ``calor dev``'s greeting and the hypervisor listing: what runs, what it is and is not."""
        ...


class DriverError(Exception):
    """A server or network could not be made as asked. The text is shown to users."""


GUEST_API_ADDRESS = "169.254.169.253"
"""Where every sandbox finds the APIs (forwarded ports 8004, 8000 and 5000); 169.254.169.254 is the metadata service."""

KNOWN_GUEST_PORTS: Mapping[str, int] = {"orchestration": 8004, "cfn": 8000, "cloud": 5000}
