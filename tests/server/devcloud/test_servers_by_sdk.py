"""Nova, driven by openstacksdk."""

import base64

import openstack
import pytest
from openstack.exceptions import BadRequestException, ConflictException, NotFoundException

from calor.server.devcloud.driver import DriverError
from calor.server.devcloud.faults import Rule, Trouble


def boot(conn, name="web", **more):
    image = conn.image.find_image("host")
    flavor = conn.compute.find_flavor("m1.nano")
    if "networks" not in more:
        more["networks"] = [{"uuid": conn.network.find_network("private").id}]
    return conn.compute.create_server(name=name, image_id=image.id, flavor_id=flavor.id, **more)


def test_a_server_becomes_active_with_an_address_and_is_known_to_the_driver(dev_cloud, demo):
    server = demo.compute.wait_for_server(boot(demo, metadata={"a": "b"}, key_name="demo"), wait=10, interval=0.05)
    assert server.status == "ACTIVE"
    assert server.metadata == {"a": "b"}
    address = server.addresses["private"][0]["addr"]
    spec = dev_cloud.driver.specs[server.id]
    assert spec.ports[0].fixed_ips[0].address == address
    assert spec.public_key.startswith("ssh-rsa ")
    assert dev_cloud.driver.running[server.id]


def test_deleting_a_server_removes_its_own_ports_and_frees_given_ones(dev_cloud, demo):
    net = demo.network.find_network("private")
    port = demo.network.create_port(network_id=net.id, name="kept")
    server = boot(demo, networks=[{"port": port.id}, {"uuid": net.id}])
    demo.compute.wait_for_server(server, wait=10, interval=0.05)
    assert len(list(demo.network.ports(device_id=server.id))) == 2
    demo.compute.delete_server(server)
    demo.compute.wait_for_delete(server, interval=0.05, wait=10)
    assert [p.id for p in demo.network.ports(network_id=net.id) if p.device_owner != "network:router_interface"] == [
        port.id
    ]
    assert demo.network.get_port(port.id).device_id == ""
    assert server.id not in dev_cloud.driver.running


def test_stop_start_reboot_and_their_conflicts(dev_cloud, demo):
    server = demo.compute.wait_for_server(boot(demo), wait=10, interval=0.05)
    with pytest.raises(ConflictException, match="while it is in vm_state active"):
        demo.compute.start_server(server)
    demo.compute.stop_server(server)
    demo.compute.wait_for_server(server, status="SHUTOFF", wait=10, interval=0.05)
    assert dev_cloud.driver.running[server.id] is False
    demo.compute.start_server(server)
    demo.compute.wait_for_server(server, wait=10, interval=0.05)
    demo.compute.reboot_server(server, "HARD")
    demo.compute.wait_for_server(server, wait=10, interval=0.05)
    assert "nothing runs" in demo.compute.get_server_console_output(server)["output"]


@pytest.mark.parametrize(("down", "status", "up"), [("suspend", "SUSPENDED", "resume"), ("pause", "PAUSED", "unpause")])
def test_suspended_and_paused_servers_stand_still_until_they_are_woken(dev_cloud, demo, down, status, up):
    server = demo.compute.wait_for_server(boot(demo), wait=10, interval=0.05)
    getattr(demo.compute, f"{down}_server")(server)
    demo.compute.wait_for_server(server, status=status, wait=10, interval=0.05)
    assert server.id in dev_cloud.driver.frozen
    with pytest.raises(ConflictException, match=f"while it is in vm_state {status.lower()}"):
        demo.compute.suspend_server(server)
    getattr(demo.compute, f"{up}_server")(server)
    demo.compute.wait_for_server(server, wait=10, interval=0.05)
    assert server.id not in dev_cloud.driver.frozen


def test_resize_waits_for_confirmation_and_can_be_reverted(dev_cloud, demo):
    server = demo.compute.wait_for_server(boot(demo), wait=10, interval=0.05)
    tiny = demo.compute.find_flavor("m1.tiny")
    demo.compute.resize_server(server, tiny.id)
    demo.compute.wait_for_server(server, status="VERIFY_RESIZE", wait=10, interval=0.05)
    demo.compute.revert_server_resize(server)
    server = demo.compute.wait_for_server(server, wait=10, interval=0.05)
    assert server.flavor.original_name == "m1.nano"
    demo.compute.resize_server(server, tiny.id)
    demo.compute.wait_for_server(server, status="VERIFY_RESIZE", wait=10, interval=0.05)
    demo.compute.confirm_server_resize(server)
    assert demo.compute.get_server(server.id).flavor.original_name == "m1.tiny"


