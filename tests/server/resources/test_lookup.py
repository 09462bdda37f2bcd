"""Names of cloud objects become ids, and constraints that ask the cloud say what they miss."""

from typing import Any

from calor.server.cloud.errors import CloudRefused
from calor.server.cloud.memory import MemoryCloud
from calor.server.resources.collections import FLAVORS, KEYPAIRS, NETWORKS
from calor.server.resources.declare import schema_of
from calor.server.resources.lookup import Lookup
from calor.server.resources.nova.server_props import ServerProps
from calor.server.template.values import UNKNOWN

IDENT = "00000000-0000-0000-0000-00000000000a"


class Counting(MemoryCloud):
    asked = 0

    async def find(self, of: Any, name_or_id: str) -> Any:
        self.asked += 1
        return await super().find(of, name_or_id)


async def test_names_become_ids_at_every_depth_and_ids_cost_no_call() -> None:
    cloud = Counting()
    flavor = (await cloud.create(FLAVORS, name="m1.small"))["id"]
    network = (await cloud.create(NETWORKS, name="private"))["id"]
    values = {
        "flavor": "m1.small",
        "networks": [{"network": "private"}, {"network": IDENT}, {"network": UNKNOWN}],
        "name": "private",
    }
    found = await Lookup().resolve_names(cloud, schema_of(ServerProps), values)
    assert found["flavor"] == flavor and found["name"] == "private"
    assert [entry["network"] for entry in found["networks"]] == [network, IDENT, UNKNOWN]
    assert cloud.asked == 2


async def test_what_was_found_is_remembered_for_a_while() -> None:
    now = [0.0]
    cloud, lookup = Counting(), Lookup(keep=60, clock=lambda: now[0])
    await cloud.create(NETWORKS, name="private")
    for _ in range(3):
        assert await lookup.check_custom(cloud, "neutron.network", "private") is None
    assert cloud.asked == 1
    now[0] = 61
    await lookup.check_custom(cloud, "neutron.network", "private")
    assert cloud.asked == 2


async def test_what_is_missing_ambiguous_or_cannot_be_asked_is_said() -> None:
    cloud, lookup = MemoryCloud(), Lookup()
    assert await lookup.check_custom(cloud, "nova.flavor", "m9") == "The flavor 'm9' could not be found."
    for _ in range(2):
        await cloud.create(NETWORKS, name="twice")
    assert "2 networks" in str(await lookup.check_custom(cloud, "neutron.network", "twice"))

    class Broken(MemoryCloud):
        async def find(self, of: Any, name_or_id: str) -> Any:
            raise CloudRefused("not for you")

    assert "not for you" in str(await lookup.check_custom(Broken(), "neutron.network", "private"))


async def test_constraints_that_ask_no_cloud_and_values_that_are_no_names_are_met() -> None:
    lookup = Lookup()
    assert await lookup.check_custom(MemoryCloud(), "ip_addr", "nonsense") is None
    assert await lookup.check_custom(MemoryCloud(), "nova.flavor", UNKNOWN) is None


async def test_key_pairs_are_checked_and_keep_their_name() -> None:
    cloud = MemoryCloud()
    await cloud.create(KEYPAIRS, name="mine")
    schema = schema_of(ServerProps)
    assert (await Lookup().resolve_names(cloud, schema, {"key_name": "mine"}))["key_name"] == "mine"
    assert "key" in str(await Lookup().check_custom(cloud, "nova.keypair", "other"))
