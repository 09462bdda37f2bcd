"""Attachments: which server holds which volume, as what device. Nova's and Cinder's common ground."""

import string

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Call, new_id, now_micro
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.tasks import enqueue


def free_device(call: Call, server_id: str) -> str:
    """The next device name; ``/dev/vda`` is the server's own disk."""
    used = {one["device"] for one in call.docs.where("attachment", server_id=server_id)}
    return next(f"/dev/vd{letter}" for letter in string.ascii_lowercase[1:] if f"/dev/vd{letter}" not in used)


def record(call: Call, server: Doc, volume_id: str, *, device: str | None, delete_on_termination: bool) -> Doc:
    """Write the attachment down; the volume is ``attaching``."""
    attachment = {
        "id": new_id(),
        "volume_id": volume_id,
        "server_id": server["id"],
        "project_id": server["project_id"],
        "device": device or free_device(call, server["id"]),
        "status": "attaching",
        "delete_on_termination": delete_on_termination,
        "attached_at": now_micro(),
    }
    call.docs.put("attachment", attachment)
    return attachment


def attach_at_birth(
    call: Call, server: Doc, volume_id: str, *, device: str | None, delete_on_termination: bool
) -> None:
    """A volume that the server has from the start: it is wired when the server is spawned."""
    record(call, server, volume_id, device=device, delete_on_termination=delete_on_termination)
    call.docs.change("volume", volume_id, status="attaching")


def attach(call: Call, server: Doc, volume_id: str, *, device: str | None, delete_on_termination: bool) -> Doc:
    """Attach to a living server: a task does it. Refuses a volume that is not free."""
    volume = call.docs.get("volume", volume_id)
    if volume is None or not call.sees(volume):
        raise ApiError(404, f"Volume {volume_id} could not be found.")
    holders = [one["server_id"] for one in call.docs.where("attachment", volume_id=volume_id)]
    if holders:
        message = f"Invalid volume: volume {volume_id} is already attached to instances: {', '.join(holders)}"
        raise ApiError(400, message)
    if volume["status"] != "available":
        raise ApiError(
            400,
            f"Invalid volume: volume {volume_id} status must be 'available'. Currently in '{volume['status']}' status.",
        )
    attachment = record(call, server, volume_id, device=device, delete_on_termination=delete_on_termination)
    call.docs.change("volume", volume_id, status="attaching")
    enqueue(call.docs, f"server:{server['id']}", "attach", attachment=attachment["id"])
    return attachment


def detach(call: Call, server: Doc, volume_id: str) -> None:
    held = call.docs.where("attachment", server_id=server["id"], volume_id=volume_id)
    if not held:
        raise ApiError(404, f"Instance {server['id']} is not attached to volume {volume_id}")
    call.docs.change("attachment", held[0]["id"], status="detaching")
    call.docs.change("volume", volume_id, status="detaching")
    enqueue(call.docs, f"server:{server['id']}", "detach", attachment=held[0]["id"])
