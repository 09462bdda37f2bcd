"""A cloud that loses answers, is busy, refuses or is slow: a stack gets through, and each thing exists once."""

import time
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")]

SERVER = {"image": "host", "flavor": "m1.tiny", "user_data_format": "RAW"}
PRIVATE = [{"network": "private"}]


def of(type_name: str, **properties: Any) -> dict[str, Any]:
    return {"type": type_name, "properties": properties}


def whole() -> dict[str, Any]:
    """One of each."""
    return {
        "port": of("OS::Neutron::Port", network="private", security_groups=[{"get_resource": "group"}]),
        "server": of("OS::Nova::Server", **SERVER, networks=[{"port": {"get_resource": "port"}}]),
        "volume": of("OS::Cinder::Volume", size=1),
        "attachment": of(
            "OS::Cinder::VolumeAttachment",
            instance_uuid={"get_resource": "server"},
            volume_id={"get_resource": "volume"},
        ),
        "fip": of("OS::Neutron::FloatingIP", floating_network="public"),
        "group": of("OS::Neutron::SecurityGroup"),
        "rule": of(
            "OS::Neutron::SecurityGroupRule",
            security_group={"get_resource": "group"},
            protocol="tcp",
            port_range_min=80,
            port_range_max=80,
        ),
    }


def public_key() -> str:
    key = Ed25519PrivateKey.generate().public_key()
    return key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


LOST = {
    "servers": "/servers$",
    "ports": "/ports$",
    "volumes": "/volumes$",
    "floatingips": "/floatingips$",
    "security_groups": "/security-groups$",
    "security_group_rules": "/security-group-rules$",
    "attachments": "/os-volume_attachments$",
}


@pytest.mark.parametrize("collection", LOST)
def test_f150_a_creation_whose_answer_is_lost_makes_one_thing(troubled: Any, collection: str) -> None:
    troubled.told("lost", "POST", LOST[collection])
    troubled.create("lost", whole())
    troubled.reached("lost", "CREATE_COMPLETE")
    assert troubled.struck() == 1
    made = troubled.made()
    assert made.pop("security_group_rules") == 3, "one that was asked for, and two that each group begins with"
    assert made == dict.fromkeys(("servers", "ports", "volumes", "floatingips", "security_groups"), 1)
    assert [len(volume["attachments"]) for volume in troubled.records("volumes")] == [1]
    troubled.gone("lost")


def test_f150_every_creation_loses_its_answer_once(troubled: Any) -> None:
    for path in LOST.values():
        troubled.told("lost", "POST", path)
    troubled.create("all", whole())
    troubled.reached("all", "CREATE_COMPLETE")
    assert troubled.struck() == len(LOST)
    made = troubled.made()
    assert {made[name] for name in made if name != "security_group_rules"} == {1}
    troubled.gone("all")


def test_f030_a_deletion_is_refused_four_times(troubled: Any) -> None:
    troubled.create("busy", {"port": of("OS::Neutron::Port", network="private")})
    troubled.reached("busy", "CREATE_COMPLETE")
    troubled.told("error", "DELETE", "/ports/", times=4, status=409, message="The port is in use by somebody.")
    troubled.gone("busy")
    assert troubled.struck() == 4


def test_f147_a_fifth_of_all_calls_meets_429(troubled: Any) -> None:
    for number in range(80):
        troubled.told("busy", ".*", "^/(compute|network|volume)/", skip=4 * number + 1, seconds=1)
    began = time.monotonic()
    troubled.create("throttled", whole())
    troubled.reached("throttled", "CREATE_COMPLETE", limit=100)
    assert troubled.struck() >= 3
    assert time.monotonic() - began < 90
    troubled.delete("throttled")
    troubled.reached("throttled", "DELETE_COMPLETE", limit=100)
    troubled.well()
    assert troubled.census() == troubled.before


def test_f151_a_quota_is_named_at_once(troubled: Any) -> None:
    troubled.told("quota", "POST", "/volumes$", times=None)
    began = time.monotonic()
    troubled.create("quota", {"volume": of("OS::Cinder::Volume", size=1)})
    reason = troubled.reached("quota", "CREATE_FAILED")
    assert "Maximum number of volumes allowed" in reason and "resources.volume" in reason
    assert time.monotonic() - began < 15
    assert troubled.struck() == 1, "a quota is no trouble that passes: it is not tried again"
    troubled.gone("quota")


