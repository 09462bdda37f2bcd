"""Network types in memory: creating once, changing by difference, and never opening more than was asked."""

from collections.abc import Callable
from typing import Any

import pytest

from calor.server.cloud.errors import CloudMissing, CloudUncertain
from calor.server.cloud.memory import MemoryCloud
from calor.server.resources.base import ResourceFailed
from calor.server.resources.collections import NETWORKS, PORTS, SECURITY_GROUPS
from calor.server.resources.memory import MemoryContext
from calor.server.resources.neutron.security_group import rule_key

Bench = Callable[..., MemoryContext]
GROUP, RULE = "OS::Neutron::SecurityGroup", "OS::Neutron::SecurityGroupRule"


def rules(cloud: MemoryCloud) -> list[dict[str, Any]]:
    return list(cloud.records["security_group_rule"].values())


@pytest.mark.parametrize("name", [None, "a name that others have too"])
async def test_a_network_whose_answer_was_lost_is_found(cloud: MemoryCloud, bench: Bench, name: str | None) -> None:
    await cloud.create(NETWORKS, name="a name that others have too")
    net = bench("OS::Neutron::Net")
    cloud.lose.add("network")
    with pytest.raises(CloudUncertain):
        await net.make(name=name)
    twin = await net.kind.find_twin(net, net.typed({"name": name}))
    assert twin is not None and (await cloud.get(NETWORKS, twin))["description"].endswith(net.me.id)


async def test_a_group_with_name_and_description_of_its_own_is_told_from_those_before(
    cloud: MemoryCloud, bench: Bench
) -> None:
    before = await cloud.create(SECURITY_GROUPS, name="web", description="d")
    group = bench(GROUP)
    cloud.lose.add("security_group")
    with pytest.raises(CloudUncertain):
        await group.make(name="web", description="d")
    group.crashed()
    twin = await group.kind.find_twin(group, group.typed({"name": "web", "description": "d"}))
    assert twin not in (None, before["id"])


async def test_nothing_made_is_no_twin(bench: Bench) -> None:
    net = bench("OS::Neutron::Net")
    assert await net.kind.find_twin(net, net.typed({})) is None


async def test_an_update_sends_the_difference_only(cloud: MemoryCloud, bench: Bench) -> None:
    subnet = bench("OS::Neutron::Subnet")
    base = {"network": "n", "cidr": "10.0.0.0/24"}
    ident = await subnet.make(**base, gateway_ip="")
    record = cloud.records["subnet"][str(ident)]
    assert record["gateway_ip"] is None, "an empty gateway means none"
    record["name"] = "changed by hand"
    await subnet.change(**base, gateway_ip="10.0.0.1", dns_nameservers=["192.0.2.1"])
    assert (record["gateway_ip"], record["dns_nameservers"]) == ("10.0.0.1", ["192.0.2.1"])
    assert record["name"] == "changed by hand"


async def test_what_is_no_longer_set_is_taken_back(cloud: MemoryCloud, bench: Bench) -> None:
    port = bench("OS::Neutron::Port")
    ident = await port.make(network="n", device_id="x", dns_name="d", value_specs={"hints": {"a": 1}})
    record = cloud.records["port"][str(ident)]
    assert (record["device_id"], record["hints"]) == ("x", {"a": 1})
    await port.change(network="n")
    assert (record["device_id"], record["dns_name"]) == ("", "")
    router = bench("OS::Neutron::Router")
    network = (await cloud.create(NETWORKS, name="public"))["id"]
    ident = await router.make(external_gateway_info={"network": "public", "enable_snat": False})
    assert cloud.records["router"][str(ident)]["external_gateway_info"] == {"network_id": network, "enable_snat": False}
    await router.change()
    assert cloud.records["router"][str(ident)]["external_gateway_info"] == {}


async def test_a_ports_groups_may_be_names_and_one_that_is_missing_fails(cloud: MemoryCloud, bench: Bench) -> None:
    group = (await cloud.create(SECURITY_GROUPS, name="web"))["id"]
    port = bench("OS::Neutron::Port")
    ident = await port.make(network="n", security_groups=["web"])
    assert cloud.records["port"][str(ident)]["security_groups"] == [group]
    with pytest.raises(CloudMissing, match="'nobody'"):
        await bench("OS::Neutron::Port").make(network="n", security_groups=["nobody"])
    assert len(cloud.records["port"]) == 1


@pytest.mark.parametrize("remote", ["", " ", "nobody"])
async def test_f155_a_rule_whose_remote_group_is_not_there_is_never_made(
    cloud: MemoryCloud, bench: Bench, remote: str
) -> None:
    rule = bench(RULE)
    with pytest.raises((ResourceFailed, CloudMissing)):
        await rule.make(security_group="g", remote_group=remote)
    assert rules(cloud) == []
    if not remote.strip():
        assert rule.kind.validate({"security_group": "g", "remote_group": remote})
        group = bench(GROUP)
        assert group.kind.validate({"rules": [{"remote_group_id": remote, "remote_mode": "remote_group_id"}]})


