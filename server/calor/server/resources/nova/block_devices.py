"""From a server's block device properties to what the compute service takes."""

from typing import Any

from calor.server.resources.bodies import present
from calor.server.resources.nova.server_props import BlockDevice, BlockDeviceV2, ServerProps


def block_devices(want: ServerProps) -> list[dict[str, Any]]:
    """The service's block_device_mapping_v2 for either property. Without an image the first disk is the boot disk."""
    devices = [newer(device) for device in want.block_device_mapping_v2 or ()]
    devices += [older(device) for device in want.block_device_mapping or ()]
    if want.image is None and devices and not any(device.get("boot_index") == 0 for device in devices):
        disks = [device for device in devices if device["destination_type"] == "volume"]
        if disks:
            disks[0]["boot_index"] = 0
    return devices


def older(device: BlockDevice) -> dict[str, Any]:
    source, ident = ("snapshot", device.snapshot_id) if device.snapshot_id else ("volume", device.volume_id)
    return present(
        {
            "source_type": source,
            "destination_type": "volume",
            "uuid": ident,
            "device_name": device.device_name,
            "volume_size": device.volume_size,
            "delete_on_termination": device.delete_on_termination,
            "boot_index": 0 if device.device_name.removeprefix("/dev/") in ("vda", "sda", "hda", "xvda") else None,
        }
    )


def newer(device: BlockDeviceV2) -> dict[str, Any]:
    return present(
        {
            **_source(device),
            "device_name": device.device_name,
            "device_type": device.device_type,
            "disk_bus": device.disk_bus,
            "volume_type": device.volume_type,
            **({} if device.boot_index is None else {"boot_index": device.boot_index}),
            **({} if device.delete_on_termination is None else {"delete_on_termination": device.delete_on_termination}),
        }
    )


def _source(device: BlockDeviceV2) -> dict[str, Any]:
    local = {"source_type": "blank", "destination_type": "local", "boot_index": -1, "delete_on_termination": True}
    if device.swap_size is not None:
        return {**local, "volume_size": device.swap_size, "guest_format": "swap"}
    if device.ephemeral_size is not None or device.ephemeral_format is not None:
        return {**local, "volume_size": device.ephemeral_size, "guest_format": device.ephemeral_format}
    for source, ident in (
        ("volume", device.volume_id),
        ("snapshot", device.snapshot_id),
        ("image", device.image or device.image_id),
    ):
        if ident:
            return {
                "source_type": source,
                "destination_type": "volume",
                "uuid": ident,
                "volume_size": device.volume_size,
            }
    return {"source_type": "blank", "destination_type": "volume", "volume_size": device.volume_size}