def test_rebuild_keeps_the_id_and_the_port(dev_cloud, demo):
    server = demo.compute.wait_for_server(boot(demo), wait=10, interval=0.05)
    before = server.addresses
    demo.compute.rebuild_server(server, image=demo.image.find_image("host").id, name="again")
    server = demo.compute.wait_for_server(server, wait=10, interval=0.05)
    assert (server.name, server.addresses) == ("again", before)


def test_what_the_driver_refuses_becomes_the_servers_fault(dev_cloud, demo):
    dev_cloud.driver.refuse = "There is no room for another sandbox."
    server = boot(demo)
    with pytest.raises(openstack.exceptions.ResourceFailure):
        demo.compute.wait_for_server(server, wait=10, interval=0.05)
    assert demo.compute.get_server(server.id).fault["message"] == "There is no room for another sandbox."
    demo.compute.delete_server(server)
    demo.compute.wait_for_delete(server, interval=0.05, wait=10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"user_data": base64.b64encode(b"x" * 49200).decode()}, "user_data"),
        ({"key_name": "nobody"}, "Invalid key_name provided"),
        ({"networks": [{"uuid": "6ba7b810-9dad-11d1-80b4-00c04fd430c8"}]}, "could not be found"),
        ({"availability_zone": "mars"}, "availability zone is not available"),
        ({"security_groups": [{"name": "nosg"}]}, "Unable to find security_group"),
    ],
)
def test_a_bad_request_is_refused_and_leaves_nothing(demo, change, message):
    ports = len(list(demo.network.ports()))
    with pytest.raises(BadRequestException, match=message):
        boot(demo, **change)
    assert list(demo.compute.servers()) == []
    assert len(list(demo.network.ports())) == ports


def test_user_data_at_the_limit_is_accepted(demo):
    server = boot(demo, user_data="A" * 65532)
    assert demo.compute.wait_for_server(server, wait=10, interval=0.05).status == "ACTIVE"


def test_a_volume_that_the_disk_cannot_hold_is_in_error_and_can_be_deleted(dev_cloud, demo):
    folder = dev_cloud.directory / "volumes"
    folder.write_text("no folder can be made here")
    volume = demo.block_storage.create_volume(size=1, name="data")
    found = demo.block_storage.wait_for_status(volume, "error", failures=[], interval=0.05, wait=10)
    folder.unlink()
    demo.block_storage.delete_volume(found, ignore_missing=False)
    demo.block_storage.wait_for_delete(found, interval=0.05, wait=10)


def test_volumes_are_attached_used_and_free_again(dev_cloud, demo):
    server = demo.compute.wait_for_server(boot(demo), wait=10, interval=0.05)
    volume = demo.block_storage.create_volume(size=1, name="data")
    demo.block_storage.wait_for_status(volume, interval=0.05, wait=10)
    demo.compute.create_volume_attachment(server, volume_id=volume.id)
    volume = demo.block_storage.wait_for_status(volume, "in-use", interval=0.05, wait=10)
    assert volume.attachments[0]["server_id"] == server.id
    assert dev_cloud.driver.volumes[server.id] == {volume.id}
    with pytest.raises(BadRequestException, match="Volume status must be available"):
        demo.block_storage.delete_volume(volume.id, ignore_missing=False)
    demo.compute.delete_volume_attachment(server, volume.id)
    demo.block_storage.wait_for_status(volume, "available", interval=0.05, wait=10)
    demo.block_storage.extend_volume(volume, 2)
    dev_cloud.settle()
    assert demo.block_storage.get_volume(volume.id).size == 2
    assert (dev_cloud.directory / "volumes" / volume.id).stat().st_size == 2 * 1024**3
    snapshot = demo.block_storage.create_snapshot(volume_id=volume.id, name="s")
    demo.block_storage.wait_for_status(snapshot, interval=0.05, wait=10)
    demo.block_storage.delete_snapshot(snapshot)
    demo.block_storage.wait_for_delete(snapshot, interval=0.05, wait=10)
    demo.block_storage.delete_volume(volume)
    demo.block_storage.wait_for_delete(volume, interval=0.05, wait=10)
    assert not (dev_cloud.directory / "volumes" / volume.id).exists()


