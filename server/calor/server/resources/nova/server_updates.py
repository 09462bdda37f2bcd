"""Changing a server in place. Each step looks first whether it was done before a crash."""

from collections.abc import Mapping
from typing import Any

from calor.server.resources.base import Context
from calor.server.resources.collecting import forget, write_collect_metadata
from calor.server.resources.collections import SERVERS
from calor.server.resources.nova import server_networks, user_data
from calor.server.resources.nova.server_props import ServerProps

MARK = "calor_resource"
"""The metadata item by which a server is found again; users' own items stay as they set them."""
ACTIVE = frozenset({"ACTIVE"})
ERROR = frozenset({"ERROR"})


def metadata_of(at: Context, want: ServerProps) -> dict[str, str]:
    """The compute service takes texts only."""
    return {**{key: as_text(value) for key, value in want.metadata.items()}, MARK: at.me.id}


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else user_data.compact_json(value)


async def act(at: Context, body: Mapping[str, Any], *, microversion: str | None = None) -> None:
    path = f"/servers/{at.me.physical_id}/action"
    await at.cloud.call("compute", "post", path, json=body, microversion=microversion)


async def reach(at: Context, *states: str) -> Mapping[str, Any]:
    return await at.cloud.settled(SERVERS, str(at.me.physical_id), ready=frozenset(states), failed=ERROR)


async def change(at: Context, want: ServerProps, was: ServerProps, changed: frozenset[str]) -> None:
    path = f"/servers/{at.me.physical_id}"
    if "name" in changed:
        await at.cloud.update(SERVERS, str(at.me.physical_id), name=want.name or at.me.physical_name)
    if "metadata" in changed:
        await at.cloud.call("compute", "put", f"{path}/metadata", json={"metadata": metadata_of(at, want)})
    if "tags" in changed:
        tags = {"tags": list(want.tags or ())}
        await at.cloud.call("compute", "put", f"{path}/tags", json=tags, microversion="2.26")
    transported = changed & {"software_config_transport", "deployment_swift_data"}
    if transported and want.user_data_format == user_data.SOFTWARE_CONFIG:
        await write_collect_metadata(at, want.software_config_transport, want.deployment_swift_data, "ec2")
        await forget(at, but=want.software_config_transport)
    if "flavor" in changed:
        await resize(at, want)
    if "image" in changed or ("user_data" in changed and want.user_data_update_policy == "REBUILD"):
        await rebuild(at, want, anew="user_data" in changed and want.user_data_update_policy == "REBUILD")
    elif "admin_pass" in changed and want.admin_pass:
        await act(at, {"changePassword": {"adminPass": want.admin_pass}})
    if "networks" in changed:
        await server_networks.rewire(at, want, was)


async def resize(at: Context, want: ServerProps) -> None:
    record = await at.cloud.call("compute", "get", f"/servers/{at.me.physical_id}")
    server = record["server"]
    if server["status"] not in ("RESIZE", "VERIFY_RESIZE"):
        if server["flavor"].get("id") == want.flavor:
            return
        await act(at, {"resize": {"flavorRef": want.flavor}})
    await reach(at, "VERIFY_RESIZE")
    await act(at, {"confirmResize": None})
    await reach(at, "ACTIVE", "SHUTOFF")


async def rebuild(at: Context, want: ServerProps, *, anew: bool) -> None:
    """``anew``: with new user-data, which only a rebuild can give (since 2.57)."""
    record = await at.cloud.call("compute", "get", f"/servers/{at.me.physical_id}")
    state = record["server"]["status"]
    if state != "REBUILD":
        image = want.image or (record["server"].get("image") or {}).get("id")
        body: dict[str, Any] = {"imageRef": image, "metadata": metadata_of(at, want)}
        if want.admin_pass:
            body["adminPass"] = want.admin_pass
        if want.image_update_policy == "REBUILD_PRESERVE_EPHEMERAL":
            body["preserve_ephemeral"] = True
        if anew:
            body["user_data"] = await user_data.encoded(at, want)
        await act(at, {"rebuild": body}, microversion="2.57" if anew else None)
    await at.guests.rearm(at.me.id)  # only now: the guest of before cannot enrol again
    await reach(at, "ACTIVE")
