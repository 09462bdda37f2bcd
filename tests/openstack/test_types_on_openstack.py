"""Each type of a cloud service is created, changed, read and deleted on a real OpenStack."""

import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import pytest

from calor.server.cloud.errors import CloudError, CloudMissing
from calor.server.resources.base import ResourceFailed, ResourceType
from calor.server.resources.collections import (
    FLAVORS,
    IMAGES,
    NETWORKS,
    PORTS,
    SERVERS,
)
from calor.server.resources.declare import attributes_of
from calor.server.resources.memory import MemoryContext, Workshop
from calor.server.resources.registry import Types

pytestmark = pytest.mark.slow
TYPES = Types()


class Stack:
    """Resources that go away in reverse order, whatever happens."""

    def __init__(self, workshop: Workshop, cloud_names: Any) -> None:
        self.workshop, self.cloud_names = workshop, cloud_names
        self.made: list[MemoryContext] = []

    def place(self, type_name: str, name: str = "thing", /) -> MemoryContext:
        kind = TYPES.get(type_name)
        assert isinstance(kind, ResourceType)
        context = self.workshop.bench(kind, name)
        self.made.append(context)
        return context

    async def add(self, type_name: str, name: str = "thing", /, **properties: Any) -> MemoryContext:
        context = self.place(type_name, name)
        await context.make(**properties)
        return context

    async def network(self) -> tuple[MemoryContext, MemoryContext]:
        net = await self.add("OS::Neutron::Net", "net")
        subnet = await self.add(
            "OS::Neutron::Subnet",
            "sub",
            network=net.me.physical_id,
            cidr="10.77.0.0/24",
            dns_nameservers=["192.0.2.53"],
        )
        return net, subnet

    async def drop(self, context: MemoryContext) -> None:
        self.made.remove(context)
        await context.remove()

    async def server(self, **more: Any) -> MemoryContext:
        return await self.add("OS::Nova::Server", "server", **(await self.server_properties()), **more)

    async def server_properties(self) -> dict[str, Any]:
        place = self.cloud_names
        flavor, image = await self.ident(FLAVORS, place.flavor), await self.ident(IMAGES, place.image)
        return {"flavor": flavor, "image": image, "user_data_format": "RAW", "availability_zone": place.zone}

    async def ident(self, of: Any, name: str) -> str:
        record = await self.workshop.cloud.find(of, name)
        assert record is not None
        return str(record["id"])


@pytest.fixture
async def stack(lab: Any, workshop: Workshop) -> AsyncIterator[Stack]:
    stack = Stack(workshop, lab.place)
    yield stack
    for context in reversed(stack.made):
        if context.me.physical_id:
            await context.remove()


async def is_there(context: MemoryContext) -> bool:
    assert context.kind.collection is not None and context.me.physical_id
    try:
        await context.cloud.get(context.kind.collection, context.me.physical_id)
    except CloudMissing:
        return False
    return True


async def test_a_network_with_its_subnet(stack: Stack) -> None:
    net, subnet = await stack.network()
    await net.change(name="renamed", tags=["a", "b"])
    assert (await net.read("name"), await net.read("subnets")) == ("renamed", [subnet.me.physical_id])
    assert sorted((await net.read("show"))["tags"]) == ["a", "b"]
    await subnet.change(
        network=net.me.physical_id, cidr="10.77.0.0/24", gateway_ip="", dns_nameservers=[], name="other"
    )
    assert (await subnet.read("gateway_ip"), await subnet.read("dns_nameservers")) == (None, [])
    await stack.drop(subnet)
    await stack.drop(net)
    assert not await is_there(net)


async def test_a_port_with_addresses_and_groups(stack: Stack) -> None:
    net, subnet = await stack.network()
    group = await stack.add("OS::Neutron::SecurityGroup", "group")
    fixed = [{"subnet": subnet.me.physical_id, "ip_address": "10.77.0.7"}]
    want = {"network": net.me.physical_id, "fixed_ips": fixed, "security_groups": [group.me.physical_id]}
    port = await stack.add("OS::Neutron::Port", "port", **want)
    assert (await port.read("fixed_ips"))[0]["ip_address"] == "10.77.0.7"
    assert [one["id"] for one in await port.read("subnets")] == [subnet.me.physical_id]
    pairs = [{"ip_address": "10.77.0.0/25"}]
    await port.change(**want, allowed_address_pairs=pairs, name="named", tags=["x"])
    assert [one["ip_address"] for one in await port.read("allowed_address_pairs")] == ["10.77.0.0/25"]
    await port.kind.release(port, port.was, port.was)
    assert await port.read("fixed_ips") == []


