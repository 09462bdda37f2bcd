"""The driver that runs servers as sandboxes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from calor.server.devcloud.driver import Metadata, PortWiring, RouterWiring, ServerSpec, VolumeWiring


class SandboxDriver:
    """Servers are Linux namespaces over an overlay; see `Driver` for the contract. Needs root (`requirements.missing`).

    ``state_dir`` is the dev cloud's; ``outside`` gives routers a way to the outside world by slirp4netns.
    """

    name = "sandbox"

    def __init__(self, state_dir: Path, *, outside: bool = False) -> None:
        self._state = state_dir
        self._outside = outside

    async def start(self, metadata: Metadata, forwards: Mapping[int, tuple[str, int]]) -> None:
        raise NotImplementedError

    async def stop(self, *, keep: bool) -> None:
        raise NotImplementedError

    async def ensure_network(self, network_id: str, *, external: bool, mtu: int) -> None:
        raise NotImplementedError

    async def remove_network(self, network_id: str) -> None:
        raise NotImplementedError

    async def ensure_router(self, router: RouterWiring) -> None:
        raise NotImplementedError

    async def remove_router(self, router_id: str) -> None:
        raise NotImplementedError

    async def spawn(self, server: ServerSpec) -> None:
        raise NotImplementedError

    async def power_on(self, server: ServerSpec) -> None:
        raise NotImplementedError

    async def power_off(self, server_id: str, *, timeout: float) -> None:
        raise NotImplementedError

    async def reboot(self, server: ServerSpec, *, hard: bool) -> None:
        raise NotImplementedError

    async def rebuild(self, server: ServerSpec) -> None:
        raise NotImplementedError

    async def destroy(self, server_id: str) -> None:
        raise NotImplementedError

    async def is_running(self, server_id: str) -> bool:
        raise NotImplementedError

    async def plug(self, server_id: str, port: PortWiring) -> None:
        raise NotImplementedError

    async def unplug(self, server_id: str, port_id: str) -> None:
        raise NotImplementedError

    async def set_rules(self, server_id: str, port: PortWiring) -> None:
        raise NotImplementedError

    async def attach(self, server_id: str, volume: VolumeWiring) -> None:
        raise NotImplementedError

    async def detach(self, server_id: str, volume_id: str) -> None:
        raise NotImplementedError

    async def console(self, server_id: str, lines: int | None) -> str:
        raise NotImplementedError

    def describe(self) -> Mapping[str, Any]:
        raise NotImplementedError