def test_a_server_boots_from_a_volume_made_of_an_image(dev_cloud, demo):
    image = demo.image.find_image("host")
    mapping = {
        "boot_index": 0,
        "uuid": image.id,
        "source_type": "image",
        "destination_type": "volume",
        "volume_size": 1,
        "delete_on_termination": True,
    }
    server = demo.compute.create_server(
        name="vol",
        flavor_id=demo.compute.find_flavor("m1.nano").id,
        networks="none",
        block_device_mapping=[mapping],
    )
    demo.compute.wait_for_server(server, wait=10, interval=0.05)
    (volume,) = demo.block_storage.volumes()
    assert volume.status == "in-use"
    demo.compute.delete_server(server)
    demo.compute.wait_for_delete(server, interval=0.05, wait=10)
    dev_cloud.settle()
    assert list(demo.block_storage.volumes()) == []


def test_interfaces_groups_tags_and_metadata_of_a_server(dev_cloud, demo):
    server = demo.compute.wait_for_server(boot(demo), wait=10, interval=0.05)
    net = demo.network.find_network("private")
    added = demo.compute.create_server_interface(server, net_id=net.id)
    dev_cloud.settle()
    assert added.port_id in dev_cloud.driver.ports
    demo.compute.delete_server_interface(added.port_id, server=server)
    dev_cloud.settle()
    assert added.port_id not in dev_cloud.driver.ports
    with pytest.raises(NotFoundException):
        demo.network.get_port(added.port_id)
    group = demo.network.create_security_group(name="more")
    demo.compute.add_security_group_to_server(server, group)
    demo.compute.set_server_metadata(server, c="d")
    demo.compute.add_tag_to_server(server, "t")
    shown = demo.compute.get_server(server.id)
    assert {g["name"] for g in shown.security_groups} == {"default", "more"}
    assert (shown.metadata, shown.tags) == ({"c": "d"}, ["t"])
    demo.compute.remove_security_group_from_server(server, group)
    demo.network.delete_security_group(group, ignore_missing=False)


def test_keypairs_are_made_and_imported(demo):
    made = demo.compute.create_keypair(name="k")
    assert made.private_key.startswith("-----BEGIN RSA PRIVATE KEY-----")
    again = demo.compute.create_keypair(name="k2", public_key=made.public_key)
    assert again.fingerprint == made.fingerprint
    with pytest.raises(ConflictException):
        demo.compute.create_keypair(name="k")
    with pytest.raises(BadRequestException, match="Keypair data is invalid"):
        demo.compute.create_keypair(name="bad", public_key="bad")
    demo.compute.delete_keypair("k", ignore_missing=False)
    assert demo.compute.find_keypair("k") is None


def test_a_server_told_never_to_be_ready_stays_in_build_until_deleted(dev_cloud, demo):
    dev_cloud.running.cloud.faults.add(Rule(trouble=Trouble.NEVER_READY, method="POST", path="/servers$"))
    server = boot(demo)
    dev_cloud.settle()
    assert demo.compute.get_server(server.id).status == "BUILD"
    demo.compute.delete_server(server)
    demo.compute.wait_for_delete(server, interval=0.05, wait=10)


def test_servers_of_another_project_are_not_found(dev_cloud, demo, admin):
    server = boot(admin)
    with pytest.raises(NotFoundException):
        demo.compute.get_server(server.id)


def test_a_server_that_could_not_be_destroyed_is_in_error_and_can_be_deleted_again(dev_cloud, demo, monkeypatch):
    server = demo.compute.wait_for_server(boot(demo), wait=10, interval=0.05)

    async def busy(server_id):
        raise DriverError("The mount is busy.")

    with monkeypatch.context() as patch:
        patch.setattr(dev_cloud.driver, "destroy", busy)
        demo.compute.delete_server(server)
        dev_cloud.settle()
    shown = demo.compute.get_server(server.id)
    assert (shown.status, shown.task_state, shown.fault["message"]) == ("ERROR", None, "The mount is busy.")
    demo.compute.delete_server(server)
    demo.compute.wait_for_delete(server, interval=0.05, wait=10)