async def test_f155_a_remote_group_is_kept_whatever_the_mode_says(cloud: MemoryCloud, bench: Bench) -> None:
    """Heat drops it in the mode remote_ip_prefix, the default: the rule is then open to the world."""
    group = bench(GROUP)
    await group.make(rules=[{"remote_group_id": "00000000-0000-0000-0000-00000000000a"}])
    made = [rule for rule in rules(cloud) if rule["direction"] == "ingress"]
    assert [rule["remote_group_id"] for rule in made] == ["00000000-0000-0000-0000-00000000000a"]


async def test_a_group_of_its_own_members(cloud: MemoryCloud, bench: Bench) -> None:
    group = bench(GROUP)
    ident = await group.make(rules=[{"remote_mode": "remote_group_id"}])
    assert [rule["remote_group_id"] for rule in rules(cloud) if rule["direction"] == "ingress"] == [ident]


def test_the_services_spelling_of_a_rule_is_the_templates() -> None:
    ours = {"direction": "ingress", "ethertype": "IPv4", "protocol": "TCP", "remote_ip_prefix": "0.0.0.0/0"}
    theirs = {"direction": "ingress", "ethertype": "IPv4", "protocol": "tcp", "remote_ip_prefix": None, "id": "x"}
    assert rule_key(ours) == rule_key(theirs)


async def test_an_address_that_another_has_taken_since_is_left_alone(cloud: MemoryCloud, bench: Bench) -> None:
    floating = bench("OS::Neutron::FloatingIP")
    ident = await floating.make(floating_network="n")
    joined = bench("OS::Neutron::FloatingIPAssociation")
    await joined.make(floatingip_id=ident, port_id="mine")
    record = cloud.records["floating_ip"][str(ident)]
    assert record["port_id"] == "mine"
    record["port_id"] = "another's"
    await joined.remove()
    assert record["port_id"] == "another's"


async def test_a_routers_leg_is_its_own_key(cloud: MemoryCloud, bench: Bench) -> None:
    leg = bench("OS::Neutron::RouterInterface")
    assert await leg.make(router="r", subnet="s") == "r:subnet_id=s"
    await leg.remove()
    assert cloud.calls[-1] == ("network", "put", "/routers/r/remove_router_interface", {"subnet_id": "s"})
    assert leg.kind.validate({"router": "r"}) and leg.kind.validate({"router": "r", "subnet": "s", "port": "p"})
    assert leg.kind.translate({"router_id": "r", "port_id": "p"}) == {"router": "r", "port": "p"}


async def test_a_set_of_routes_touches_no_others(cloud: MemoryCloud, bench: Bench) -> None:
    router = str(await bench("OS::Neutron::Router").make())
    others, mine, more = ({"destination": f"10.{n}.0.0/16", "nexthop": "10.9.0.1"} for n in (1, 2, 3))
    cloud.records["router"][router]["routes"] = [others]
    routes = bench("OS::Neutron::ExtraRouteSet")
    with pytest.raises(ResourceFailed, match="already"):
        await routes.make(router=router, routes=[others])
    await routes.make(router=router, routes=[mine])
    path = f"/routers/{router}/add_extraroutes"
    assert cloud.calls[-1] == ("network", "put", path, {"router": {"routes": [mine]}})
    cloud.records["router"][router]["routes"] = [others, mine]
    await routes.change(router=router, routes=[more])
    assert [(call[2].rsplit("/", 1)[1], call[3]["router"]["routes"]) for call in cloud.calls[-2:]] == [
        ("remove_extraroutes", [mine]),
        ("add_extraroutes", [more]),
    ]
    await routes.remove()
    assert cloud.calls[-1][2:] == (f"/routers/{router}/remove_extraroutes", {"router": {"routes": [more]}})


async def test_what_a_ports_replacement_needs_is_freed(cloud: MemoryCloud, bench: Bench) -> None:
    port = bench("OS::Neutron::Port")
    ident = await port.make(network="n", fixed_ips=[{"ip_address": "10.0.0.7"}])
    await port.kind.release(port, port.was, port.was)
    assert (await cloud.get(PORTS, str(ident)))["fixed_ips"] == []


@pytest.mark.parametrize(
    ("type_name", "properties", "problem"),
    [
        ("OS::Neutron::Subnet", {"network": "n"}, "either cidr or subnetpool"),
        ("OS::Neutron::Subnet", {"network": "n", "cidr": "c", "prefixlen": 24}, "stands alone"),
        ("OS::Neutron::Subnet", {"network": "n", "cidr": "c", "ipv6_ra_mode": "slaac"}, "ip_version 6"),
        ("OS::Neutron::Router", {"ha": True, "distributed": True}, "not both"),
        ("OS::Neutron::Router", {"l3_agent_ids": ["a", "b"]}, "ha: true"),
        (GROUP, {"name": "default"}, "default"),
        (RULE, {"security_group": "g", "remote_group": "a", "remote_ip_prefix": "b"}, "not both"),
        ("OS::Cinder::Volume", {}, "Give size"),
        ("OS::Cinder::Volume", {"size": 1, "image": "i", "snapshot_id": "s"}, "exclude each other"),
    ],
)
def test_what_does_not_fit_together_is_said(
    bench: Bench, type_name: str, properties: dict[str, Any], problem: str
) -> None:
    assert problem in "\n".join(bench(type_name).kind.validate(properties))
