"""Wait conditions and instances by the words of CloudFormation."""

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from calor.server.cloud.memory import MemoryCloud
from calor.server.errors import BadRequest
from calor.server.resources.base import ResourceFailed
from calor.server.resources.memory import MemoryContext, Workshop
from calor.server.template import Secret

Bench = Callable[..., MemoryContext]
CONDITION, HANDLE = "AWS::CloudFormation::WaitCondition", "AWS::CloudFormation::WaitConditionHandle"
INSTANCE = "AWS::EC2::Instance"
BASE: dict[str, Any] = {"ImageId": "00000000-0000-0000-0000-00000000000a", "InstanceType": "f"}
SIGNAL = {"Status": "SUCCESS", "Reason": "installed", "Data": "a", "UniqueId": "one"}


async def test_a_condition_is_complete_after_as_many_signals_as_it_counts(workshop: Workshop, bench: Bench) -> None:
    handle, condition = bench(HANDLE), bench(CONDITION)
    ident = str(await handle.make())
    task = asyncio.ensure_future(condition.make(Handle=ident, Timeout=5, Count=2))
    await workshop.send(ident, SIGNAL)
    await workshop.send(ident, SIGNAL)
    await asyncio.sleep(0.02)
    assert not task.done(), "the same id twice is one"
    await workshop.send(ident, {**SIGNAL, "UniqueId": "two", "Data": "b"})
    await task
    assert json.loads(await condition.read("Data")) == {"one": "a", "two": "b"}


async def test_a_failure_fails_it_with_its_reason(workshop: Workshop, bench: Bench) -> None:
    ident = str(await bench(HANDLE).make())
    await workshop.send(ident, {**SIGNAL, "Status": "FAILURE", "Reason": "no disk"})
    with pytest.raises(ResourceFailed, match="WaitConditionFailure: no disk"):
        await bench(CONDITION).make(Handle=ident, Timeout=5)


