"""kill -9 at random moments of a stack's life: it ends right by itself, nothing twice, nothing orphaned.

CALOR_KILLS and CALOR_KILLS_BOTH give the numbers of kills (the server alone; server and cloud together);
CALOR_KILLS_DRIVER the driver, CALOR_KILLS_SEED the random moments. The defaults suit CI.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import yaml

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
]

KILLS = int(os.environ.get("CALOR_KILLS", "6"))
KILLS_BOTH = int(os.environ.get("CALOR_KILLS_BOTH", "3"))
DRIVER = os.environ.get("CALOR_KILLS_DRIVER", "record")
SEED = int(os.environ.get("CALOR_KILLS_SEED", "2026"))
SERVERS = 6


def template(generation: str) -> str:
    """60 resources. Another ``generation`` replaces servers and attachments and updates associations."""
    resources: dict[str, Any] = {
        "net": {"type": "OS::Neutron::Net"},
        "subnet": {
            "type": "OS::Neutron::Subnet",
            "properties": {"network": {"get_resource": "net"}, "cidr": "10.44.0.0/24"},
        },
        "router": {"type": "OS::Neutron::Router", "properties": {"external_gateway_info": {"network": "public"}}},
        "interface": {
            "type": "OS::Neutron::RouterInterface",
            "properties": {"router": {"get_resource": "router"}, "subnet": {"get_resource": "subnet"}},
        },
        "group": {"type": "OS::Neutron::SecurityGroup", "properties": {"rules": [{"protocol": "icmp"}]}},
        "rule": {
            "type": "OS::Neutron::SecurityGroupRule",
            "properties": {
                "security_group": {"get_resource": "group"},
                "protocol": "tcp",
                "port_range_min": 80,
                "port_range_max": 80,
            },
        },
    }
    for number in range(SERVERS):
        resources |= _server(number, generation)
    for number in range(60 - len(resources)):
        resources[f"text{number}"] = {"type": "OS::Heat::RandomString", "properties": {"salt": generation}}
    outputs = {"addresses": {"value": [{"get_attr": [f"fip{n}", "floating_ip_address"]} for n in range(SERVERS)]}}
    return yaml.safe_dump({"heat_template_version": "2018-08-31", "resources": resources, "outputs": outputs})


def _server(number: int, generation: str) -> dict[str, Any]:
    script = f"#!/bin/sh\necho {generation}\n"
    return {
        f"port{number}": {
            "type": "OS::Neutron::Port",
            "properties": {"network": {"get_resource": "net"}, "security_groups": [{"get_resource": "group"}]},
            "depends_on": "subnet",
        },
        f"server{number}": {
            "type": "OS::Nova::Server",
            "properties": {
                "image": "host",
                "flavor": "m1.tiny",
                "networks": [{"port": {"get_resource": f"port{number}"}}],
                "user_data_format": "RAW",
                "user_data": script,
            },
        },
        f"volume{number}": {"type": "OS::Cinder::Volume", "properties": {"size": 1}},
        f"attachment{number}": {
            "type": "OS::Cinder::VolumeAttachment",
            "properties": {
                "instance_uuid": {"get_resource": f"server{number}"},
                "volume_id": {"get_resource": f"volume{number}"},
            },
        },
        f"fip{number}": {"type": "OS::Neutron::FloatingIP", "properties": {"floating_network": "public"}},
        f"association{number}": {
            "type": "OS::Neutron::FloatingIPAssociation",
            "properties": {
                "floatingip_id": {"get_resource": f"fip{number}"},
                "port_id": {"get_resource": f"port{number}"},
            },
            "depends_on": "interface",
        },
    }


def census(cloud: Any) -> Counter[str]:
    """What exists in the cloud, counted through its API."""
    connection = cloud.connection("calor-admin")
    rules = [rule for rule in connection.network.security_group_rules() if rule.port_range_min == 80]
    return Counter(
        servers=len(list(connection.compute.servers(all_projects=True))),
        ports=len(
            [p for p in connection.network.ports() if p.device_owner.startswith("compute") or not p.device_owner]
        ),
        volumes=len(list(connection.block_storage.volumes(all_projects=True))),
        attached=len([v for v in connection.block_storage.volumes(all_projects=True) if v.status == "in-use"]),
        floating_ips=len(list(connection.network.ips())),
        groups=len(list(connection.network.security_groups())),
        rules=len(rules),
        networks=len(list(connection.network.networks())),
        routers=len(list(connection.network.routers())),
    )


FULL = Counter(
    servers=SERVERS,
    ports=SERVERS,
    volumes=SERVERS,
    attached=SERVERS,
    floating_ips=SERVERS,
    groups=1,
    rules=1,
    networks=1,
    routers=1,
)


class Sweep:
    """Runs lives of the stack, killing until the wanted number of kills is reached."""

    def __init__(self, cloud: Any, names: tuple[str, ...], restart: Callable[[], Any]) -> None:
        self.cloud, self.heat, self.names, self.restart = cloud, cloud.connection(), names, restart
        self.random = random.Random(SEED)
        self.killed = 0
        self.empty = census(cloud)
        self.longest = {"CREATE": 4.0, "UPDATE": 4.0, "DELETE": 3.0}

    def phase(self, action: str, begin: Callable[[], None], kills: int) -> None:
        """Begin an action, kill in its midst, restart, and wait until it has ended well."""
        began = time.monotonic()
        begin()
        for _ in range(kills):
            time.sleep(self.random.uniform(0, self.longest[action] / kills))
            self.cloud.kill(*self.names)
            self.restart()
            self.killed += 1
        self.finished(action)
        if not kills:
            self.longest[action] = time.monotonic() - began

    def finished(self, action: str) -> None:
        until = time.monotonic() + 120
        while True:
            shown = self.heat.get_stack("sweep")
            status = shown.status if shown else "DELETE_COMPLETE"
            if status == f"{action}_COMPLETE":
                return
            assert not status.endswith("_FAILED"), f"{status}: {self.states()}\n{self.cloud.tail()}"
            assert time.monotonic() < until, f"still {status}: {self.states()}\n{self.cloud.tail()}"
            time.sleep(0.1)

    def states(self) -> dict[str, str]:
        """What is not done, and why."""
        stack = self.heat.get_stack("sweep")
        found = self.heat.orchestration.resources(stack.id) if stack else []
        return {one.name: f"{one.status}: {one.status_reason}" for one in found if not one.status.endswith("_COMPLETE")}

    def life(self, kills: dict[str, int]) -> None:
        self.phase("CREATE", lambda: self.send("create", "one"), kills.get("CREATE", 0))
        assert census(self.cloud) - self.empty == FULL
        self.phase("UPDATE", lambda: self.send("update", "two"), kills.get("UPDATE", 0))
        assert census(self.cloud) - self.empty == FULL
        self.phase("DELETE", lambda: self.heat.delete_stack("sweep"), kills.get("DELETE", 0))
        assert census(self.cloud) == self.empty

    def send(self, verb: str, generation: str) -> None:
        text = template(generation)
        if verb == "create":
            self.heat.orchestration.create_stack(name="sweep", template=text, timeout_mins=10)
        else:
            stack = self.heat.get_stack("sweep")
            self.heat.orchestration.update_stack(stack.id, name="sweep", template=text)


def sweep(cloud: Any, names: tuple[str, ...], restart: Callable[[], Any], kills: int) -> None:
    run = Sweep(cloud, names, restart)
    run.life({})
    while run.killed < kills:
        action = run.random.choice(["CREATE", "UPDATE", "DELETE"])
        run.life({action: min(run.random.randint(1, 2), kills - run.killed)})


def test_the_server_is_killed_while_the_cloud_lives_on(dev_cloud: Any) -> None:
    cloud = dev_cloud("--processes", "2", "--driver", DRIVER)
    sweep(cloud, ("pid",), cloud.start_server, KILLS)


def test_server_and_cloud_are_killed_together(dev_cloud: Any) -> None:
    cloud = dev_cloud("--processes", "2", "--driver", DRIVER)
    sweep(cloud, ("pid", "cloud_pid"), cloud.start, KILLS_BOTH)