async def test_a_router_its_leg_and_a_floating_ip(stack: Stack) -> None:
    net, subnet = await stack.network()
    router = await stack.add("OS::Neutron::Router", "router", external_gateway_info={"network": "public"})
    leg = await stack.add(
        "OS::Neutron::RouterInterface", "leg", router=router.me.physical_id, subnet=subnet.me.physical_id
    )
    again = dataclasses.replace(leg.me, attempted=True)
    assert await leg.kind.create(leg, leg.was) == again.physical_id, "made twice, it is one"
    port = await stack.add("OS::Neutron::Port", "port", network=net.me.physical_id)
    public = await stack.ident(NETWORKS, "public")
    floating = await stack.add("OS::Neutron::FloatingIP", "fip", floating_network=public)
    joined = await stack.add(
        "OS::Neutron::FloatingIPAssociation",
        "join",
        floatingip_id=floating.me.physical_id,
        port_id=port.me.physical_id,
    )
    assert await floating.read("port_id") == port.me.physical_id
    with pytest.raises(CloudError, match=r"(?i)floating|required"):
        await leg.kind.delete(leg, leg.was)
    await stack.drop(joined)
    assert await floating.read("port_id") is None
    await floating.change(floating_network=public, port_id=port.me.physical_id)
    assert await floating.read("fixed_ip_address") == (await port.read("fixed_ips"))[0]["ip_address"]
    await router.change(external_gateway_info={"network": "public"}, name="renamed")
    assert await router.read("name") == "renamed"


async def test_a_security_group_has_exactly_the_rules_of_the_template(stack: Stack) -> None:
    rules = [
        {"protocol": "tcp", "port_range_min": 22, "port_range_max": 22, "remote_ip_prefix": "0.0.0.0/0"},
        {"protocol": "icmp"},
        {"remote_mode": "remote_group_id"},
    ]
    group = await stack.add("OS::Neutron::SecurityGroup", "group", rules=rules)
    found = (await group.read("show"))["security_group_rules"]
    assert sorted((rule["direction"], rule["protocol"] or "") for rule in found) == [
        ("egress", ""),
        ("egress", ""),
        ("ingress", ""),
        ("ingress", "icmp"),
        ("ingress", "tcp"),
    ]
    assert [rule["remote_group_id"] for rule in found if rule["remote_group_id"]] == [group.me.physical_id]
    kept = {rule["id"] for rule in found if rule["protocol"] == "icmp"}
    await group.change(rules=[{"protocol": "icmp"}, {"direction": "egress", "protocol": "udp"}], description="d")
    found = (await group.read("show"))["security_group_rules"]
    assert sorted((rule["direction"], rule["protocol"]) for rule in found) == [("egress", "udp"), ("ingress", "icmp")]
    assert {rule["id"] for rule in found if rule["protocol"] == "icmp"} == kept
    rule = await stack.add(
        "OS::Neutron::SecurityGroupRule",
        "rule",
        security_group=group.me.physical_id,
        port_range_min=80,
        port_range_max=80,
    )
    rule.crashed()
    assert await rule.kind.find_twin(rule, rule.was) is not None
    stack.made.remove(rule)


async def test_f155_a_remote_group_that_is_not_there_opens_nothing(stack: Stack) -> None:
    group = await stack.add("OS::Neutron::SecurityGroup", "group")
    unknown = stack.place("OS::Neutron::SecurityGroupRule", "rule")
    with pytest.raises(CloudMissing, match="nobody"):
        await unknown.make(security_group=group.me.physical_id, remote_group="nobody")
    for rules in ([{"remote_group_id": "00000000-0000-0000-0000-000000000000"}],):
        with pytest.raises(CloudError):
            await group.change(rules=rules)
    found = (await group.read("show"))["security_group_rules"]
    assert [rule for rule in found if rule["direction"] == "ingress"] == []


async def test_a_key_pair_with_its_private_key(stack: Stack) -> None:
    pair = await stack.add("OS::Nova::KeyPair", "key", name="calor test key", save_private_key=True)
    secret = await pair.read("private_key")
    assert "PRIVATE KEY" in secret.value and str(secret) == "***"
    assert (await pair.read("public_key")).startswith("ssh-rsa ")
    await pair.kind.check(pair, pair.was)
    await stack.drop(pair)
    with pytest.raises(ResourceFailed):
        await pair.kind.check(pair, pair.was)


async def test_a_volume_grows_and_is_found_again(stack: Stack) -> None:
    volume = await stack.add("OS::Cinder::Volume", "volume", size=1, metadata={"mine": "yes"}, name="vol")
    ident = volume.me.physical_id
    assert (await volume.read("size"), await volume.read("status")) == ("1", "available")
    assert await volume.read("metadata_values") == {"mine": "yes"}
    assert await volume.kind.find_twin(volume, volume.was) == ident
    await volume.change(size=2, metadata={"mine": "no"}, name="vol2", description="d", read_only=True)
    assert (await volume.read("size"), await volume.read("display_description")) == ("2", "d")
    assert await volume.read("metadata_values") == {"mine": "no", "readonly": "True"} or {"mine": "no"}
    await stack.drop(volume)
    assert not await is_there(volume)


