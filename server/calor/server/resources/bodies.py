"""Request bodies: what to send at the creation and at a change."""

from typing import Any

from calor.server.cloud.door import Cloud, Collection
from calor.server.cloud.errors import CloudMissing
from calor.server.resources.lookup import is_uuid


def present(body: dict[str, Any]) -> dict[str, Any]:
    """Without what is not set."""
    return {key: value for key, value in body.items() if value is not None}


def changes(want: dict[str, Any], was: dict[str, Any]) -> dict[str, Any]:
    """What to send so that ``was`` becomes ``want``; null for what is no longer set."""
    return {key: value for key, value in want.items() if was.get(key) != value}


async def id_of(cloud: Cloud, of: Collection, name_or_id: str) -> str:
    """The id of an object given by either. Raises `CloudMissing`, never guesses: an empty name is missing too."""
    if is_uuid(name_or_id):
        return name_or_id
    record = await cloud.find(of, name_or_id) if name_or_id else None
    if record is None:
        raise CloudMissing(f"The {of.single.replace('_', ' ')} {name_or_id!r} could not be found.")
    return str(record["id"])
