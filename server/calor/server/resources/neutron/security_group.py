"""OS::Neutron::SecurityGroup and OS::Neutron::SecurityGroupRule.

A rule whose remote group is given is never sent without it: without, it would let everybody in (OSSN-0011).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from calor.server.cloud.errors import CloudConflict
from calor.server.resources.base import Context, ResourceFailed
from calor.server.resources.bodies import id_of, present
from calor.server.resources.collections import SECURITY_GROUP_RULES, SECURITY_GROUPS
from calor.server.resources.declare import UNORDERED, UPDATABLE, Since
from calor.server.resources.neutron.objects import NetworkObject
from calor.server.template.properties import AllowedValues, Custom, Range, Support

PROTOCOLS = """ah dccp egp esp gre icmp icmpv6 igmp ipv6-encap ipv6-frag ipv6-icmp ipv6-nonxt ipv6-opts ipv6-route
 ospf pgm rsvp sctp tcp udp udplite vrrp""".split()  # noqa: SIM905 - one word beside the other reads better
KNOWN_PROTOCOLS = AllowedValues(*range(256), *PROTOCOLS)
DIRECTIONS = AllowedValues("ingress", "egress")
ETHERTYPES = AllowedValues("IPv4", "IPv6")


@dataclass(frozen=True, kw_only=True)
class RuleProps:
    direction: Annotated[str, DIRECTIONS] = "ingress"
    ethertype: Annotated[str, ETHERTYPES] = "IPv4"
    port_range_min: Annotated[int | None, Range(0, 65535)] = None
    port_range_max: Annotated[int | None, Range(0, 65535)] = None
    protocol: Annotated[str | None, KNOWN_PROTOCOLS] = None
    remote_mode: Annotated[str, AllowedValues("remote_ip_prefix", "remote_group_id")] = "remote_ip_prefix"
    remote_group_id: Annotated[str | None, Custom("neutron.security_group")] = None
    remote_ip_prefix: Annotated[str | None, Custom("net_cidr")] = None
    description: Annotated[str | None, Since("27.0.0")] = None


@dataclass(frozen=True, kw_only=True)
class SecurityGroupProps:
    name: Annotated[str | None, UPDATABLE] = None
    description: Annotated[str | None, UPDATABLE] = None
    rules: Annotated[tuple[RuleProps, ...], UNORDERED, UPDATABLE] = ()
    stateful: Annotated[bool | None, UPDATABLE, Since("27.0.0")] = None


class SecurityGroup(NetworkObject[SecurityGroupProps]):
    """A group of rules. The rules that the service makes for leaving traffic stay unless the template has its own."""

    name, props = "OS::Neutron::SecurityGroup", SecurityGroupProps
    collection = SECURITY_GROUPS
    support = Support(since="2014.1")

    def validate(self, properties: Mapping[str, Any]) -> Sequence[str]:
        problems = []
        if properties.get("name") == "default":
            problems.append("The name 'default' belongs to the group that each project has.")
        rules = properties.get("rules")
        for number, rule in enumerate(rules if isinstance(rules, list) else ()):
            if isinstance(rule, Mapping):
                problems += [f"rules.{number}: {problem}" for problem in remote_problems(rule)]
        return problems

    async def body(self, at: Context, want: SecurityGroupProps) -> dict[str, Any]:
        return {
            "name": want.name or at.me.physical_name,
            "description": want.description,
            "stateful": want.stateful,
        }

    async def settle(self, at: Context, want: SecurityGroupProps) -> None:
        if want.rules:
            await self._set_rules(at, want.rules)

    async def update(
        self, at: Context, want: SecurityGroupProps, was: SecurityGroupProps, changed: frozenset[str]
    ) -> None:
        await super().update(at, want, was, changed)
        if "rules" in changed:
            await self._set_rules(at, want.rules)

    async def _set_rules(self, at: Context, rules: Sequence[RuleProps]) -> None:
        """Make the group's rules these: what is there already stays (natural key), what is not wanted goes."""
        group = str(at.me.physical_id)
        wanted = [await rule_body(at, rule, group) for rule in rules]
        if not any(rule["direction"] == "egress" for rule in wanted):
            wanted += [
                {"security_group_id": group, "direction": "egress", "ethertype": version}
                for version in ("IPv4", "IPv6")
            ]
        had = {rule_key(rule): rule["id"] for rule in (await self.record(at)).get("security_group_rules") or ()}
        for key, ident in had.items():
            if key not in {rule_key(rule) for rule in wanted}:
                await at.cloud.delete(SECURITY_GROUP_RULES, ident)
        for rule in wanted:
            if rule_key(rule) not in had:
                await add_rule(at, rule)


