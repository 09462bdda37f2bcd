"""The lives of stacks on a cloud, through the unmodified `openstack` client: create, update, delete, nothing left."""

import copy
from typing import Any

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
]  # openstacksdk of itself
HOT = "2021-04-16"


def server(lab: Any, **more: Any) -> dict[str, Any]:
    place = lab.place
    basics = {"image": place.image, "flavor": place.flavor, "availability_zone": place.zone}
    return {"type": "OS::Nova::Server", "properties": {**basics, "user_data_format": "RAW", **more}}


def typed(kind: str, **properties: Any) -> dict[str, Any]:
    return {"type": kind, "properties": properties}


def ref(name: str) -> dict[str, str]:
    return {"get_resource": name}


def landscape(lab: Any) -> dict[str, Any]:
    """One of everything: a routed network, a server at it with a volume and a public address."""
    rules = [{"protocol": "tcp", "port_range_min": 80, "port_range_max": 80}, {"protocol": "icmp"}]
    resources = {
        "net": typed("OS::Neutron::Net"),
        "subnet": typed("OS::Neutron::Subnet", network=ref("net"), cidr="10.78.0.0/24"),
        "router": typed("OS::Neutron::Router", external_gateway_info={"network": "public"}),
        "leg": typed("OS::Neutron::RouterInterface", router=ref("router"), subnet=ref("subnet")),
        "group": typed("OS::Neutron::SecurityGroup", rules=rules),
        "port": typed(
            "OS::Neutron::Port",
            network=ref("net"),
            fixed_ips=[{"subnet": ref("subnet")}],
            security_groups=[ref("group")],
        ),
        "key": typed("OS::Nova::KeyPair", name={"list_join": ["-", [{"get_param": "OS::stack_name"}, "key"]]}),
        "server": server(lab, key_name=ref("key"), networks=[{"port": ref("port")}], metadata={"role": "web"}),
        "volume": typed("OS::Cinder::Volume", size=1),
        "attachment": typed("OS::Cinder::VolumeAttachment", instance_uuid=ref("server"), volume_id=ref("volume")),
        "address": typed("OS::Neutron::FloatingIP", floating_network="public"),
        "association": {
            **typed("OS::Neutron::FloatingIPAssociation", floatingip_id=ref("address"), port_id=ref("port")),
            "depends_on": "leg",
        },
    }
    outputs = {
        "public": {"value": {"get_attr": ["address", "floating_ip_address"]}},
        "private": {"value": {"get_attr": ["server", "first_address"]}},
        "rules": {"value": {"get_attr": ["group", "show", "security_group_rules"]}},
    }
    return {"heat_template_version": HOT, "resources": resources, "outputs": outputs}


@pytest.mark.parametrize("user", ["demo", "admin"])
def test_a_routed_server_with_volume_and_address_is_created_changed_and_deleted(
    lab: Any, cli: Any, stacks: Any, user: str
) -> None:
    template = landscape(lab)
    name = stacks.create("landscape", template, cloud=user)
    made, sdk = cli.physical(name, cloud=user), cli.connection(user)
    seen = cli.outputs(name, cloud=user)
    assert seen["private"].startswith("10.78.0.")
    machine = sdk.compute.get_server(made["server"])
    assert (machine.status, machine.availability_zone) == ("ACTIVE", lab.place.zone)
    assert machine.key_name == made["key"] == f"{name}-key"
    assert {one["addr"] for one in next(iter(machine.addresses.values()))} == {seen["private"], seen["public"]}
    (attachment,) = sdk.block_storage.get_volume(made["volume"]).attachments
    assert attachment["server_id"] == made["server"]
    assert attachment["device"].startswith("/dev/")
    assert sdk.network.get_ip(made["address"]).port_id == made["port"]
    assert sdk.network.get_port(made["port"]).device_id == made["server"]

    stacks.update(name, template)
    assert cli.physical(name, cloud=user) == made, "the same template changes nothing"

    stacks.update(name, changed := in_place(template))
    assert cli.physical(name, cloud=user) == made, "nothing was replaced"
    machine = sdk.compute.get_server(made["server"])
    assert (machine.name, machine.metadata["role"]) == (f"{name}-renamed", "db")
    ports = {rule["port_range_min"] for rule in sdk.network.get_security_group(made["group"]).security_group_rules}
    assert ports == {None, 443}
    assert sdk.block_storage.get_volume(made["volume"]).name == "renamed"

    stacks.update(name, by_replacement(changed))
    after = cli.physical(name, cloud=user)
    assert {key for key in made if made[key] != after[key]} == {"key", "server"}
    assert cli.outputs(name, cloud=user)["private"] == seen["private"]
    assert sdk.compute.find_server(made["server"]) is None
    assert sdk.network.get_port(made["port"]).device_id == after["server"], "the port went on to the new server"
    assert sdk.block_storage.get_volume(made["volume"]).attachments[0]["server_id"] == after["server"]
    assert sdk.network.get_ip(made["address"]).port_id == made["port"]
    elsewhere = copy.deepcopy(by_replacement(changed))
    elsewhere["resources"]["subnet"]["properties"]["cidr"] = "10.79.0.0/24"
    cli.openstack("stack", "update", "-t", stacks.write(elsewhere), name, cloud=user)
    assert stacks.state(name) == "UPDATE_FAILED", "an address that a floating IP leads to stays"
    assert "associated to a floating ip" in stacks.failures(name)
    stacks.delete(name)


