"""Servers in memory: what is asked of the compute service, and what an instance is given."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from calor.server.cloud.errors import CloudUncertain
from calor.server.cloud.memory import MemoryCloud
from calor.server.resources.base import ResourceFailed
from calor.server.resources.memory import MemoryContext, Workshop
from calor.server.template import reveal

Bench = Callable[..., MemoryContext]
SERVER = "OS::Nova::Server"
BASE: dict[str, Any] = {"flavor": "f", "image": "00000000-0000-0000-0000-00000000000a"}
RAW = {**BASE, "user_data_format": "RAW"}
SOFTWARE = {**BASE, "user_data_format": "SOFTWARE_CONFIG"}


def made(cloud: MemoryCloud) -> dict[str, Any]:
    (server,) = cloud.records["server"].values()
    return server


def user_data(cloud: MemoryCloud) -> bytes:
    return base64.b64decode(made(cloud)["user_data"])


async def test_the_server_is_marked_without_touching_what_the_user_set(cloud: MemoryCloud, bench: Bench) -> None:
    server = bench(SERVER, "web")
    await server.make(**RAW, metadata={"role": "web", "ports": [1, 2]}, tags=["a"], scheduler_hints={"group": "g"})
    assert made(cloud)["metadata"] == {"role": "web", "ports": "[1, 2]", "calor_resource": server.me.id}
    assert made(cloud)[":os:scheduler_hints"] == {"group": "g"}
    assert made(cloud)["name"] == server.me.physical_name and len(server.me.physical_name) <= 53


async def test_f150_a_server_whose_answer_was_lost_is_found_by_its_mark(cloud: MemoryCloud, bench: Bench) -> None:
    one, other = bench(SERVER, "web"), bench(SERVER, "web")
    await other.make(**RAW, name="same name")
    cloud.lose.add("server")
    with pytest.raises(CloudUncertain):
        await one.make(**RAW, name="same name")
    twin = await one.kind.find_twin(one, one.typed({**RAW, "name": "same name"}))
    assert twin not in (None, other.me.physical_id) and len(cloud.records["server"]) == 2


async def test_raw_user_data_and_the_text_of_a_config(workshop: Workshop, cloud: MemoryCloud, bench: Bench) -> None:
    await bench(SERVER).make(**RAW, user_data="#!/bin/sh\necho ä\n")
    assert user_data(cloud) == "#!/bin/sh\necho ä\n".encode()
    cloud.records["server"].clear()
    ident = "00000000-0000-0000-0000-00000000000c"
    await workshop.configs.create(ident=ident, name="c", group="g", config="#cloud-config\n")
    await bench(SERVER).make(**RAW, user_data=ident)
    assert user_data(cloud) == b"#cloud-config\n"
    cloud.records["server"].clear()
    ident = "00000000-0000-0000-0000-00000000000d"
    await workshop.configs.create(ident=ident, name="d", group="g", config={"ignition": {"version": "3.4.0"}})
    await bench(SERVER).make(**RAW, user_data=ident)
    assert user_data(cloud) == b'{"ignition": {"version": "3.4.0"}}', "a map is a document"


async def test_f049_the_agents_metadata_has_no_region_where_none_is_known(cloud: MemoryCloud, bench: Bench) -> None:
    server = bench(SERVER, "web")
    await server.make(**SOFTWARE, software_config_transport="POLL_SERVER_HEAT")
    heat = reveal(server.me.metadata)["os-collect-config"]["heat"]
    assert "region_name" not in heat and heat["auth_url"] == "http://192.0.2.1:8004/v3"
    assert b'"null"' not in user_data(cloud) and b"region" not in user_data(cloud).split(b"cfn-init-data")[-1]


async def test_the_agent_is_given_the_private_authority(cloud: MemoryCloud, workshop: Workshop, bench: Bench) -> None:
    workshop.urls.ca_certificate = "-----BEGIN CERTIFICATE-----"
    await bench(SERVER, "web").make(**SOFTWARE)
    assert b'"ca_certificate": "-----BEGIN CERTIFICATE-----"' in user_data(cloud)


async def test_a_server_for_deployments_gets_the_cfn_section_and_our_agent(cloud: MemoryCloud, bench: Bench) -> None:
    server = bench(SERVER, "web", mine="kept")
    await server.make(**SOFTWARE, user_data="#!/bin/sh\ntrue\n")
    metadata = server.me.metadata
    collect = reveal(metadata)["os-collect-config"]
    assert metadata["mine"] == "kept"
    assert collect["collectors"] == ["ec2", "cfn", "local"]
    assert collect["cfn"] == {
        "metadata_url": "http://192.0.2.1:8000/v1/",
        "access_key_id": f"access of {server.me.id}",
        "secret_access_key": f"secret of {server.me.id}",
        "stack_name": "stack",
        "path": "web.Metadata",
    }
    assert "secret of" not in str(metadata), "a secret prints as ***"
    assert f"bootstrap of {server.me.id}".encode() in user_data(cloud)


async def test_another_transport_sets_the_former_ones_keys_to_null(bench: Bench) -> None:
    server = bench(SERVER, "web")
    await server.make(**SOFTWARE)
    await server.change(**SOFTWARE, software_config_transport="POLL_SERVER_HEAT")
    collect = reveal(server.me.metadata)["os-collect-config"]
    assert set(collect["cfn"].values()) == {None} and collect["collectors"] == ["ec2", "heat", "local"]


async def test_user_data_that_is_too_large_is_refused_before_the_cloud_is_asked(
    cloud: MemoryCloud, bench: Bench
) -> None:
    with pytest.raises(ResourceFailed, match=r"\d"):
        await bench(SERVER).make(**RAW, user_data=base64.b64encode(bytes(range(256)) * 400).decode())
    assert cloud.records["server"] == {}


@pytest.mark.parametrize(
    ("properties", "problem"),
    [
        ({"flavor": "f"}, "nothing to boot from"),
        ({**BASE, "networks": [{"fixed_ip": "10.0.0.1"}]}, "networks.0: give network"),
        ({**BASE, "networks": [{"port": "p", "fixed_ip": "10.0.0.1"}]}, "leave out fixed_ip"),
        ({**BASE, "networks": [{"port": "p"}], "security_groups": ["g"]}, "own security groups"),
        ({**BASE, "networks": [{"allocate_network": "auto"}, {"network": "n"}]}, "stands alone"),
        ({**BASE, "block_device_mapping": [{}], "block_device_mapping_v2": [{}]}, "without block_device_mapping"),
        ({**BASE, "block_device_mapping_v2": [{"volume_id": "v", "image": "i"}]}, "exclude each other"),
    ],
)
def test_what_does_not_fit_together_is_said_before_anything_is_made(
    bench: Bench, properties: dict[str, Any], problem: str
) -> None:
    assert problem in "\n".join(bench(SERVER).kind.validate(properties))


async def test_networks_are_asked_for_as_the_template_says(cloud: MemoryCloud, bench: Bench) -> None:
    for networks, asked in (
        ([{"network": "n", "fixed_ip": "10.0.0.4"}], [{"uuid": "n", "fixed_ip": "10.0.0.4"}]),
        ([{"port": "p", "tag": "t"}], [{"port": "p", "tag": "t"}]),
        ([{"allocate_network": "none"}], "none"),
        ([{"uuid": "old"}], [{"uuid": "old"}]),
    ):
        cloud.records["server"].clear()
        await bench(SERVER).make(**RAW, networks=networks)
        assert made(cloud)["networks"] == asked


async def test_a_boot_volume_and_other_disks(cloud: MemoryCloud, bench: Bench) -> None:
    disks = [
        {"image": "00000000-0000-0000-0000-00000000000b", "volume_size": 5, "delete_on_termination": True},
        {"swap_size": 1},
        {"ephemeral_size": 2, "ephemeral_format": "ext4"},
    ]
    await bench(SERVER).make(flavor="f", user_data_format="RAW", block_device_mapping_v2=disks)
    boot, swap, scratch = made(cloud)["block_device_mapping_v2"]
    assert (boot["source_type"], boot["destination_type"], boot["boot_index"]) == ("image", "volume", 0)
    assert (swap["guest_format"], swap["boot_index"]) == ("swap", -1)
    assert (scratch["guest_format"], scratch["volume_size"]) == ("ext4", 2)
    assert made(cloud)["imageRef"] == ""


@pytest.mark.parametrize(
    ("want", "changed", "replaces"),
    [
        ({"flavor_update_policy": "REPLACE"}, "flavor", True),
        ({"flavor_update_policy": "RESIZE"}, "flavor", False),
        ({"image": "i", "image_update_policy": "REBUILD"}, "image", False),
        ({"image": None}, "image", True),
        ({"user_data_update_policy": "REPLACE"}, "user_data", True),
        ({"user_data_update_policy": "IGNORE"}, "user_data", False),
        ({"user_data_update_policy": "REBUILD"}, "user_data", False),
    ],
)
def test_f099_update_policies_decide_about_replacement(
    bench: Bench, want: dict[str, Any], changed: str, replaces: bool
) -> None:
    reason = bench(SERVER).kind.must_replace({}, want, frozenset({changed}))
    assert (reason is not None) == replaces


async def test_personality_speaks_a_version_that_still_knows_it(cloud: MemoryCloud, bench: Bench) -> None:
    await bench(SERVER).make(**RAW, personality={"/etc/motd": "hi"}, networks=[{"network": "n"}])
    assert made(cloud)["microversion"] == "2.56"
    assert made(cloud)["personality"] == [{"path": "/etc/motd", "contents": base64.b64encode(b"hi").decode()}]


@pytest.mark.parametrize(
    ("was", "want"),
    [
        ([{"subnet": "s"}], [{"network": "n", "subnet": "s"}]),
        ([{"network": "n", "fixed_ip": "10.0.0.4"}], [{"network": "n"}]),
        ([{"network": "n"}], [{"subnet": "s"}]),
        ([{"network": "n"}], [{"uuid": "n"}]),
        ([{"network": "n"}], [{"port": "p"}]),
    ],
)
async def test_a_port_that_serves_what_is_written_otherwise_stays(
    cloud: MemoryCloud, bench: Bench, was: list[dict[str, str]], want: list[dict[str, str]]
) -> None:
    """As in Heat (heat-tempest-plugin, UpdateServerNetworksTest)."""
    server, port = await wired(cloud, bench, was)
    before = len(cloud.calls)
    await server.change(**RAW, networks=want)
    assert [call for call in cloud.calls[before:] if "os-interface" in str(call)] == []
    assert port in cloud.records["port"]
    before_end = {one for one, record in cloud.records["port"].items() if record.get("description")}
    cloud.records["server"].clear()
    await server.remove()
    assert not before_end & cloud.records["port"].keys(), "a port of ours goes with its server, whatever it serves"


async def test_a_port_that_cannot_serve_what_is_wanted_goes(cloud: MemoryCloud, bench: Bench) -> None:
    server, port = await wired(cloud, bench, [{"network": "n"}])
    ports = cloud.records["port"]
    fresh = {"id": "q", "network_id": "other", "device_id": server.me.physical_id}
    cloud.answers["delete", f"/os-interface/{port}"] = lambda path, body: ports.pop(port)
    cloud.answers["post", "/os-interface"] = lambda path, body: ports.update(q=fresh)
    await server.change(**RAW, networks=[{"network": "other"}])
    assert list(ports) == ["q"]


async def wired(cloud: MemoryCloud, bench: Bench, networks: list[dict[str, str]]) -> tuple[Any, str]:
    """A server with these networks, and the one port that it has there."""
    cloud.records["subnet"]["s"] = {"id": "s", "name": "s", "network_id": "n"}
    server = bench(SERVER)
    await server.make(**RAW, networks=networks)
    for port in cloud.records["port"].values():
        port["fixed_ips"] = [{"subnet_id": "s", "ip_address": "10.0.0.4"}]
    if not cloud.records["port"]:
        fixed = [{"subnet_id": "s", "ip_address": "10.0.0.4"}]
        cloud.records["port"]["p"] = {"id": "p", "network_id": "n", "fixed_ips": fixed}
    (port,) = cloud.records["port"].values()
    port["device_id"] = server.me.physical_id
    return server, str(port["id"])


async def test_addresses_by_name_and_id(cloud: MemoryCloud, bench: Bench) -> None:
    server = bench(SERVER)
    await server.make(**RAW)
    assert await server.read("first_address") == "", "no address is an empty text"
    address = {"addr": "10.0.0.4", "version": 4, "OS-EXT-IPS-MAC:mac_addr": "fa:16:3e:00:00:01"}
    made(cloud)["addresses"] = {"private": [address]}
    port = {"mac_address": "fa:16:3e:00:00:01", "network_id": "net", "id": "p", "device_id": server.me.physical_id}
    cloud.records["port"]["p"] = port
    assert await server.read("networks") == {"private": ["10.0.0.4"], "net": ["10.0.0.4"]}
    assert (await server.read("addresses"))["net"][0]["port"] == "p"
    assert await server.read("first_address") == "10.0.0.4"
    assert json.dumps(await server.read("show"))
