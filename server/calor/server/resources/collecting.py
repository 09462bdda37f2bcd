"""The metadata by which os-collect-config finds us (userdata.json, ``server_metadata``)."""

from collections.abc import Mapping
from typing import Any, Protocol

from calor.server.resources import object_store, queues
from calor.server.resources.base import Context
from calor.server.template import Secret

PUSHED: Mapping[str, str] = {"POLL_TEMP_URL": "object-store", "ZAQAR_MESSAGE": queues.SERVICE_TYPE}
"""Transports by which the server writes what a guest is to do, and what each needs of the cloud."""
SECTIONS = ("cfn", "heat", "request", "zaqar")


class Place(Protocol):
    """``deployment_swift_data``: where the user wants the metadata to lie."""

    @property
    def container(self) -> str | None: ...
    @property
    def object(self) -> str | None: ...


def needed(properties: Mapping[str, Any]) -> list[tuple[str, str]]:
    """For `ResourceType.needs_services`."""
    service = PUSHED.get(str(properties.get("software_config_transport")))
    return [] if service is None else [("software_config_transport", service)]


async def write_collect_metadata(at: Context, transport: str, place: Place, *first: str) -> None:
    """Collect from ``first`` (``ec2`` for a cloud's server), by the transport and from local files. A section of
    another transport is set to null, key by key, so that it overrides what the instance was booted with. What else a
    template gives the agent in its metadata (``polling_interval``, ``splay``, ``command``) stays."""
    known = dict(at.me.metadata)
    before = known.get("os-collect-config") or {}
    sections = {name: dict.fromkeys(before[name]) for name in SECTIONS if isinstance(before.get(name), Mapping)}
    await _prepare(at, transport, place)
    section, content = await _section(at, transport)
    collect = {**before, **sections, section: content, "collectors": [*first, section, "local"]}
    if collect != before:
        await at.write_metadata({**known, "os-collect-config": collect})
    if transport not in PUSHED and at.me.data.keys() & {"metadata_container", "metadata_queue"}:
        await at.guests.push_to(at.me.id, None)


def merged(known: Mapping[str, Any], written: Mapping[str, Any]) -> Mapping[str, Any]:
    """For `ResourceType.new_metadata`: what we have written below os-collect-config stays."""
    ours, theirs = known.get("os-collect-config"), written.get("os-collect-config")
    if not isinstance(ours, Mapping):
        return dict(written)
    return {**written, "os-collect-config": {**ours, **(theirs if isinstance(theirs, Mapping) else {})}}


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
        where = {"stack_id": f"{at.stack.name}/{at.stack.id}", "resource_name": at.me.name}
        return "heat", {**await _account(at), **where}
    if transport == "ZAQAR_MESSAGE":
        return "zaqar", {**await _account(at), "queue_id": queue_of(at)}
    return "request", {"metadata_url": Secret(await object_store.url(at, *place_of(at), "GET"))}


async def _account(at: Context) -> dict[str, Any]:
    user, password = await at.guests.password(at.me.id)
    return {
        "auth_url": f"{at.urls.orchestration}/v3",
        "user_id": user,
        "password": Secret(password),
        "project_id": at.stack.project_id,
        **({"region_name": at.stack.region} if at.stack.region else {}),
    }


async def _prepare(at: Context, transport: str, place: Place) -> None:
    """What is pushed to is there before the guest is told of it, and before the first push."""
    if transport == "POLL_TEMP_URL":
        container = place.container or at.me.physical_name
        name = place.object or at.me.id
        await at.remember(metadata_container=container, metadata_object=name, shared=place.container is not None)
        await object_store.make(at, container, name, b"{}")
        await at.guests.push_to(at.me.id, {"container": container, "object": name})
    elif transport == "ZAQAR_MESSAGE":
        await at.remember(metadata_queue=queue_of(at))
        await queues.make(at, queue_of(at))
        await at.guests.push_to(at.me.id, {"queue": queue_of(at)})


async def forget(at: Context, *, but: str = "") -> None:
    """Remove what was pushed to, unless it is that of the transport ``but``."""
    data = at.me.data
    if but not in PUSHED and data.keys() & {"metadata_container", "metadata_queue"}:
        await at.guests.push_to(at.me.id, None)  # first: a write would bring back what is removed
    if "metadata_container" in data and but != "POLL_TEMP_URL":
        container, name = place_of(at)
        await object_store.forget(at, container, name, keep_container=bool(data.get("shared")))
        await at.remember(metadata_container=None, metadata_object=None, shared=None)
    if "metadata_queue" in data and but != "ZAQAR_MESSAGE":
        await queues.forget(at, str(data["metadata_queue"]))
        await at.remember(metadata_queue=None)


def place_of(at: Context) -> tuple[str, str]:
    return str(at.me.data["metadata_container"]), str(at.me.data["metadata_object"])


def queue_of(at: Context) -> str:
    """Begins with the id of the row: by that its guest may use it (`api.messaging`)."""
    return at.me.id
