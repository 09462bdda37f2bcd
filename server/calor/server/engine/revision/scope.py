"""What the resources of a stack answer to each other: references and attributes, from what is stored."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from calor.server.engine.durable.sealing import Sealing
from calor.server.engine.revision.naming import physical_name
from calor.server.errors import BadRequest
from calor.server.resources.base import ReferenceId, ResourceType
from calor.server.store.rows import ResourceRow


def key_of(path: Sequence[Any]) -> str:
    return json.dumps(list(path), ensure_ascii=False, default=str)


def follow(value: Any, path: Sequence[Any]) -> Any:
    """The part of a value that the rest of a get_attr path names; None where there is none."""
    for part in path:
        if isinstance(value, Mapping):
            value = value.get(part, value.get(str(part)))
        elif isinstance(value, list | tuple):
            index = int(part) if str(part).lstrip("-").isdigit() else len(value)
            value = value[index] if -len(value) <= index < len(value) else None
        else:
            return None
    return value


def reference_of(kind: ResourceType[Any], row: ResourceRow, stack_name: str, attributes: Mapping[str, Any]) -> Any:
    """What ``get_resource`` gives."""
    if kind.reference_id is ReferenceId.OWN:
        return attributes.get("reference", row.physical_id or row.name)
    if kind.reference_id is ReferenceId.LOGICAL_NAME:
        return row.name
    if kind.reference_id is ReferenceId.PHYSICAL_NAME:
        return physical_name(stack_name, row.name, row.id, kind.physical_name_limit)
    return row.physical_id if row.physical_id is not None else row.name


class StoredScope:
    """A `Scope` over rows. ``current`` gives the incarnation that counts for a name."""

    def __init__(
        self,
        stack_name: str,
        kinds: Mapping[str, ResourceType[Any]],
        current: Mapping[str, ResourceRow],
        sealing: Sealing,
    ) -> None:
        self._stack_name = stack_name
        self._kinds = kinds
        self._current = current
        self._sealing = sealing
        self._opened: dict[str, tuple[str | None, Mapping[str, Any]]] = {}

    def reference(self, name: str) -> Any:
        row = self._current.get(name)
        if row is None or name not in self._kinds:
            return None
        return reference_of(self._kinds[name], row, self._stack_name, self._attributes(row))

    def attribute(self, name: str, path: Sequence[Any]) -> Any:
        """Raises `BadRequest` where the resource has said that there cannot be such an attribute."""
        row = self._current.get(name)
        if row is None:
            return None
        known = self._attributes(row)
        if (fault := known.get("faults", {}).get(key_of(path))) is not None:
            raise BadRequest(fault)
        if not path:
            return dict(known.get("names", {}))
        if path[0] in known.get("names", {}):
            return follow(known["names"][path[0]], path[1:])
        return self._by_path(known.get("paths", {}), path)

    def _by_path(self, paths: Mapping[str, Any], path: Sequence[Any]) -> Any:
        """What was fetched for the path, or for the longest beginning of it."""
        for length in range(len(path), 0, -1):
            key = key_of(path[:length])
            if key in paths:
                return follow(paths[key], path[length:])
        return None

    def _attributes(self, row: ResourceRow) -> Mapping[str, Any]:
        kept = self._opened.get(row.id)
        if kept is None or kept[0] is not row.attributes:
            kept = self._opened[row.id] = (row.attributes, self._sealing.value(row.attributes) or {})
        return kept[1]
