"""The driver that runs nothing: every request is granted and remembered. What `calor dev` uses without root."""

from collections.abc import Mapping
from typing import Any

from calor.server.devcloud.driver import DriverError, Metadata, PortWiring, RouterWiring, ServerSpec, VolumeWiring


class RecordDriver:
    """Keeps what it was told, so that tests can look at the wanted world."""

    name = "record"

    def __init__(self) -> None:
        self.running: dict[str, bool] = {}
        self.frozen: set[str] = set()
        self.specs: dict[str, ServerSpec] = {}
        self.networks: dict[str, tuple[bool, int]] = {}
        self.routers: dict[str, RouterWiring] = {}
        self.ports: dict[str, PortWiring] = {}
        self.volumes: dict[str, set[str]] = {}
        self.refuse: str | None = None
        self.metadata: Metadata | None = None

    async def start(self, metadata: Metadata, forwards: Mapping[int, tuple[str, int]]) -> None:
        self.metadata = metadata

    async def stop(self, *, keep: bool) -> None:
        if not keep:
            self.running.clear()

    async def ensure_network(self, network_id: str, *, external: bool, mtu: int) -> None:
        self.networks[network_id] = (external, mtu)

    async def remove_network(self, network_id: str) -> None:
        self.networks.pop(network_id, None)

    async def ensure_router(self, router: RouterWiring) -> None:
        self.routers[router.router_id] = router

    async def remove_router(self, router_id: str) -> None:
        self.routers.pop(router_id, None)

    async def spawn(self, server: ServerSpec) -> None:
        if self.refuse is not None:
            raise DriverError(self.refuse)
        self.specs[server.id] = server
        self.running[server.id] = True
        for port in server.ports:
            await self.plug(server.id, port)
        for volume in server.volumes:
            await self.attach(server.id, volume)

    async def power_on(self, server: ServerSpec) -> None:
        self.specs[server.id] = server
        self.running[server.id] = True

    async def power_off(self, server_id: str, *, timeout: float) -> None:
        self.running[server_id] = False

    async def freeze(self, server_id: str) -> None:
        self.frozen.add(server_id)

    async def thaw(self, server_id: str) -> None:
        self.frozen.discard(server_id)

    async def reboot(self, server: ServerSpec, *, hard: bool) -> None:
        await self.power_on(server)

    async def rebuild(self, server: ServerSpec) -> None:
        await self.spawn(server)

    async def destroy(self, server_id: str) -> None:
        spec = self.specs.pop(server_id, None)
        self.running.pop(server_id, None)
        self.volumes.pop(server_id, None)
        for port in spec.ports if spec else ():
            self.ports.pop(port.port_id, None)

    async def is_running(self, server_id: str) -> bool:
        return self.running.get(server_id, False)

    async def plug(self, server_id: str, port: PortWiring) -> None:
        self.ports[port.port_id] = port

    async def unplug(self, server_id: str, port_id: str) -> None:
        self.ports.pop(port_id, None)

    async def set_rules(self, server_id: str, port: PortWiring) -> None:
        self.ports[port.port_id] = port

    async def attach(self, server_id: str, volume: VolumeWiring) -> None:
        self.volumes.setdefault(server_id, set()).add(volume.volume_id)

    async def detach(self, server_id: str, volume_id: str) -> None:
        self.volumes.get(server_id, set()).discard(volume_id)

    async def console(self, server_id: str, lines: int | None) -> str:
        return "This server is a record: nothing runs, so there is no console output.\n"

    def describe(self) -> Mapping[str, Any]:
        return {
            "hypervisor_type": "record",
            "is": "Records of servers: their state changes as asked.",
            "is_not": "No machine: no user-data is executed, nothing answers at an address. Root gets real sandboxes.",
        }
