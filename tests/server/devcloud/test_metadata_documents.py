"""What a guest finds at 169.254.169.254."""

import base64
import json

import pytest


@pytest.fixture
def ask(dev_cloud, demo):
    text = "#!/bin/sh\necho grüß\n".encode()
    server = demo.compute.create_server(
        name="My Web_1",
        image_id=demo.image.find_image("host", ignore_missing=False).id,
        flavor_id="1",
        networks=[{"uuid": demo.network.find_network("private", ignore_missing=False).id}],
        key_name="demo",
        metadata={"role": "web"},
        user_data=base64.b64encode(text).decode(),
    )
    demo.compute.wait_for_server(server, wait=10, interval=0.05)

    def get(path):
        document = dev_cloud.driver.metadata.get(server.id, path)
        return None if document is None else document.body.decode()

    get.server, get.text = demo.compute.get_server(server.id), text.decode()
    return get


def test_openstack_format(ask):
    assert "latest" in ask("/openstack").splitlines()
    assert "user_data" in ask("/openstack/latest/").splitlines()
    meta = json.loads(ask("/openstack/2018-08-27/meta_data.json"))
    assert (meta["uuid"], meta["name"], meta["hostname"]) == (ask.server.id, "My Web_1", "my-web-1.novalocal")
    assert meta["meta"] == {"role": "web"}
    assert meta["public_keys"]["demo"].startswith("ssh-rsa ")
    assert ask("/openstack/latest/user_data") == ask.text
    assert json.loads(ask("/openstack/latest/vendor_data.json")) == {}
    assert ask("/openstack/latest/password") == ""
    assert ask("/openstack/1999-01-01/meta_data.json") is None


def test_network_data_describes_every_port(ask):
    data = json.loads(ask("/openstack/latest/network_data.json"))
    address = ask.server.addresses["private"][0]
    assert data["links"][0]["ethernet_mac_address"] == address["OS-EXT-IPS-MAC:mac_addr"]
    (network,) = data["networks"]
    assert (network["ip_address"], network["netmask"]) == (address["addr"], "255.255.255.0")
    assert network["routes"] == [{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "10.0.0.1"}]
    assert network["link"] == data["links"][0]["id"]


def test_ec2_format(ask):
    assert ask("/").splitlines()[-1] == "latest"
    listing = ask("/latest/meta-data/").splitlines()
    assert {"instance-id", "local-ipv4", "placement/", "public-keys/"} <= set(listing)
    assert ask("/2009-04-04/meta-data/instance-id").startswith("i-")
    assert ask("/latest/meta-data/local-ipv4") == ask.server.addresses["private"][0]["addr"]
    assert ask("/latest/meta-data/public-keys/") == "0=demo"
    assert ask("/latest/meta-data/public-keys/0/openssh-key").startswith("ssh-rsa ")
    assert ask("/latest/meta-data/placement/availability-zone") == "nova"
    assert ask("/latest/user-data") == ask.text
    assert ask("/latest/meta-data/nothing") is None


def test_an_unknown_server_gets_nothing(ask, dev_cloud):
    assert dev_cloud.driver.metadata.get("nobody", "/latest/meta-data/") is None
