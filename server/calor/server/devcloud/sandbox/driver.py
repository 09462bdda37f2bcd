"""The driver that runs servers on this machine: as sandboxes, and as VMs those whose image is a disk."""

import asyncio
import contextlib
import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from calor.server.devcloud.driver import DriverError, Metadata, PortWiring, RouterWiring, ServerSpec, VolumeWiring
from calor.server.devcloud.qemu import disks
from calor.server.devcloud.qemu import requirements as qemu_requirements
from calor.server.devcloud.qemu.vm import VirtualMachine
from calor.server.devcloud.sandbox import limits, namespaces, records, requirements
from calor.server.devcloud.sandbox.guest_services import GuestServices
from calor.server.devcloud.sandbox.networks import Networks
from calor.server.devcloud.sandbox.routers import Routers
from calor.server.devcloud.sandbox.servers import Server

_CONSOLE_INTERVAL = 10.0  # seconds
_SOFT_REBOOT = 30.0  # seconds until a server that does not end by itself is forced
log = logging.getLogger(__name__)


class SandboxDriver:
    """Servers are Linux namespaces over an overlay, or VMs; see `Driver` for the contract. Needs root
    (`requirements.missing`).

    ``state_dir`` is the dev cloud's: servers lie in ``servers/<id>/``, namespaces are named in ``run/netns/``. With
    ``only_vms`` no server is a sandbox.
    """

    def __init__(self, state_dir: Path, *, only_vms: bool = False) -> None:
        self.name = "qemu" if only_vms else "sandbox"
        self._only_vms = only_vms
        self._servers_dir = state_dir.resolve() / "servers"
        self._namespaces = state_dir.resolve() / "run" / "netns"
        self._networks = Networks(self._namespaces)
        self._routers = Routers(self._namespaces, self._networks)
        self._network_locks: dict[str, asyncio.Lock] = {}
        self._servers: dict[str, Server | VirtualMachine] = {}
        self._services: GuestServices | None = None
        self._trimming: asyncio.Task[None] | None = None

    async def start(self, metadata: Metadata, forwards: Mapping[int, tuple[str, int]]) -> None:
        """Raises `DriverError` with what is missing where this machine cannot run sandboxes."""
        problems = requirements.missing() + (qemu_requirements.missing() if self._only_vms else [])
        if problems:
            raise DriverError(" ".join(problems))
        self._services = GuestServices(self._namespaces, metadata, forwards)
        self._servers_dir.mkdir(parents=True, exist_ok=True)
        for folder in sorted(self._servers_dir.iterdir()):
            await self._server(folder.name).find()
        self._trimming = asyncio.create_task(self._trim_consoles())

    async def stop(self, *, keep: bool) -> None:
        if self._trimming is not None:
            self._trimming.cancel()
            await asyncio.gather(self._trimming, return_exceptions=True)
        problems: list[BaseException] = []
        if not keep:
            problems = await self._remove_everything()
        for server in self._servers.values():
            await server.let_go()
        if self._services is not None:
            await self._services.close_all()
        self._servers.clear()
        if problems:
            raise problems[0]

    async def ensure_network(self, network_id: str, *, external: bool, mtu: int) -> None:
        async with self._lock(network_id):
            await self._networks.ensure(network_id, external=external, mtu=mtu)

    async def remove_network(self, network_id: str) -> None:
        async with self._lock(network_id):
            await self._networks.remove(network_id)

    async def ensure_router(self, router: RouterWiring) -> None:
        async with self._lock(router.router_id):
            await self._routers.ensure(router)

    async def remove_router(self, router_id: str) -> None:
        async with self._lock(router_id):
            await self._routers.remove(router_id)

    async def spawn(self, server: ServerSpec) -> None:
        await self.power_on(server)

    async def power_on(self, server: ServerSpec) -> None:
        one = self._server(server.id, server)
        async with one.lock:
            await one.boot(server)

    async def power_off(self, server_id: str, *, timeout: float) -> None:
        one = self._server(server_id)
        async with one.lock:
            await one.end(timeout)

    async def freeze(self, server_id: str) -> None:
        one = self._server(server_id)
        async with one.lock:
            await one.freeze()

    async def thaw(self, server_id: str) -> None:
        one = self._server(server_id)
        async with one.lock:
            await one.thaw()

    async def reboot(self, server: ServerSpec, *, hard: bool) -> None:
        one = self._server(server.id)
        async with one.lock:
            await one.end(0 if hard else _SOFT_REBOOT)
            await one.boot(server)

    async def rebuild(self, server: ServerSpec) -> None:
        one = self._server(server.id)
        async with one.lock:
            await one.end(0)
            await one.forget_disk()
        one = self._server(server.id, server)  # the new image may be of the other kind
        async with one.lock:
            await one.boot(server)

    async def destroy(self, server_id: str) -> None:
        one = self._server(server_id)
        async with one.lock:
            await one.destroy()
        self._servers.pop(server_id, None)

    async def is_running(self, server_id: str) -> bool:
        return server_id in self._servers and self._servers[server_id].running is not None

    async def plug(self, server_id: str, port: PortWiring) -> None:
        one = self._server(server_id)
        async with one.lock:
            await one.plug(port)

    async def unplug(self, server_id: str, port_id: str) -> None:
        one = self._server(server_id)
        async with one.lock:
            await one.unplug(port_id)

    async def set_rules(self, server_id: str, port: PortWiring) -> None:
        one = self._server(server_id)
        async with one.lock:
            await one.set_rules(port)

    async def attach(self, server_id: str, volume: VolumeWiring) -> None:
        one = self._server(server_id)
        async with one.lock:
            await one.attach(volume)

    async def detach(self, server_id: str, volume_id: str) -> None:
        one = self._server(server_id)
        async with one.lock:
            await one.detach(volume_id)

    async def console(self, server_id: str, lines: int | None) -> str:
        return self._server(server_id).console(lines)

    def describe(self) -> Mapping[str, Any]:
        limited = limits.available()
        return {
            "driver": self.name,
            "hypervisor_type": "sandbox",
            "limits": limited,
            "is": "Linux namespaces over an overlay: real cloud-init, real networks, one kernel for all. "
            + self._about_vms(),
            "is_not": "Sandboxes: no VM and no boundary against a hostile root; no systemd, nothing can be mounted."
            + (
                "" if limited else " Memory and processes are not limited: this machine's control groups are read-only."
            ),
        }

    def _about_vms(self) -> str:
        if qemu_requirements.missing():
            return "Images that are disks need QEMU, which is not installed."
        return f"Images that are disks (qcow2, raw) run as VMs ({qemu_requirements.accelerator()})."

    async def _remove_everything(self) -> list[BaseException]:
        """What cannot be removed does not keep the rest."""
        endings = (self.destroy(server_id) for server_id in list(self._servers))
        results = await asyncio.gather(*endings, return_exceptions=True)
        for path in sorted(self._namespaces.glob("*")):
            namespaces.remove(path)
        shutil.rmtree(self._namespaces, ignore_errors=True)
        return [each for each in results if isinstance(each, BaseException)]

    def _server(self, server_id: str, spec: ServerSpec | None = None) -> Server | VirtualMachine:
        """The server of that id; its kind is the image's where that is told, else what its last boot was."""
        if self._services is None:
            raise DriverError("The sandbox driver has not been started.")
        if Path(server_id).name != server_id or server_id.startswith("."):
            raise DriverError(f"{server_id!r} cannot be the id of a server.")
        known = self._servers.get(server_id)
        folder = self._servers_dir / server_id
        kind = _kind_of(folder) if spec is None else self._kind(spec)
        if known is None or (spec is not None and known.kind != kind and known.running is None):
            make = VirtualMachine if kind == VirtualMachine.kind else Server
            known = self._servers[server_id] = make(server_id, folder, self._networks, self._services)
        return known

    def _kind(self, spec: ServerSpec) -> str:
        if disks.source(spec) is not None or (spec.image_path is None and spec.volumes):
            return VirtualMachine.kind
        if self._only_vms:
            raise DriverError("This dev cloud runs VMs only (--driver qemu), and the image is no disk (qcow2, raw).")
        return Server.kind

    def _lock(self, name: str) -> asyncio.Lock:
        return self._network_locks.setdefault(name, asyncio.Lock())

    async def _trim_consoles(self) -> None:
        while True:
            await asyncio.sleep(_CONSOLE_INTERVAL)
            for server in list(self._servers.values()):
                with contextlib.suppress(OSError):  # the server is being removed
                    server.trim_console()


def _kind_of(folder: Path) -> str:
    """By what a server has left on disk; a sandbox where nothing says otherwise."""
    if (running := records.load(folder / "running.json")) is not None:
        return running.kind
    return VirtualMachine.kind if (folder / "disk" / "root.qcow2").exists() else Server.kind
