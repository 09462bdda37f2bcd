"""A restarted dev cloud goes on where it was, with the same ports, passwords and tokens."""

import time

from calor.server.devcloud.faults import Rule, Trouble
from calor.server.devcloud.record import RecordDriver


def boot(conn, name="web"):
    server = conn.compute.create_server(
        name=name,
        image_id=conn.image.find_image("host", ignore_missing=False).id,
        flavor_id="1",
        networks=[{"uuid": conn.network.find_network("private", ignore_missing=False).id}],
    )
    return conn.compute.wait_for_server(server, wait=10, interval=0.05)


def test_servers_that_were_active_are_started_again_and_tokens_stay_good(dev_cloud, demo):
    server = boot(demo)
    stopped = boot(demo, "stopped")
    demo.compute.stop_server(stopped)
    demo.compute.wait_for_server(stopped, status="SHUTOFF", wait=10, interval=0.05)
    net = demo.network.create_network(name="kept")
    dev_cloud.stop()
    dev_cloud.driver = RecordDriver()  # nothing runs any more: the machine was rebooted
    dev_cloud.start()
    dev_cloud.settle()
    assert demo.compute.get_server(server.id).status == "ACTIVE"
    assert dev_cloud.driver.running == {server.id: True}
    assert net.id in dev_cloud.driver.networks
    assert demo.network.find_router("router1", ignore_missing=False).id in dev_cloud.driver.routers
    assert len(list(demo.compute.flavors())) == 6
    assert {n.name for n in demo.network.networks()} == {"public", "private", "kept"}


def test_a_server_in_build_is_built_after_the_restart(dev_cloud, demo):
    dev_cloud.running.cloud.faults.add(Rule(trouble=Trouble.NEVER_READY, method="POST", path="/servers$"))
    server = demo.compute.create_server(
        name="slow",
        image_id=None,
        flavor_id="1",
        networks="none",
        block_device_mapping=[
            {"boot_index": 0, "source_type": "blank", "destination_type": "volume", "volume_size": 1}
        ],
    )
    dev_cloud.settle()
    docs = dev_cloud.running.cloud.docs
    assert demo.compute.get_server(server.id).status == "BUILD"
    dev_cloud.call(lambda: _heal(docs, server.id))
    dev_cloud.stop()
    dev_cloud.start()
    assert demo.compute.wait_for_server(server, wait=10, interval=0.05).status == "ACTIVE"


def _heal(docs, ident):
    with docs.transaction():
        docs.change("server", ident, trouble=None)


def test_networks_deleted_while_the_driver_was_away_are_removed_at_the_next_start(dev_cloud, demo):
    net = demo.network.create_network(name="gone")
    dev_cloud.converge()
    old = dev_cloud.driver
    docs = dev_cloud.running.cloud.docs
    dev_cloud.call(lambda: _drop_quietly(docs, net.id))
    dev_cloud.stop()
    dev_cloud.driver = old
    old.networks[net.id] = (False, 1450)
    dev_cloud.start()
    dev_cloud.converge()
    assert net.id not in old.networks


def _drop_quietly(docs, ident):
    docs._watchers.clear()  # as if the process had died right after the commit
    with docs.transaction():
        docs.drop("network", ident)


def test_a_wrong_token_stays_wrong_and_a_revoked_one_revoked_after_a_restart(dev_cloud, demo):
    token = demo.auth_token
    demo.identity.delete("/auth/tokens", headers={"X-Subject-Token": token})
    dev_cloud.stop()
    dev_cloud.start()
    fresh = dev_cloud.connect()
    answer = fresh.session.get(
        dev_cloud.state.identity + "/auth/projects",
        authenticated=False,
        headers={"X-Auth-Token": token},
        raise_exc=False,
    )
    assert answer.status_code == 401
    fresh.close()


def test_starting_takes_less_than_a_second(dev_cloud):
    dev_cloud.stop()
    began = time.monotonic()
    dev_cloud.start()
    assert time.monotonic() - began < 1.0
