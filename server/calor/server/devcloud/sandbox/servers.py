"""Servers of the sandbox driver: boot, end, and what belongs to one boot (ports, volumes, sockets, limits)."""

import signal
from pathlib import Path

from calor.server.devcloud.driver import DriverError, PortWiring, ServerSpec, VolumeWiring
from calor.server.devcloud.sandbox import boots, limits, namespaces, records, volumes
from calor.server.devcloud.sandbox.hosted import KILL_TIME, Hosted
from calor.server.devcloud.sandbox.launch_plan import Device
from calor.server.devcloud.sandbox.processes import Process
from calor.server.devcloud.sandbox.records import Attached, Plugged, Running

_SETTINGS = {
    "ipv4/conf/default/arp_notify": "1",
    "ipv4/ping_group_range": "0 4294967293",
    "ipv4/ip_unprivileged_port_start": "0",
}


def _metric(device: str) -> int:
    """eth0's default route goes before eth1's."""
    return 100 + int(device.removeprefix("eth"))


class Server(Hosted):
    """One server on this machine: its folder, and its boot if it runs."""

    kind = "sandbox"

    async def find(self) -> None:
        """After a restart of the cloud: take up a boot that still runs, clean up after one that does not."""
        self._running = records.load(self._record)
        if self._running is None:
            return
        if self._running.process.is_alive:
            await self._services.open(self.id)
            self._watch_end()
        else:
            await self._clean_up()

    async def boot(self, spec: ServerSpec) -> None:
        """Start it over the disk it has; nothing happens where it runs."""
        if self.running is not None:
            return
        await self._clean_up()
        self._folder.mkdir(parents=True, exist_ok=True)
        attached: dict[str, Attached] = {}
        devices: list[Device] = []
        for volume in spec.volumes:
            loop, device = await volumes.connect(volume)
            attached[volume.volume_id] = Attached(loop, str(volume.path), device.name)
            devices.append(device)
        plan_path = self._folder / "plan.json"
        boots.plan(spec, self._folder, devices).save(plan_path)

        async def wire(process: Process) -> None:
            self._keep(Running(process, volumes=attached))
            limits.apply(self.id, process, spec.ram_mb)
            await self._wire(process, spec)

        try:
            await boots.boot(plan_path, wire)
        except BaseException:
            await self._clean_up()
            raise
        self._watch_end()

    async def end(self, timeout: float) -> None:
        if self._running is not None:
            process = self._running.process
            if timeout > 0:
                await self.thaw()  # a process that stands still would not hear the request
                process.signal(signal.SIGTERM)
            if timeout <= 0 or not await process.wait(timeout):
                process.signal(signal.SIGKILL)
                if not await process.wait(KILL_TIME):
                    raise DriverError(f"Server {self.id}: its first process {process.pid} cannot be killed.")
        await self._clean_up()

    async def freeze(self) -> None:
        """Stop every process; those started meanwhile too. Raises `DriverError` where it does not run."""
        if (running := self.running) is None:
            raise DriverError(f"Server {self.id} does not run.")
        stopped: set[Process] = set()
        while new := set(running.process.same_namespace()) - stopped:
            for process in new:
                process.signal(signal.SIGSTOP)
            stopped |= new

    async def thaw(self) -> None:
        if (running := self.running) is not None:
            for process in running.process.same_namespace():
                process.signal(signal.SIGCONT)

    async def plug(self, port: PortWiring) -> None:
        if (running := self.running) is None:
            return
        if (plugged := running.ports.get(port.port_id)) is not None and await self._networks.has(port):
            return
        device = plugged.device if plugged is not None else running.free_device()
        self._keep(running.with_port(port.port_id, Plugged(port.network_id, device)))
        await self._networks.plug(port, running.process, device, _metric(device))

    async def unplug(self, port_id: str) -> None:
        if self._running is None or (plugged := self._running.ports.get(port_id)) is None:
            return
        await self._networks.unplug(plugged.network_id, port_id)
        self._keep(self._running.without_port(port_id))

    async def set_rules(self, port: PortWiring) -> None:
        if (running := self.running) is not None and port.port_id in running.ports:
            await self._networks.set_rules(port)

    async def attach(self, volume: VolumeWiring) -> None:
        if (running := self.running) is None or volume.volume_id in running.volumes:
            return
        loop, device = await volumes.connect(volume)
        self._keep(running.with_volume(volume.volume_id, Attached(loop, str(volume.path), device.name)))
        volumes.show(running.process, device)

    async def detach(self, volume_id: str) -> None:
        if self._running is None or (attached := self._running.volumes.get(volume_id)) is None:
            return
        if self._running.process.is_alive:
            volumes.hide(self._running.process, attached.name)
        await volumes.disconnect(attached.loop, Path(attached.path))
        self._keep(self._running.without_volume(volume_id))

    @property
    def _console(self) -> Path:
        return self._folder / "console.log"

    async def _wire(self, process: Process, spec: ServerSpec) -> None:
        namespaces.configure(process.namespace("net"), _SETTINGS)
        await self._services.connect(self.id, process)
        for port in spec.ports:
            assert self._running is not None
            device = self._running.free_device()
            self._keep(self._running.with_port(port.port_id, Plugged(port.network_id, device)))
            await self._networks.plug(port, process, device, _metric(device))

    async def _clean_up(self) -> None:
        await self.let_go()
        await self._services.disconnect(self.id)
        running, self._running = self._running, None
        if running is None:
            return
        for port_id, plugged in running.ports.items():
            await self._networks.unplug(plugged.network_id, port_id)
        for attached in running.volumes.values():
            await volumes.disconnect(attached.loop, Path(attached.path))
        limits.remove(self.id)
        self._record.unlink(missing_ok=True)