def in_place(template: dict[str, Any]) -> dict[str, Any]:
    want = copy.deepcopy(template)
    resources = want["resources"]
    resources["server"]["properties"]["name"] = {
        "list_join": ["-", [{"get_param": "OS::stack_name"}, "renamed"]],
    }
    resources["server"]["properties"]["metadata"] = {"role": "db"}
    resources["group"]["properties"]["rules"][0] |= {"port_range_min": 443, "port_range_max": 443}
    resources["volume"]["properties"]["name"] = "renamed"
    return want


def by_replacement(template: dict[str, Any]) -> dict[str, Any]:
    """Another key: a new server, at the port, volume and address that there are."""
    want = copy.deepcopy(template)
    want["resources"]["key"]["properties"]["name"] = {"list_join": ["-", [{"get_param": "OS::stack_name"}, "other"]]}
    return want


def test_a_group_of_nested_servers_grows_and_shrinks(lab: Any, cli: Any, stacks: Any) -> None:
    member = {
        "heat_template_version": HOT,
        "parameters": {"number": {"type": "string"}},
        "resources": {
            "volume": typed("OS::Cinder::Volume", size=1),
            "server": server(lab, networks=[{"network": "private"}], metadata={"number": {"get_param": "number"}}),
            "attachment": typed("OS::Cinder::VolumeAttachment", instance_uuid=ref("server"), volume_id=ref("volume")),
        },
        "outputs": {"address": {"value": {"get_attr": ["server", "first_address"]}}},
    }
    stacks.write(member, "member.yaml")

    def group(count: int) -> dict[str, Any]:
        definition = {"type": "member.yaml", "properties": {"number": "%index%"}}
        return {
            "heat_template_version": HOT,
            "resources": {"members": typed("OS::Heat::ResourceGroup", count=count, resource_def=definition)},
            "outputs": {"addresses": {"value": {"get_attr": ["members", "address"]}}},
        }

    def servers() -> set[str]:
        rows = cli.json("stack", "resource", "list", "-n", "5", name)
        return {row["physical_resource_id"] for row in rows if row["resource_type"] == "OS::Nova::Server"}

    name = stacks.create("group", group(2))
    first = servers()
    assert len(first) == len(set(cli.outputs(name)["addresses"])) == 2
    stacks.update(name, group(3))
    assert len(servers()) == 3 and servers() > first
    stacks.update(name, group(1))
    assert len(servers()) == 1 and servers() < first
    stacks.delete(name)


def test_an_update_that_fails_is_rolled_back_to_what_was(lab: Any, cli: Any, stacks: Any) -> None:
    good = {"heat_template_version": HOT, "resources": {"server": server(lab, networks=[{"network": "private"}])}}
    name = stacks.create("rollback", good)
    before = cli.physical(name)
    bad = copy.deepcopy(good)
    bad["resources"]["volume"] = typed("OS::Cinder::Volume", size=1)
    nowhere = {"same_host": "00000000-0000-0000-0000-000000000000"}
    bad["resources"]["other"] = server(lab, networks=[{"network": "private"}], scheduler_hints=nowhere)
    words = ("stack", "update", "--wait", "--rollback", "enabled", "-t", stacks.write(bad), name)
    assert cli.run(*words).returncode != 0, "it waits for the failure, and does not wait for ever"
    assert stacks.state(name) == "ROLLBACK_COMPLETE"
    assert cli.physical(name) == before
    events = cli.openstack("stack", "event", "list", name)
    assert "No valid host was found" in events
    stacks.delete(name)


def test_what_the_cloud_has_not_is_said_before_anything_is_made(lab: Any, cli: Any, stacks: Any) -> None:
    wrong = server(lab, networks=[{"network": "private"}])
    wrong["properties"]["flavor"] = "m1.nonesuch"
    template = {"heat_template_version": HOT, "resources": {"net": typed("OS::Neutron::Net"), "server": wrong}}
    answer = cli.run("stack", "create", "--wait", "-t", stacks.write(template), stacks.name("wrong"))
    assert answer.returncode != 0
    assert "m1.nonesuch" in answer.stdout + answer.stderr


def test_a_stack_that_fails_can_be_mended_by_an_update(lab: Any, cli: Any, stacks: Any) -> None:
    nowhere = {"same_host": "00000000-0000-0000-0000-000000000000"}
    template = {
        "heat_template_version": HOT,
        "resources": {
            "volume": typed("OS::Cinder::Volume", size=1),
            "server": server(lab, networks=[{"network": "private"}], scheduler_hints=nowhere),
        },
    }
    name = stacks.name("mended")
    assert cli.run("stack", "create", "--wait", "-t", stacks.write(template), name).returncode != 0
    shown = cli.json("stack", "show", name)
    assert shown["stack_status"] == "CREATE_FAILED"
    assert "No valid host was found" in shown["stack_status_reason"] + stacks.failures(name)
    del template["resources"]["server"]["properties"]["scheduler_hints"]  # type: ignore[attr-defined]  # a plain tree
    stacks.update(name, template)
    assert cli.connection().compute.get_server(cli.physical(name)["server"]).status == "ACTIVE"
    stacks.delete(name)
