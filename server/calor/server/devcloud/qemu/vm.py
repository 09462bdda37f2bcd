"""A server that is a virtual machine: boot, end, and what belongs to one boot (ports, volumes, sockets)."""

import json
import logging
import os
import signal
from dataclasses import asdict
from pathlib import Path

from calor.server.devcloud.driver import DriverError, PortWiring, ServerSpec, VolumeWiring
from calor.server.devcloud.qemu import command_line, dhcp, disks, hotplug, links, requirements, starting
from calor.server.devcloud.qemu.command_line import Machine, Nic
from calor.server.devcloud.qemu.qmp import monitor
from calor.server.devcloud.sandbox import records
from calor.server.devcloud.sandbox.guest_services import GuestServices
from calor.server.devcloud.sandbox.hosted import KILL_TIME, Hosted
from calor.server.devcloud.sandbox.networks import Networks
from calor.server.devcloud.sandbox.records import Attached, Plugged, Running

_SLOWNESS = {"kvm": 2, "tcg": 6}
"""How much longer than a sandbox a guest may take to end by itself."""
log = logging.getLogger(__name__)


class VirtualMachine(Hosted):
    """One VM on this machine; to the driver what `sandbox.servers.Server` is."""

    kind = "vm"

    def __init__(self, server_id: str, folder: Path, networks: Networks, services: GuestServices) -> None:
        super().__init__(server_id, folder, networks, services)
        self._namespace = services.namespace(server_id)
        self._leases = links.Leases(self._namespace)

    async def find(self) -> None:
        """After a restart of the cloud: take up a VM that still runs, clean up after one that does not."""
        self._running = records.load(self._record)
        if self._running is None:
            await self._end_unrecorded()
        elif self._running.process.is_alive:
            await self._services.open(self.id)
            for device, lease in self._known_leases().items():
                await self._leases.give(device, lease)
            self._watch_end()
        else:
            await self._clean_up()

    async def boot(self, spec: ServerSpec) -> None:
        """Start it over the disk it has; nothing happens where it runs."""
        if self.running is not None:
            return
        if problems := requirements.missing():
            raise DriverError(" ".join(problems))
        await self._end_unrecorded()
        await self._clean_up()
        self._folder.mkdir(parents=True, exist_ok=True)
        root = None
        if spec.image_path is not None:
            (self._folder / "disk").mkdir(exist_ok=True)
            root = self._folder / "disk" / "root.qcow2"
            await disks.overlay(spec, root)
        taps: list[int] = []
        try:
            nics = await self._wire(spec, taps)
            await self._start(spec, root, nics, taps)
        except BaseException:
            await self._clean_up()
            for port in spec.ports:
                await self._networks.unplug(port.network_id, port.port_id)
            raise
        finally:
            for fd in taps:
                os.close(fd)
        self._watch_end()

    async def end(self, timeout: float) -> None:
        """Power-off: press the button, wait, then pull the plug. Returns when everything of this boot is gone."""
        if (running := self.running) is not None:
            process, ended = running.process, False
            if timeout > 0:
                await self._press_button()
                ended = await process.wait(timeout * _SLOWNESS[requirements.accelerator()])
            if not ended:
                process.signal(signal.SIGKILL)
                if not await process.wait(KILL_TIME):
                    raise DriverError(f"Server {self.id}: QEMU (process {process.pid}) cannot be killed.")
        await self._clean_up()

    async def freeze(self) -> None:
        """Raises `DriverError` where it does not run."""
        if self.running is None:
            raise DriverError(f"Server {self.id} does not run.")
        async with monitor(self._folder) as qemu:
            await qemu.run("stop")

    async def thaw(self) -> None:
        if self.running is not None:
            async with monitor(self._folder) as qemu:
                await qemu.run("cont")

    async def destroy(self) -> None:
        await self._end_unrecorded()
        await super().destroy()

    async def plug(self, port: PortWiring) -> None:
        if (running := self.running) is None or port.port_id in running.ports:
            return
        device = running.free_device()
        self._keep(running.with_port(port.port_id, Plugged(port.network_id, device)))
        fd = await self._connect(port, device, self._hostname())
        try:
            async with monitor(self._folder) as qemu:
                await hotplug.add_nic(qemu, port, fd)
        finally:
            os.close(fd)

    async def unplug(self, port_id: str) -> None:
        if self._running is None or (plugged := self._running.ports.get(port_id)) is None:
            return
        if self._running.process.is_alive:
            async with monitor(self._folder) as qemu:
                await hotplug.remove_nic(qemu, port_id)
        await self._disconnect(port_id, plugged)
        self._keep(self._running.without_port(port_id))

    async def set_rules(self, port: PortWiring) -> None:
        if (running := self.running) is None or (plugged := running.ports.get(port.port_id)) is None:
            return
        await self._networks.set_rules(port)
        await links.point(self._namespace, plugged.device, port)
        await self._lease(plugged.device, port, self._hostname())

    async def attach(self, volume: VolumeWiring) -> None:
        if (running := self.running) is None or volume.volume_id in running.volumes:
            return
        async with monitor(self._folder) as qemu:
            await hotplug.add_volume(qemu, volume)
        self._keep(running.with_volume(volume.volume_id, _attached(volume)))

    async def detach(self, volume_id: str) -> None:
        if self._running is None or volume_id not in self._running.volumes:
            return
        if self._running.process.is_alive:
            async with monitor(self._folder) as qemu:
                await hotplug.remove_volume(qemu, volume_id)
        self._keep(self._running.without_volume(volume_id))

    async def let_go(self) -> None:
        self._leases.close()
        await super().let_go()

    @property
    def _console(self) -> Path:
        return command_line.console_path(self._folder)

    async def _wire(self, spec: ServerSpec, taps: list[int]) -> list[Nic]:
        """Everything outside the VM, before it starts; the descriptors of its devices go to ``taps``."""
        await links.prepare(self._namespace)
        await self._services.open(self.id)
        nics = []
        for number, port in enumerate(spec.ports):
            fd = await self._connect(port, f"eth{number}", spec.hostname)
            taps.append(fd)
            nics.append(Nic(port_id=port.port_id, mac=port.mac, network=f"tap,fd={fd},vhost=off"))
        return nics

    async def _start(self, spec: ServerSpec, root: Path | None, nics: list[Nic], taps: list[int]) -> None:
        machine = Machine(
            id=self.id, name=spec.name, vcpus=spec.vcpus, ram_mb=spec.ram_mb, folder=self._folder, root=root,
            volumes=spec.volumes, nics=nics, accelerator=requirements.accelerator(),
            firmware=requirements.firmware(spec.image_properties),
        )  # fmt: skip
        process = await starting.start(machine, self._namespace, taps)
        ports = {port.port_id: Plugged(port.network_id, f"eth{at}") for at, port in enumerate(spec.ports)}
        volumes = {each.volume_id: _attached(each) for each in spec.volumes}
        self._keep(Running(process, ports=ports, volumes=volumes, kind=self.kind))

    async def _connect(self, port: PortWiring, device: str, hostname: str) -> int:
        await self._networks.wire(port, f'"{self._namespace}"', device)
        await links.bridge(self._namespace, device, port)
        fd = await links.tap(self._namespace, device, port)
        await self._lease(device, port, hostname)
        return fd

    async def _disconnect(self, port_id: str, plugged: Plugged) -> None:
        self._leases.withdraw(plugged.device)
        await self._networks.unplug(plugged.network_id, port_id)
        await links.unbridge(self._namespace, plugged.device)

    async def _lease(self, device: str, port: PortWiring, hostname: str) -> None:
        """Kept on disk too, for the cloud's next process."""
        given = dhcp.lease(port, hostname)
        known = {**self._known_leases(), device: given}
        partial = self._lease_file.with_suffix(".partial")
        partial.write_text(json.dumps({each: None if one is None else asdict(one) for each, one in known.items()}))
        partial.replace(self._lease_file)
        await self._leases.give(device, given)

    def _known_leases(self) -> dict[str, dhcp.Lease | None]:
        if not self._lease_file.exists():
            return {}
        raw = json.loads(self._lease_file.read_text())
        return {device: None if one is None else dhcp.Lease(**one) for device, one in raw.items()}

    @property
    def _lease_file(self) -> Path:
        return self._folder / "leases.json"

    def _hostname(self) -> str:
        return next((one.hostname for one in self._known_leases().values() if one is not None), "server")

    async def _press_button(self) -> None:
        try:
            async with monitor(self._folder) as qemu:
                await qemu.run("cont")  # one that stands still would not hear the button
                await qemu.run("system_powerdown")
        except DriverError as exc:  # it has ended this moment, or hangs: then the plug is pulled
            log.warning("a VM could not be asked to end", extra={"server": self.id, "reason": str(exc)})

    async def _end_unrecorded(self) -> None:
        """The cloud was killed between QEMU's start and the record of it."""
        if self._running is None and (process := starting.running_in(self._folder)) is not None:
            process.signal(signal.SIGKILL)
            await process.wait(KILL_TIME)

    async def _clean_up(self) -> None:
        await self.let_go()
        running, self._running = self._running, None
        if running is not None:
            for port_id, plugged in running.ports.items():
                await self._networks.unplug(plugged.network_id, port_id)
        await self._services.disconnect(self.id)
        sockets = (command_line.pid_path(self._folder), self._folder / command_line.SOCKET)
        for file in (*sockets, self._lease_file, self._record):
            file.unlink(missing_ok=True)


def _attached(volume: VolumeWiring) -> Attached:
    return Attached(loop="", path=str(volume.path), name=Path(volume.device).name)