def test_a_server_that_never_gets_ready_fails_at_its_time_out(troubled: Any) -> None:
    troubled.told("never_ready", "POST", "/servers$")
    began = time.monotonic()
    troubled.create("never", {"server": of("OS::Nova::Server", **SERVER, networks=PRIVATE)}, timeout_mins=1)
    reason = troubled.reached("never", "CREATE_FAILED", limit=90)
    assert 55 < time.monotonic() - began < 80
    assert "timed out" in reason and "resources.server" in reason
    troubled.gone("never")


def test_a_server_that_goes_bad_says_why_and_the_next_update_makes_another(troubled: Any) -> None:
    troubled.told("broken", "POST", "/servers$", message="No valid host was found.")
    resources = {"server": of("OS::Nova::Server", **SERVER, networks=PRIVATE)}
    troubled.create("bad", resources)
    assert "No valid host was found." in troubled.reached("bad", "CREATE_FAILED")
    troubled.update("bad", resources)
    troubled.reached("bad", "UPDATE_COMPLETE")
    assert troubled.made()["servers"] == 1
    troubled.gone("bad")


@pytest.mark.parametrize("collection", ["servers", "ports", "volumes"])
def test_the_server_is_killed_while_the_cloud_is_slow_to_answer(troubled: Any, collection: str) -> None:
    troubled.told("delay", "POST", LOST[collection], seconds=4)
    troubled.create("slow", whole())
    until = time.monotonic() + 20
    while not troubled.struck():
        assert time.monotonic() < until
        time.sleep(0.05)
    troubled.cloud.kill("pid")
    troubled.cloud.start_server()
    troubled.reached("slow", "CREATE_COMPLETE")
    time.sleep(2)  # what the slow call was to make would be there by now
    made = troubled.made()
    assert {made[name] for name in made if name != "security_group_rules"} == {1}, made
    troubled.gone("slow")


@pytest.mark.parametrize("rollback", [True, False], ids=["rolled back", "taken back by an update"])
def test_f014_a_server_gets_its_port_back_when_its_replacement_fails(troubled: Any, rollback: bool) -> None:
    keys = {data: public_key() for data in ("one", "two", "three")}

    def resources(data: str) -> dict[str, Any]:
        server = of("OS::Nova::Server", **SERVER, user_data=data, networks=[{"port": {"get_resource": "port"}}])
        port = of("OS::Neutron::Port", network="private")
        pair = of("OS::Nova::KeyPair", name="handed over", public_key=keys[data])
        return {"server": server, "port": port, "pair": pair}

    troubled.create("replaced", resources("one"))
    troubled.reached("replaced", "CREATE_COMPLETE")
    first = troubled.records("servers")[0]["id"]
    troubled.told("broken", "POST", "/servers$", message="No valid host was found.")
    troubled.update("replaced", resources("two"), disable_rollback=not rollback)
    troubled.reached("replaced", "ROLLBACK_COMPLETE" if rollback else "UPDATE_FAILED")
    if not rollback:
        troubled.update("replaced", resources("one"))
        troubled.reached("replaced", "UPDATE_COMPLETE")
    assert [one["id"] for one in troubled.records("servers")] == [first]
    assert {port["device_id"] for port in troubled.records("ports")} >= {first}
    assert held_key(troubled) == keys["one"]
    troubled.update("replaced", resources("three"))
    troubled.reached("replaced", "UPDATE_COMPLETE")
    second = [one["id"] for one in troubled.records("servers")]
    assert len(second) == 1 and second != [first]
    assert {port["device_id"] for port in troubled.records("ports")} >= set(second)
    assert held_key(troubled) == keys["three"]
    troubled.gone("replaced")


def held_key(troubled: Any) -> str:
    """The public half of the one key pair of that name."""
    pairs = troubled.user.get("/os-keypairs", endpoint_filter={"service_type": "compute"}).json()["keypairs"]
    return next(str(one["keypair"]["public_key"]) for one in pairs if one["keypair"]["name"] == "handed over")
