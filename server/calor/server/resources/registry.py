"""All resource types by name. Built-ins stand in one explicit tuple; a third party's come in by the same door."""

from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from typing import Any

from calor.server.resources.base import ResourceType
from calor.server.resources.heat.random_string import RandomString
from calor.server.resources.heat.software_config import (
    CloudConfig,
    MultipartMime,
    SoftwareComponent,
    SoftwareConfig,
    StructuredConfig,
)
from calor.server.resources.heat.test_resource import TestResource
from calor.server.resources.heat.value import Nothing, Value

BUILT_INS: tuple[type[ResourceType[Any]], ...] = (
    CloudConfig,
    MultipartMime,
    Nothing,
    RandomString,
    SoftwareComponent,
    SoftwareConfig,
    StructuredConfig,
    TestResource,
    Value,
)

ALIASES: Mapping[str, str] = {
    "OS::Ceilometer::Alarm": "OS::Aodh::Alarm",
    "OS::Ceilometer::CombinationAlarm": "OS::Aodh::CombinationAlarm",
    "OS::Ceilometer::GnocchiAggregationByMetricsAlarm": "OS::Aodh::GnocchiAggregationByMetricsAlarm",
    "OS::Ceilometer::GnocchiAggregationByResourcesAlarm": "OS::Aodh::GnocchiAggregationByResourcesAlarm",
    "OS::Ceilometer::GnocchiResourcesAlarm": "OS::Aodh::GnocchiResourcesAlarm",
    "OS::Metering::Alarm": "OS::Aodh::Alarm",
    "OS::Quantum*": "OS::Neutron*",
}
"""Old names; ``*`` stands for any end (resource-types.json, ``aliases``)."""

ENTRY_POINTS = "calor.resource_types"


def aliased(name: str) -> str:
    """The name that an old name stands for; any other name as it is."""
    for old, new in ALIASES.items():
        if old == name:
            return new
        if old.endswith("*") and name.startswith(old[:-1]):
            return new[:-1] + name[len(old) - 1 :]
    return name


class Types:
    """The registry of one process. Later types replace earlier ones of the same name."""

    def __init__(self, types: Iterable[type[ResourceType[Any]]] = BUILT_INS) -> None:
        self._types = {kind.name: kind() for kind in types}

    def get(self, name: str) -> ResourceType[Any] | None:
        return self._types.get(aliased(name))

    def names(self) -> Sequence[str]:
        return sorted(self._types)


def installed() -> Types:
    """The built-ins and what installed packages add by the entry point group ``calor.resource_types``."""
    added = [point.load() for point in metadata.entry_points(group=ENTRY_POINTS)]
    return Types((*BUILT_INS, *added))
