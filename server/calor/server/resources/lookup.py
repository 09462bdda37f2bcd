"""Names and ids of cloud objects: properties may give either, calls need the id.

A `Custom` constraint (``neutron.network``, ``glance.image`` …) says what kind of object a property names.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from calor.server.cloud.door import Cloud, Collection
from calor.server.cloud.errors import CloudAmbiguous, CloudError, CloudMissing
from calor.server.resources import collections as known
from calor.server.template import local_constraints
from calor.server.template.properties import Custom, PropertySchema

COLLECTIONS: Mapping[str, Collection] = {
    "cinder.backup": known.BACKUPS,
    "cinder.snapshot": known.SNAPSHOTS,
    "cinder.volume": known.VOLUMES,
    "cinder.vtype": known.VOLUME_TYPES,
    "glance.image": known.IMAGES,
    "keystone.project": known.PROJECTS,
    "keystone.user": known.USERS,
    "neutron.network": known.NETWORKS,
    "neutron.port": known.PORTS,
    "neutron.qos_policy": known.QOS_POLICIES,
    "neutron.router": known.ROUTERS,
    "neutron.security_group": known.SECURITY_GROUPS,
    "neutron.subnet": known.SUBNETS,
    "neutron.subnetpool": known.SUBNET_POOLS,
    "nova.flavor": known.FLAVORS,
    "nova.keypair": known.KEYPAIRS,
    "nova.server": known.SERVERS,
}
"""What each constraint's object is. Constraints that are not here are not asked of a cloud."""

NAMED = frozenset({"nova.keypair", "cinder.vtype"})
"""Objects that calls take by name: checked, never turned into an id."""

SERVICE = "catalog.service"
"""Stands for a constraint: the value is a type of service that the cloud must have."""

UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


async def _lacks(cloud: Cloud, service_type: str) -> str | None:
    try:
        await cloud.endpoint(service_type)
    except CloudMissing as exc:
        return f"It needs the service {service_type} of the cloud, which this one does not offer: {exc.detail}"
    except CloudError as exc:
        return f"Cannot ask the cloud for its service {service_type}: {exc.detail}"
    return None


def _is_ahead(text: str) -> bool:
    """Whether a moment that passed `is_expiration` is still to come."""
    return not text or local_constraints.moment(text.strip()) > datetime.now(UTC)


def is_uuid(text: str) -> bool:
    return UUID.fullmatch(text) is not None


@dataclass
class Lookup:
    """Looks names up, remembering what was found for ``keep`` seconds per project. One per process."""

    keep: float = 60.0
    clock: Callable[[], float] = time.monotonic
    _found: dict[tuple[str, str, str], tuple[float, str]] = field(default_factory=dict)

    async def resolve_names(
        self, cloud: Cloud, schema: Mapping[str, PropertySchema], values: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The values with each name of a cloud object turned into its id, at every depth.

        What looks like an id stays as it is, without a call. Raises `CloudError`s, `CloudAmbiguous` among them, and
        a `CloudMissing` that names the property.
        """
        return {
            name: await self._resolve(cloud, schema[name], value) if name in schema else value
            for name, value in values.items()
        }

    async def check_custom(self, cloud: Cloud, constraint: str, value: Any) -> str | None:
        """Why ``value`` does not meet a constraint that asks a cloud or a clock, or None. Unknown ones are met."""
        if constraint == "expiration":
            return None if _is_ahead(str(value)) else f"{value!r} lies in the past."
        if constraint == SERVICE:
            return await _lacks(cloud, str(value))
        if constraint not in COLLECTIONS or not isinstance(value, str) or not value:
            return None
        try:
            found = await self.find(cloud, constraint, value)
        except CloudAmbiguous as exc:
            return exc.detail
        except CloudError as exc:
            return f"Cannot ask the cloud for the {thing(constraint)} {value!r}: {exc.detail}"
        if found is None:
            return f"The {thing(constraint)} {value!r} could not be found."
        return None

    async def find(self, cloud: Cloud, constraint: str, name_or_id: str) -> str | None:
        """The id (for some kinds the name) of an object, None if there is none."""
        key = (cloud.project_id, constraint, name_or_id)
        kept = self._found.get(key)
        if kept is not None and self.clock() - kept[0] < self.keep:
            return kept[1]
        record = await cloud.find(COLLECTIONS[constraint], name_or_id)
        if record is None:
            self._found.pop(key, None)
            return None
        ident = str(record["name"] if constraint in NAMED else record["id"])
        self._found[key] = (self.clock(), ident)
        return ident

    async def _resolve(self, cloud: Cloud, schema: PropertySchema, value: Any) -> Any:
        if schema.schema is not None and isinstance(value, Mapping):
            return await self.resolve_names(cloud, schema.schema, value)
        if schema.schema is not None and isinstance(value, list | tuple) and "*" in schema.schema:
            return [await self._resolve(cloud, schema.schema["*"], item) for item in value]
        constraint = next((one.name for one in schema.constraints if isinstance(one, Custom)), "")
        if constraint not in COLLECTIONS or not isinstance(value, str) or is_uuid(value) or not value:
            return value
        found = await self.find(cloud, constraint, value)
        return value if found is None else found


def thing(constraint: str) -> str:
    """``neutron.security_group`` as a reader says it."""
    return constraint.partition(".")[2].replace("_", " ")
