"""All resource types by name. Built-ins stand in one explicit tuple; a third party's come in by the same door."""

from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from types import MappingProxyType
from typing import Any

from calor.server.resources.aws import elastic_ip as aws_elastic_ip
from calor.server.resources.aws import iam as aws_iam
from calor.server.resources.aws import instance as aws_instance
from calor.server.resources.aws import security_group as aws_security_group
from calor.server.resources.aws import volume as aws_volume
from calor.server.resources.aws import wait_condition as aws_wait_condition
from calor.server.resources.base import ResourceType
from calor.server.resources.cinder.attachment import VolumeAttachment
from calor.server.resources.cinder.volume import Volume
from calor.server.resources.heat.deployed_server import DeployedServer
from calor.server.resources.heat.deployment_group import SoftwareDeploymentGroup, StructuredDeploymentGroup
from calor.server.resources.heat.random_string import RandomString
from calor.server.resources.heat.resource_group import ResourceGroup
from calor.server.resources.heat.software_config import (
    CloudConfig,
    MultipartMime,
    SoftwareComponent,
    SoftwareConfig,
    StructuredConfig,
)
from calor.server.resources.heat.software_deployment import SoftwareDeployment, StructuredDeployment
from calor.server.resources.heat.stack import Stack
from calor.server.resources.heat.stand_in import TestResource
from calor.server.resources.heat.swift_signal import SwiftSignal, SwiftSignalHandle
from calor.server.resources.heat.value import Nothing, Value
from calor.server.resources.heat.wait_condition import WaitCondition, WaitConditionHandle
from calor.server.resources.neutron.extra_route import ExtraRouteSet
from calor.server.resources.neutron.floating_ip import FloatingIp, FloatingIpAssociation
from calor.server.resources.neutron.net import Net
from calor.server.resources.neutron.port import Port
from calor.server.resources.neutron.router import Router, RouterInterface
from calor.server.resources.neutron.security_group import SecurityGroup, SecurityGroupRule
from calor.server.resources.neutron.subnet import Subnet
from calor.server.resources.nova.flavor import Flavor
from calor.server.resources.nova.key_pair import KeyPair
from calor.server.resources.nova.server import Server

BUILT_INS: tuple[type[ResourceType[Any]], ...] = (
    Volume,
    VolumeAttachment,
    CloudConfig,
    DeployedServer,
    MultipartMime,
    Nothing,
    RandomString,
    ResourceGroup,
    SoftwareComponent,
    SoftwareConfig,
    SoftwareDeployment,
    SoftwareDeploymentGroup,
    Stack,
    StructuredConfig,
    StructuredDeployment,
    StructuredDeploymentGroup,
    SwiftSignal,
    SwiftSignalHandle,
    TestResource,
    Value,
    WaitCondition,
    WaitConditionHandle,
    FloatingIp,
    FloatingIpAssociation,
    Net,
    Port,
    Router,
    RouterInterface,
    ExtraRouteSet,
    SecurityGroup,
    SecurityGroupRule,
    Subnet,
    Flavor,
    KeyPair,
    Server,
    aws_elastic_ip.ElasticIp,
    aws_elastic_ip.ElasticIpAssociation,
    aws_iam.AccessKey,
    aws_iam.User,
    aws_instance.Instance,
    aws_security_group.Group,
    aws_volume.Volume,
    aws_volume.VolumeAttachment,
    aws_wait_condition.WaitCondition,
    aws_wait_condition.WaitConditionHandle,
)

RENAMED: Mapping[str, str] = {
    "OS::Heat::SoftwareDeployments": "OS::Heat::SoftwareDeploymentGroup",
    "OS::Heat::StructuredDeployments": "OS::Heat::StructuredDeploymentGroup",
}
"""Types that Heat hides under their old names: templates may have them, the catalogue refuses to show them."""

ALIASES: Mapping[str, str] = {
    **RENAMED,
    "OS::Ceilometer::Alarm": "OS::Aodh::Alarm",
    "OS::Ceilometer::CombinationAlarm": "OS::Aodh::CombinationAlarm",
    "OS::Ceilometer::GnocchiAggregationByMetricsAlarm": "OS::Aodh::GnocchiAggregationByMetricsAlarm",
    "OS::Ceilometer::GnocchiAggregationByResourcesAlarm": "OS::Aodh::GnocchiAggregationByResourcesAlarm",
    "OS::Ceilometer::GnocchiResourcesAlarm": "OS::Aodh::GnocchiResourcesAlarm",
    "OS::Metering::Alarm": "OS::Aodh::Alarm",
    "OS::Quantum*": "OS::Neutron*",
}
"""Old names; ``*`` stands for any end (resource-types.json, ``aliases``, and its two types that were renamed)."""

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
    """The registry of one process. Later types replace earlier ones of the same name. ``options`` are what an operator
    has set."""

    def __init__(
        self, types: Iterable[type[ResourceType[Any]]] = BUILT_INS, options: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        self._types = {kind.name: _made(kind, options) for kind in types}

    def get(self, name: str) -> ResourceType[Any] | None:
        return self._types.get(aliased(name))

    def names(self) -> Sequence[str]:
        return sorted(self._types)


def _made(kind: type[ResourceType[Any]], options: Mapping[str, Any]) -> ResourceType[Any]:
    made = kind()
    made.operator_defaults = {name: options[option] for name, option in kind.set_by.items() if option in options}
    if kind.name_limit in options:
        made.physical_name_limit = int(options[kind.name_limit])  # type: ignore[misc]  # of this instance only
    return made


def installed(options: Mapping[str, Any] = MappingProxyType({})) -> Types:
    """The built-ins and what installed packages add by the entry point group ``calor.resource_types``."""
    added = [point.load() for point in metadata.entry_points(group=ENTRY_POINTS)]
    return Types((*BUILT_INS, *added), options)
