"""Neutron, driven by openstacksdk."""

import pytest
from openstack.exceptions import BadRequestException, ConflictException, NotFoundException


@pytest.fixture
def net(demo):
    return demo.network.create_network(name="n", description="mine")


@pytest.fixture
def subnet(demo, net):
    return demo.network.create_subnet(network_id=net.id, cidr="192.168.77.0/24", ip_version=4)


def test_a_subnet_gets_gateway_and_pool_and_a_port_an_address(demo, net, subnet):
    assert (subnet.gateway_ip, subnet.allocation_pools) == (
        "192.168.77.1",
        [{"start": "192.168.77.2", "end": "192.168.77.254"}],
    )
    port = demo.network.create_port(network_id=net.id)
    assert port.fixed_ips == [{"subnet_id": subnet.id, "ip_address": "192.168.77.2"}]
    assert port.security_group_ids == [g.id for g in demo.network.security_groups(name="default")]
    assert demo.network.get_network(net.id).subnet_ids == [subnet.id]
    assert [n.id for n in demo.network.networks(description="mine")] == [net.id]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"cidr": "192.168.77.0/25"}, "overlaps with another subnet"),
        ({"cidr": "192.168.999.0/25"}, "is not in a CIDR format"),
        ({"cidr": "10.1.0.0/24", "gateway_ip": "10.2.0.1"}, "Gateway is not valid on subnet"),
        ({"cidr": "10.1.0.0/24", "allocation_pools": [{"start": "10.2.0.2", "end": "10.2.0.9"}]}, "spans beyond"),
        ({"cidr": "10.1.0.0/24", "ip_version": 6}, "does not match the ip_version"),
    ],
)
def test_a_wrong_subnet_is_refused(demo, net, subnet, asked, message):
    with pytest.raises(BadRequestException, match=message):
        demo.network.create_subnet(network_id=net.id, **{"ip_version": 4, **asked})


def test_a_gateway_inside_a_pool_conflicts(demo, net):
    with pytest.raises(ConflictException, match=r"conflicts with allocation pool 10\.1\.0\.2-10\.1\.0\.9"):
        demo.network.create_subnet(
            network_id=net.id,
            cidr="10.1.0.0/24",
            ip_version=4,
            gateway_ip="10.1.0.5",
            allocation_pools=[{"start": "10.1.0.2", "end": "10.1.0.9"}],
        )


def test_addresses_and_macs_are_given_once(demo, net, subnet):
    port = demo.network.create_port(network_id=net.id)
    taken = port.fixed_ips[0]["ip_address"]
    with pytest.raises(ConflictException, match="already allocated"):
        demo.network.create_port(network_id=net.id, fixed_ips=[{"ip_address": taken}])
    with pytest.raises(BadRequestException, match="not a valid IP for any"):
        demo.network.create_port(network_id=net.id, fixed_ips=[{"ip_address": "1.2.3.4"}])
    with pytest.raises(ConflictException, match="is in use"):
        demo.network.create_port(network_id=net.id, mac_address=port.mac_address)


def test_what_is_in_use_cannot_be_deleted(demo, net, subnet):
    port = demo.network.create_port(network_id=net.id)
    with pytest.raises(ConflictException, match="One or more ports have an IP allocation"):
        demo.network.delete_subnet(subnet, ignore_missing=False)
    with pytest.raises(ConflictException, match="still in use on the network"):
        demo.network.delete_network(net, ignore_missing=False)
    group = demo.network.create_security_group(name="g")
    demo.network.update_port(port, security_groups=[group.id])
    with pytest.raises(ConflictException, match="in use"):
        demo.network.delete_security_group(group, ignore_missing=False)
    demo.network.delete_port(port, ignore_missing=False)
    demo.network.delete_security_group(group, ignore_missing=False)
    demo.network.delete_network(net, ignore_missing=False)
    with pytest.raises(NotFoundException):
        demo.network.get_subnet(subnet.id)


def test_routes_are_added_to_a_router_beside_others(dev_cloud, demo, net, subnet):
    router = demo.network.create_router(name="r")
    demo.network.add_interface_to_router(router, subnet_id=subnet.id)
    hop = subnet.gateway_ip
    one, other = ({"destination": f"192.168.{n}.0/24", "nexthop": hop} for n in (1, 2))
    demo.network.add_extra_routes_to_router(router, {"router": {"routes": [one]}})
    demo.network.add_extra_routes_to_router(router, {"router": {"routes": [one, other]}})
    assert demo.network.get_router(router).routes == [one, other]
    demo.network.remove_extra_routes_from_router(router, {"router": {"routes": [one]}})
    assert demo.network.get_router(router).routes == [other]
    lost = {"destination": "192.168.3.0/24", "nexthop": "203.0.113.1"}
    with pytest.raises(BadRequestException):
        demo.network.add_extra_routes_to_router(router, {"router": {"routes": [lost]}})


