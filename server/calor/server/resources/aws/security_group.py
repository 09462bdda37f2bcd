"""AWS::EC2::SecurityGroup: a group of the network service by the words of CloudFormation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from calor.server.resources.aws.translated import Translated
from calor.server.resources.declare import NOT_IMPLEMENTED, UPDATABLE, Alias
from calor.server.resources.neutron.security_group import RuleProps, SecurityGroup, SecurityGroupProps, remote_problems

ANY = "-1"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule. A protocol of -1 is any; of ICMP the ports are type and code, -1 for any."""

    cidr: Annotated[str | None, Alias("CidrIp")] = None
    first: Annotated[str | None, Alias("FromPort")] = None
    last: Annotated[str | None, Alias("ToPort")] = None
    protocol: Annotated[str | None, Alias("IpProtocol")] = None
    group_id: Annotated[str | None, Alias("SourceSecurityGroupId")] = None
    group_name: Annotated[str | None, Alias("SourceSecurityGroupName")] = None
    owner: Annotated[str | None, Alias("SourceSecurityGroupOwnerId"), NOT_IMPLEMENTED] = None


@dataclass(frozen=True, kw_only=True)
class GroupProps:
    description: Annotated[str, Alias("GroupDescription")]
    vpc: Annotated[str | None, Alias("VpcId")] = None
    ingress: Annotated[tuple[Rule, ...] | None, Alias("SecurityGroupIngress"), UPDATABLE] = None
    egress: Annotated[tuple[Rule, ...] | None, Alias("SecurityGroupEgress"), UPDATABLE] = None


class Group(Translated[GroupProps, SecurityGroupProps]):
    """A group of rules, for ``SecurityGroups`` of instances."""

    name, props = "AWS::EC2::SecurityGroup", GroupProps
    native = SecurityGroup()
    collection = SecurityGroup.collection
    renamed: ClassVar[Mapping[str, str]] = {"SecurityGroupIngress": "rules", "SecurityGroupEgress": "rules"}

    def validate(self, properties: Mapping[str, Any]) -> Sequence[str]:
        return [problem for side in self.renamed for problem in _problems(side, properties.get(side))]

    def translated(self, want: GroupProps) -> SecurityGroupProps:
        incoming = [_native(rule, "ingress") for rule in want.ingress or ()]
        leaving = [_native(rule, "egress") for rule in want.egress or ()]
        return SecurityGroupProps(description=want.description, rules=(*incoming, *leaving))


def _problems(side: str, rules: Any) -> Iterator[str]:
    for number, rule in enumerate(rules if isinstance(rules, list) else ()):
        if isinstance(rule, Mapping):
            group = rule.get("SourceSecurityGroupId")
            group = rule.get("SourceSecurityGroupName") if group is None else group
            said = remote_problems({"remote_group_id": group, "remote_ip_prefix": rule.get("CidrIp")})
            yield from (f"{side}.{number}: {problem}" for problem in said)


def _native(rule: Rule, direction: str) -> RuleProps:
    return RuleProps(
        direction=direction,
        protocol=None if rule.protocol == ANY else rule.protocol,
        port_range_min=_port(rule.first),
        port_range_max=_port(rule.last),
        remote_group_id=rule.group_name if rule.group_id is None else rule.group_id,
        remote_ip_prefix=rule.cidr,
    )


def _port(text: str | None) -> int | None:
    return None if text in (None, "", ANY) else int(str(text))
