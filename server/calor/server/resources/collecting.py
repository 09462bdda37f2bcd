"""The metadata by which os-collect-config finds us (userdata.json, ``server_metadata``)."""

from collections.abc import Mapping
from typing import Any

from calor.server.resources.base import Context, ResourceFailed
from calor.server.template import Secret

SECTIONS = ("cfn", "heat", "request", "zaqar")


async def write_collect_metadata(at: Context, transport: str, *first: str) -> None:
    """Collect from ``first`` (``ec2`` for a cloud's server), by the transport and from local files. A section of
    another transport is set to null, key by key, so that it overrides what the instance was booted with."""
    known = dict(at.me.metadata)
    before = known.get("os-collect-config") or {}
    sections = {name: dict.fromkeys(before[name]) for name in SECTIONS if isinstance(before.get(name), Mapping)}
    section, content = await _section(at, transport)
    collect = {**sections, section: content, "collectors": [*first, section, "local"]}
    if collect != before:
        await at.write_metadata({**known, "os-collect-config": collect})


async def _section(at: Context, transport: str) -> tuple[str, dict[str, Any]]:
    if transport == "POLL_SERVER_CFN":
        access, secret = await at.guests.ec2_pair(at.me.id)
        return "cfn", {
            "metadata_url": f"{at.urls.cfn}/v1/",
            "access_key_id": access,
            "secret_access_key": Secret(secret),
            "stack_name": at.stack.name,
            "path": f"{at.me.name}.Metadata",
        }
    if transport == "POLL_SERVER_HEAT":
        user, password = await at.guests.password(at.me.id)
        return "heat", {
            "auth_url": f"{at.urls.orchestration}/v3",
            "user_id": user,
            "password": Secret(password),
            "project_id": at.stack.project_id,
            "stack_id": f"{at.stack.name}/{at.stack.id}",
            "resource_name": at.me.name,
            **({"region_name": at.stack.region} if at.stack.region else {}),
        }
    raise ResourceFailed(
        f"software_config_transport {transport} is not served here; use POLL_SERVER_CFN or POLL_SERVER_HEAT."
    )