@dataclass(frozen=True, kw_only=True)
class SecurityGroupRuleProps:
    security_group: Annotated[str, Custom("neutron.security_group")]
    description: str | None = None
    direction: Annotated[str, DIRECTIONS] = "ingress"
    ethertype: Annotated[str, ETHERTYPES] = "IPv4"
    port_range_min: Annotated[int | None, Range(0, 65535)] = None
    port_range_max: Annotated[int | None, Range(0, 65535)] = None
    protocol: Annotated[str, KNOWN_PROTOCOLS] = "tcp"
    remote_group: Annotated[str | None, Custom("neutron.security_group")] = None
    remote_ip_prefix: Annotated[str | None, Custom("net_cidr")] = None


class SecurityGroupRule(NetworkObject[SecurityGroupRuleProps]):
    """One rule of a group. The service allows no second one like it, so it is its own natural key."""

    name, props = "OS::Neutron::SecurityGroupRule", SecurityGroupRuleProps
    collection = SECURITY_GROUP_RULES
    has_description = False
    support = Support(since="7.0.0")

    def validate(self, properties: Mapping[str, Any]) -> Sequence[str]:
        return list(remote_problems({**properties, "remote_group_id": properties.get("remote_group")}))

    async def body(self, at: Context, want: SecurityGroupRuleProps) -> dict[str, Any]:
        if want.remote_group is not None and not want.remote_group.strip():
            raise ResourceFailed("remote_group is empty: the rule would let everybody in.")
        return {
            "security_group_id": want.security_group,
            "direction": want.direction,
            "ethertype": want.ethertype,
            "port_range_min": want.port_range_min,
            "port_range_max": want.port_range_max,
            "protocol": want.protocol,
            "remote_group_id": await id_of(at.cloud, SECURITY_GROUPS, want.remote_group) if want.remote_group else None,
            "remote_ip_prefix": want.remote_ip_prefix,
            "description": want.description,
        }

    async def find_twin(self, at: Context, want: SecurityGroupRuleProps) -> str | None:
        key = rule_key(await self.body(at, want))
        rules = await at.cloud.list(SECURITY_GROUP_RULES, security_group_id=want.security_group)
        return next((str(rule["id"]) for rule in rules if rule_key(rule) == key), None)


def remote_problems(rule: Mapping[str, Any]) -> Sequence[str]:
    group, prefix = rule.get("remote_group_id"), rule.get("remote_ip_prefix")
    if isinstance(group, str) and not group.strip():
        return ["the remote group is empty: the rule would let everybody in."]
    if isinstance(prefix, str) and not prefix.strip():
        return ["remote_ip_prefix is empty: the rule would let everybody in."]
    if group is not None and prefix is not None:
        return ["give a remote group or remote_ip_prefix, not both."]
    return ()


async def rule_body(at: Context, rule: RuleProps, group: str) -> dict[str, Any]:
    """What the service is sent; a remote group given by its name is looked up."""
    remote_group = rule.remote_group_id
    if remote_group is not None and not remote_group.strip():
        raise ResourceFailed("remote_group_id is empty: the rule would let everybody in.")
    if remote_group is None and rule.remote_mode == "remote_group_id":
        remote_group = group
    if remote_group is not None:
        remote_group = await id_of(at.cloud, SECURITY_GROUPS, remote_group)
    return present(
        {
            "security_group_id": group,
            "direction": rule.direction,
            "ethertype": rule.ethertype,
            "port_range_min": rule.port_range_min,
            "port_range_max": rule.port_range_max,
            "protocol": rule.protocol,
            "remote_group_id": remote_group,
            "remote_ip_prefix": None if remote_group else rule.remote_ip_prefix,
            "description": rule.description,
        }
    )


def rule_key(rule: Mapping[str, Any]) -> tuple[Any, ...]:
    """What makes two rules the same to the service, which writes "any address" as null."""
    prefix = rule.get("remote_ip_prefix")
    protocol = rule.get("protocol")
    return (
        rule["direction"],
        rule.get("ethertype", "IPv4"),
        str(protocol).lower() if protocol is not None else None,
        rule.get("port_range_min"),
        rule.get("port_range_max"),
        rule.get("remote_group_id"),
        None if prefix in ("0.0.0.0/0", "::/0") else prefix,
    )


async def add_rule(at: Context, rule: Mapping[str, Any]) -> None:
    try:
        await at.cloud.create(SECURITY_GROUP_RULES, **rule)
    except CloudConflict:
        return  # it is there, under a spelling that we did not see as the same