def test_a_floating_ip_leads_through_a_router_to_a_port(dev_cloud, demo, net, subnet):
    public = demo.network.find_network("public", ignore_missing=False)
    port = demo.network.create_port(network_id=net.id)
    with pytest.raises(NotFoundException, match="is not reachable from subnet"):
        demo.network.create_ip(floating_network_id=public.id, port_id=port.id)
    router = demo.network.create_router(name="r", external_gateway_info={"network_id": public.id})
    demo.network.add_interface_to_router(router, subnet_id=subnet.id)
    with pytest.raises(BadRequestException, match="overlaps with cidr"):
        demo.network.add_interface_to_router(router, subnet_id=subnet.id)
    floating = demo.network.create_ip(floating_network_id=public.id, port_id=port.id)
    assert (floating.router_id, floating.status) == (router.id, "ACTIVE")
    dev_cloud.converge()
    wiring = dev_cloud.driver.routers[router.id]
    assert wiring.floating == ((floating.floating_ip_address, port.fixed_ips[0]["ip_address"]),)
    assert wiring.legs == ((net.id, "192.168.77.1", 24),)
    assert wiring.external[0] == public.id
    with pytest.raises(ConflictException, match="already has a floating IP"):
        demo.network.create_ip(floating_network_id=public.id, port_id=port.id)
    with pytest.raises(ConflictException, match="required by one or more floating IPs"):
        demo.network.remove_interface_from_router(router, subnet_id=subnet.id)
    with pytest.raises(ConflictException, match="has ports still attached"):
        demo.network.delete_router(router, ignore_missing=False)
    demo.network.update_ip(floating, port_id=None)
    demo.network.remove_interface_from_router(router, subnet_id=subnet.id)
    demo.network.delete_router(router, ignore_missing=False)
    demo.network.delete_ip(floating, ignore_missing=False)
    demo.network.delete_port(port)
    demo.network.delete_network(net, ignore_missing=False)
    dev_cloud.converge()
    assert router.id not in dev_cloud.driver.routers
    assert net.id not in dev_cloud.driver.networks


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"protocol": "tcp", "port_range_min": 23, "port_range_max": 22}, "port_range_min must be <= port_range_max"),
        ({"port_range_min": 22, "port_range_max": 22}, "Must also specify protocol"),
        ({"protocol": "tcp", "remote_ip_prefix": "10.0.0.0/33"}, "Invalid CIDR"),
        ({"protocol": "nonsense"}, "not supported"),
        ({"remote_ip_prefix": "fe80::/64"}, "Conflicting value ethertype"),
    ],
)
def test_a_wrong_rule_is_refused(demo, rule, message):
    group = demo.network.create_security_group(name="g")
    with pytest.raises(BadRequestException, match=message):
        demo.network.create_security_group_rule(security_group_id=group.id, direction="ingress", **rule)


def test_rules_of_a_group_reach_the_ports_of_running_servers(dev_cloud, demo, net, subnet):
    group = demo.network.create_security_group(name="g")
    assert {r["direction"] for r in group.security_group_rules} == {"egress"}
    server = demo.compute.create_server(
        name="s",
        image_id=demo.image.find_image("host", ignore_missing=False).id,
        flavor_id="1",
        networks=[{"uuid": net.id}],
        security_groups=[{"name": "g"}],
    )
    demo.compute.wait_for_server(server, wait=10, interval=0.05)
    rule = demo.network.create_security_group_rule(
        security_group_id=group.id, direction="ingress", protocol="tcp", port_range_min=80, port_range_max=80
    )
    with pytest.raises(ConflictException, match=f"Rule id is {rule.id}"):
        demo.network.create_security_group_rule(
            security_group_id=group.id, direction="ingress", protocol="tcp", port_range_min=80, port_range_max=80
        )
    demo.network.create_security_group_rule(security_group_id=group.id, direction="ingress", remote_group_id=group.id)
    dev_cloud.converge()
    (wiring,) = [p for p in dev_cloud.driver.ports.values() if p.network_id == net.id]
    ingress = [r for r in wiring.rules if r.direction == "ingress"]
    assert {(r.port_min, tuple(r.remotes)) for r in ingress} == {
        (80, ("0.0.0.0/0",)),
        (None, (wiring.fixed_ips[0].address + "/32",)),
    }


def test_tags_and_filters_and_fields(demo, net):
    demo.network.set_tags(net, ["a", "b"])
    assert [n.id for n in demo.network.networks(tags="a,b")] == [net.id]
    assert list(demo.network.networks(tags="c")) == []
    assert {n.name for n in demo.network.networks(is_router_external=True)} == {"public"}
    assert demo.network.find_extension("security-group", ignore_missing=False).alias == "security-group"


def test_what_only_others_own_cannot_be_changed(demo, admin):
    private = demo.network.find_network("private", ignore_missing=False)
    with pytest.raises(Exception, match="disallowed by policy"):
        demo.network.update_network(private, name="mine")
    hidden = admin.network.create_network(name="hidden")
    with pytest.raises(NotFoundException):
        demo.network.get_network(hidden.id)
