"""States of a server: what the compute service knows, and the one word that users see."""

import enum

from calor.server.devcloud.documents import Doc


class VmState(enum.Enum):
    BUILDING = "building"
    ACTIVE = "active"
    STOPPED = "stopped"
    PAUSED = "paused"
    SUSPENDED = "suspended"
    RESIZED = "resized"
    ERROR = "error"


STATUS = {
    VmState.BUILDING: "BUILD",
    VmState.ACTIVE: "ACTIVE",
    VmState.STOPPED: "SHUTOFF",
    VmState.PAUSED: "PAUSED",
    VmState.SUSPENDED: "SUSPENDED",
    VmState.RESIZED: "VERIFY_RESIZE",
    VmState.ERROR: "ERROR",
}
BUSY = {
    "rebooting": "REBOOT",
    "rebooting_hard": "HARD_REBOOT",
    "rebuilding": "REBUILD",
    "resize_prep": "RESIZE",
    "resize_reverting": "REVERT_RESIZE",
}
POWER = {VmState.ACTIVE: 1, VmState.RESIZED: 1, VmState.STOPPED: 4, VmState.PAUSED: 3, VmState.SUSPENDED: 4}


def status(server: Doc) -> str:
    return BUSY.get(server["task_state"]) or STATUS[VmState(server["vm_state"])]


def power(server: Doc) -> int:
    return POWER.get(VmState(server["vm_state"]), 0)