async def test_a_server_through_its_whole_life(stack: Stack) -> None:
    net, _ = await stack.network()
    base = await stack.server_properties()
    networks = [{"network": net.me.physical_id}]
    server = await stack.add(
        "OS::Nova::Server", "server", **base, networks=networks, metadata={"role": "web"}, tags=["t"]
    )
    ident = server.me.physical_id
    assert (await server.read("first_address")).startswith("10.77.0.")
    addresses = await server.read("addresses")
    assert addresses[net.me.physical_id][0]["port"]
    assert (await server.read("networks"))[net.me.physical_id] == [await server.read("first_address")]
    assert await server.kind.find_twin(server, server.was) == ident
    assert await server.read("tags") == ["t"]
    volume = await stack.add("OS::Cinder::Volume", "volume", size=1)
    attachment = await stack.add(
        "OS::Cinder::VolumeAttachment", "attachment", instance_uuid=ident, volume_id=volume.me.physical_id
    )
    assert await volume.read("status") == "in-use"
    await stack.drop(attachment)
    assert await volume.read("status") == "available"
    await server.change(**base, networks=networks, metadata={"role": "db"}, name="renamed", tags=["u"])
    assert (await server.read("show"))["metadata"] == {"role": "db", "calor_resource": server.me.id}
    await server.kind.check(server, server.was)
    await server.kind.suspend(server, server.was)
    with pytest.raises(ResourceFailed, match="SUSPENDED"):
        await server.kind.check(server, server.was)
    await server.kind.resume(server, server.was)
    await stack.drop(server)
    assert not await is_there(server)


async def test_a_server_is_resized_and_rebuilt_in_place(stack: Stack) -> None:
    base = await stack.server_properties()
    private = await stack.ident(NETWORKS, "private")
    networks = [{"network": private}]
    server = await stack.add("OS::Nova::Server", "server", **base, networks=networks)
    tiny = await stack.ident(FLAVORS, "m1.tiny")
    await server.change(**{**base, "flavor": tiny}, networks=networks)
    assert (await server.read("show"))["flavor"]["original_name"] == "m1.tiny"
    policy = {"user_data_update_policy": "REBUILD", "user_data": "#!/bin/sh\ntrue\n"}
    await server.change(**{**base, "flavor": tiny}, networks=networks, **policy)
    assert (await server.read("show"))["status"] == "ACTIVE"


async def test_ports_that_the_server_type_makes_go_with_the_server(stack: Stack) -> None:
    net, subnet = await stack.network()
    group = await stack.add("OS::Neutron::SecurityGroup", "group")
    base = {**(await stack.server_properties()), "security_groups": [group.me.physical_id]}
    networks = [{"subnet": subnet.me.physical_id, "fixed_ip": "10.77.0.9"}]
    server = await stack.add("OS::Nova::Server", "server", **base, networks=networks)
    (port,) = await stack.workshop.cloud.list(PORTS, network_id=net.me.physical_id, device_id=server.me.physical_id)
    assert port["fixed_ips"][0]["ip_address"] == "10.77.0.9"
    assert port["security_groups"] == [group.me.physical_id]
    more = [*networks, {"network": net.me.physical_id}]
    await server.change(**base, networks=more)
    assert len((await server.read("networks"))[net.me.physical_id]) == 2
    await server.change(**base, networks=networks)
    (left,) = await stack.workshop.cloud.list(PORTS, device_id=server.me.physical_id)
    assert left["fixed_ips"][0]["ip_address"] == "10.77.0.9"
    await stack.drop(server)
    ports = await stack.workshop.cloud.list(PORTS, network_id=net.me.physical_id)
    assert [one for one in ports if one["name"].startswith(server.me.physical_name)] == []


async def test_a_server_that_cannot_be_placed_says_why(stack: Stack) -> None:
    base = await stack.server_properties()
    large = await stack.ident(FLAVORS, "m1.xlarge")
    server = stack.place("OS::Nova::Server", "server")
    hints = {"same_host": "00000000-0000-0000-0000-000000000000"}
    private = await stack.ident(NETWORKS, "private")
    with pytest.raises(CloudError, match=r"(?i)no valid host|not be found|Went to status ERROR"):
        await server.make(**{**base, "flavor": large}, networks=[{"network": private}], scheduler_hints=hints)
    for record in await stack.workshop.cloud.list(SERVERS, name=server.me.physical_name):
        await stack.workshop.cloud.delete(SERVERS, str(record["id"]))


async def test_every_attribute_of_every_cloud_type_can_be_read(stack: Stack) -> None:
    net, subnet = await stack.network()
    port = await stack.add("OS::Neutron::Port", "port", network=net.me.physical_id)
    router = await stack.add("OS::Neutron::Router", "router")
    volume = await stack.add("OS::Cinder::Volume", "volume", size=1)
    server = await stack.server(networks=[{"port": port.me.physical_id}])
    for context in (net, subnet, port, router, volume, server):
        for name in attributes_of(context.kind):
            if name not in ("segments", "console_urls"):
                await context.read(name)