async def test_the_reference_of_a_handle_is_its_signed_url(bench: Bench) -> None:
    handle = bench(HANDLE)
    await handle.make()
    assert await handle.kind.reference(handle) == handle.urls.wait_condition(handle.me.id)


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"Status": "SUCCESS"},
        {**SIGNAL, "More": 1},
        {**SIGNAL, "Status": "MAYBE"},
        {"status": "SUCCESS", "id": "1", "reason": "", "data": ""},
    ],
)
def test_what_is_no_signal_of_cfn_signal_is_refused(bench: Bench, sent: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        bench(HANDLE).kind.check_signal(sent)


def test_the_signal_of_awss_api_is_one_of_its_signals(bench: Bench) -> None:
    kind = bench(HANDLE).kind
    kind.check_signal(kind.aws_signal("i-1", succeeded=False))


def made(cloud: MemoryCloud) -> dict[str, Any]:
    (server,) = cloud.records["server"].values()
    return server


async def test_an_instance_is_a_server_with_user_data_of_the_cfntools_format(cloud: MemoryCloud, bench: Bench) -> None:
    instance = bench(INSTANCE, "web")
    await instance.make(
        **BASE,
        KeyName="mine",
        UserData="#!/bin/sh\ncfn-init\n",
        SecurityGroups=["web"],
        SecurityGroupIds=["db"],
        Tags=[{"Key": "role", "Value": "web"}],
        NovaSchedulerHints=[{"Key": "group", "Value": "g"}],
    )
    server = made(cloud)
    assert (server["flavorRef"], server["imageRef"], server["key_name"]) == ("f", BASE["ImageId"], "mine")
    assert server["security_groups"] == [{"name": "web"}, {"name": "db"}]
    assert server["metadata"] == {"role": "web", "calor_resource": instance.me.id}
    assert server[":os:scheduler_hints"] == {"group": "g"}
    assert b'\nuser: "ec2-user"\n' in base64.b64decode(server["user_data"])
    text = base64.b64decode(server["user_data"]).decode()
    assert 'filename="cfn-userdata"' in text and "cfn-init" in text


async def test_its_interfaces_are_ports_in_the_order_of_their_index(cloud: MemoryCloud, bench: Bench) -> None:
    entries = [{"NetworkInterfaceId": "b", "DeviceIndex": "1"}, {"NetworkInterfaceId": "a", "DeviceIndex": "0"}]
    await bench(INSTANCE).make(**BASE, NetworkInterfaces=entries)
    assert made(cloud)["networks"] == [{"port": "a"}, {"port": "b"}]


async def test_its_disks_and_volumes(cloud: MemoryCloud, bench: Bench) -> None:
    await bench(INSTANCE).make(
        **BASE,
        BlockDeviceMappings=[{"DeviceName": "vdb", "Ebs": {"SnapshotId": "s", "VolumeSize": "2"}}],
        Volumes=[{"VolumeId": "v", "Device": "/dev/vdc"}],
    )
    snapshot, volume = made(cloud)["block_device_mapping_v2"][-2:]
    assert (snapshot["source_type"], snapshot["uuid"], snapshot["volume_size"]) == ("snapshot", "s", 2)
    assert (snapshot["device_name"], snapshot["delete_on_termination"]) == ("vdb", True)
    assert (volume["source_type"], volume["uuid"], volume["device_name"]) == ("volume", "v", "/dev/vdc")


async def test_a_disk_of_nothing_is_refused_at_once(bench: Bench) -> None:
    rules = bench(INSTANCE).kind.validate
    assert rules({"BlockDeviceMappings": [{"DeviceName": "vdb", "Ebs": {"DeleteOnTermination": True}}]})
    assert not rules({"BlockDeviceMappings": [{"DeviceName": "vdb", "Ebs": {"VolumeSize": "1"}}]})


async def test_another_type_resizes_it_and_other_tags_are_set(cloud: MemoryCloud, bench: Bench) -> None:
    instance = bench(INSTANCE)
    await instance.make(**BASE, Tags=[{"Key": "role", "Value": "web"}])
    await instance.change(**BASE, Tags=[{"Key": "role", "Value": "db"}])
    assert cloud.calls[-1][:3] == ("compute", "put", f"/servers/{instance.me.physical_id}/metadata")


async def test_its_addresses_are_the_first_one(cloud: MemoryCloud, bench: Bench) -> None:
    instance = bench(INSTANCE)
    await instance.make(**BASE)
    assert await instance.read("PublicIp") == "0.0.0.0"
    made(cloud)["addresses"] = {"private": [{"addr": "10.0.0.7"}]}
    made(cloud)["OS-EXT-AZ:availability_zone"] = "nova"
    names = ("PrivateIp", "PublicIp", "PrivateDnsName", "PublicDnsName", "AvailabilityZone")
    assert [await instance.read(name) for name in names] == ["10.0.0.7"] * 4 + ["nova"]


async def test_a_security_group_has_the_rules_of_both_sides(cloud: MemoryCloud, bench: Bench) -> None:
    cloud.records["security_group"]["g-web"] = {"id": "g-web", "name": "web"}
    group = bench("AWS::EC2::SecurityGroup")
    await group.make(
        GroupDescription="what comes in",
        SecurityGroupIngress=[
            {"IpProtocol": "tcp", "FromPort": "80", "ToPort": "81", "CidrIp": "0.0.0.0/0"},
            {"IpProtocol": "icmp", "FromPort": "-1", "ToPort": "-1", "SourceSecurityGroupName": "web"},
        ],
        SecurityGroupEgress=[{"IpProtocol": "-1", "CidrIp": "10.0.0.0/8"}],
    )
    ours = [one for one in cloud.records["security_group"].values() if one["id"] == group.me.physical_id]
    assert [(one["name"], one["description"]) for one in ours] == [(group.me.physical_name, "what comes in")]
    found = [
        (one["direction"], one.get("protocol"), one.get("port_range_min"), one.get("port_range_max"))
        for one in cloud.records["security_group_rule"].values()
    ]
    assert found == [("ingress", "tcp", 80, 81), ("ingress", "icmp", None, None), ("egress", None, None, None)]
    remotes = [one.get("remote_group_id") for one in cloud.records["security_group_rule"].values()]
    assert remotes == [None, "g-web", None]


async def test_an_empty_source_group_is_refused_at_once(bench: Bench) -> None:
    rules = bench("AWS::EC2::SecurityGroup").kind.validate
    (problem,) = rules({"SecurityGroupIngress": [{"SourceSecurityGroupId": " "}]})
    assert "would let everybody in" in problem


async def test_a_volume_and_where_it_is_attached(cloud: MemoryCloud, bench: Bench) -> None:
    volume = bench("AWS::EC2::Volume")
    await volume.make(AvailabilityZone="nova", Size=2, Tags=[{"Key": "for", "Value": "data"}])
    (record,) = cloud.records["volume"].values()
    assert (record["availability_zone"], record["size"], record["metadata"]["for"]) == ("nova", 2, "data")


@pytest.fixture
def outside(cloud: MemoryCloud) -> MemoryCloud:
    """A cloud with an external network and two servers."""
    cloud.records["network"]["out"] = {"id": "out", "name": "public", "router:external": True}
    cloud.records["network"]["in"] = {"id": "in", "name": "inner", "router:external": False}
    for name in "ab":
        cloud.records["port"][f"port-{name}"] = {"id": f"port-{name}", "device_id": f"server-{name}"}
    return cloud


async def test_an_address_is_of_the_external_network_and_is_led_to_an_instance(
    outside: MemoryCloud, bench: Bench
) -> None:
    address = bench("AWS::EC2::EIP")
    await address.make(InstanceId="server-a")
    (record,) = outside.records["floating_ip"].values()
    assert (record["floating_network_id"], record["port_id"]) == ("out", "port-a")
    record["floating_ip_address"] = "192.0.2.7"
    assert await address.kind.reference(address) == "192.0.2.7"
    assert await address.read("AllocationId") == record["id"]
    await address.change(InstanceId="server-b")
    assert record["port_id"] == "port-b"


async def test_an_association_leads_an_address_and_gives_back_what_is_still_its_own(
    outside: MemoryCloud, bench: Bench
) -> None:
    record = {"id": "f", "floating_ip_address": "192.0.2.7", "port_id": None}
    outside.records["floating_ip"]["f"] = record
    association = bench("AWS::EC2::EIPAssociation")
    await association.make(EIP="192.0.2.7", InstanceId="server-a")
    assert record["port_id"] == "port-a"
    await association.change(EIP="192.0.2.7", NetworkInterfaceId="port-b")
    assert record["port_id"] == "port-b"
    record["port_id"] = "port of another"
    await association.remove()
    assert record["port_id"] == "port of another"
    assert len(association.kind.validate({})) == 2


async def test_an_access_key_is_a_pair_whose_secret_is_one(bench: Bench) -> None:
    user, key = bench("AWS::IAM::User", "user"), bench("AWS::IAM::AccessKey", "key")
    name = await user.make()
    access = await key.make(UserName=name)
    secret = await key.read("SecretAccessKey")
    assert isinstance(secret, Secret) and (access, secret.value) == await key.guests.ec2_pair(key.me.id)
    assert (await key.read("UserName"), await key.read("show")) == (name, {"AccessKey": access, "UserName": name})
