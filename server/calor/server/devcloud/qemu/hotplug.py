"""Devices that come and go while a virtual machine runs."""

from typing import Any

from calor.server.devcloud.driver import DriverError, PortWiring, VolumeWiring
from calor.server.devcloud.qemu.command_line import device_id, nic_device, volume_device, volume_node
from calor.server.devcloud.qemu.qmp import Monitor

_GUEST_SECONDS = 60.0
_ASK_AGAIN = 5.0


async def add_volume(qemu: Monitor, volume: VolumeWiring) -> None:
    node = volume_node(volume)
    await qemu.run("blockdev-add", node)
    try:
        await qemu.run("device_add", volume_device(volume))
    except DriverError:
        await qemu.run("blockdev-del", {"node-name": node["node-name"]})
        raise


async def remove_volume(qemu: Monitor, volume_id: str) -> None:
    """Raises `DriverError` where the guest does not let it go."""
    node = device_id("vol", volume_id)
    await _remove(qemu, f"d{node}", f"volume {volume_id}")
    await qemu.run("blockdev-del", {"node-name": node})


async def add_nic(qemu: Monitor, port: PortWiring, tap: int) -> None:
    ident = device_id("net", port.port_id)
    await qemu.run("getfd", {"fdname": ident}, fd=tap)
    await qemu.run("netdev_add", {"type": "tap", "id": ident, "fd": ident, "vhost": False})
    try:
        await qemu.run("device_add", nic_device(port.port_id, port.mac))
    except DriverError:
        await qemu.run("netdev_del", {"id": ident})
        raise


async def remove_nic(qemu: Monitor, port_id: str) -> None:
    """Raises `DriverError` where the guest does not let it go."""
    ident = device_id("net", port_id)
    await _remove(qemu, f"d{ident}", f"port {port_id}")
    await qemu.run("netdev_del", {"id": ident})


async def _remove(qemu: Monitor, device: str, shown: str) -> None:
    """Ask the guest until it has let the device go: one that still boots does not hear the first time."""

    def is_gone(event: dict[str, Any]) -> bool:
        return bool(event["event"] == "DEVICE_DELETED" and event["data"].get("device") == device)

    waited = 0.0
    while waited < _GUEST_SECONDS:
        try:
            await qemu.run("device_del", {"id": device})
        except DriverError as exc:
            if "not found" in str(exc).lower():
                return
            if "already in the process" not in str(exc):
                raise
        if await qemu.event(is_gone, _ASK_AGAIN):
            return
        waited += _ASK_AGAIN
    raise DriverError(f"The guest has not let go of {shown} within {_GUEST_SECONDS:.0f} s.")
