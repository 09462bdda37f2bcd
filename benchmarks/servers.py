"""Servers on a cloud, through Calor and by bare SDK calls: how much the orchestration adds to what the cloud takes.

By default the cloud is a dev cloud of the measurement's own, whose servers are records. CALOR_BENCH_CLOUD, the name of
a cloud in clouds.yaml (OS_CLIENT_CONFIG_FILE), measures that one instead: its catalog must lead to a running Calor, and
CALOR_BENCH_SERVERS="image=… flavor=… zone=…" names what its servers are made of.
"""

import asyncio
import os
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import openstack.config
import openstack.connection

from benchmarks.harness import Client, client, dev

Row = dict[str, Any]
COUNT = int(os.environ.get("CALOR_BENCH_COUNT", "20"))
REPEATS = int(os.environ.get("CALOR_BENCH_REPEATS", "3"))
THREADS = 10
DEV = "image=host flavor=m1.tiny zone=nova"


@dataclass(frozen=True)
class Kind:
    """What each server is made of: names that the cloud knows."""

    image: str
    flavor: str
    zone: str


def template(kind: Kind, count: int) -> Row:
    """A network, a security group of ``count`` rules, and as many ports, servers, volumes and attachments."""
    rules = [{"protocol": "tcp", "port_range_min": port, "port_range_max": port} for port in range(1000, 1000 + count)]
    subnet = {"network": {"get_resource": "net"}, "cidr": "10.78.0.0/16", "enable_dhcp": False}
    resources: Row = {
        "net": {"type": "OS::Neutron::Net"},
        "subnet": {"type": "OS::Neutron::Subnet", "properties": subnet},
        "group": {"type": "OS::Neutron::SecurityGroup", "properties": {"rules": rules}},
    }
    for n in range(count):
        port = {
            "network": {"get_resource": "net"},
            "fixed_ips": [{"subnet": {"get_resource": "subnet"}}],
            "security_groups": [{"get_resource": "group"}],
        }
        server = {
            "image": kind.image,
            "flavor": kind.flavor,
            "availability_zone": kind.zone,
            "networks": [{"port": {"get_resource": f"port{n}"}}],
        }
        attachment = {"instance_uuid": {"get_resource": f"server{n}"}, "volume_id": {"get_resource": f"volume{n}"}}
        resources[f"port{n}"] = {"type": "OS::Neutron::Port", "properties": port}
        resources[f"server{n}"] = {"type": "OS::Nova::Server", "properties": server}
        resources[f"volume{n}"] = {"type": "OS::Cinder::Volume", "properties": {"size": 1}}
        resources[f"attachment{n}"] = {"type": "OS::Cinder::VolumeAttachment", "properties": attachment}
    return {"heat_template_version": "2021-04-16", "resources": resources}


class Sdk:
    """The same work by openstacksdk: all that is independent at once, one list call a collection and half second."""

    def __init__(self, connection: Any, kind: Kind, count: int) -> None:
        self.cloud, self.kind, self.count = connection, kind, count
        self.name = f"sdk-{uuid.uuid4().hex[:8]}"
        self.pool = ThreadPoolExecutor(THREADS)
        self.servers: list[str] = []
        self.ports: list[str] = []
        self.volumes: list[str] = []

    def each(self, work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        return list(self.pool.map(work, items))

    def wait(self, listing: Callable[[], Iterable[Any]], ids: list[str], status: str | None) -> None:
        """Until all have the status; None: until all are gone."""
        left = set(ids)
        while left:
            now = {one.id: one.status.lower() for one in listing()}
            if status and (failed := [ident for ident in left if now.get(ident) == "error"]):
                raise RuntimeError(f"in error: {failed}")
            left = {ident for ident in left if (now.get(ident) != status if status else ident in now)}
            if left:
                time.sleep(0.5)

    def create(self) -> None:
        cloud, count = self.cloud, self.count
        image = cloud.image.find_image(self.kind.image).id
        flavor = cloud.compute.find_flavor(self.kind.flavor).id
        self.network = cloud.network.create_network(name=self.name).id
        subnet = cloud.network.create_subnet(
            network_id=self.network, name=self.name, ip_version=4, cidr="10.79.0.0/16", is_dhcp_enabled=False
        ).id
        self.group = cloud.network.create_security_group(name=self.name).id

        def rule(port: int) -> Any:
            return cloud.network.create_security_group_rule(
                security_group_id=self.group,
                direction="ingress",
                protocol="tcp",
                port_range_min=port,
                port_range_max=port,
            )

        def port_and_server(n: int) -> tuple[str, str]:
            port = cloud.network.create_port(
                network_id=self.network,
                name=f"{self.name}-{n}",
                fixed_ips=[{"subnet_id": subnet}],
                security_group_ids=[self.group],
            ).id
            server = cloud.compute.create_server(
                name=f"{self.name}-{n}",
                image_id=image,
                flavor_id=flavor,
                networks=[{"port": port}],
                availability_zone=self.kind.zone,
            ).id
            return port, server

        rules = self.pool.map(rule, range(1000, 1000 + count))
        volumes = self.pool.map(lambda n: cloud.volume.create_volume(size=1, name=f"{self.name}-{n}").id, range(count))
        made = self.each(port_and_server, range(count))
        self.ports, self.servers = [port for port, _ in made], [server for _, server in made]
        list(rules)
        self.volumes = list(volumes)
        self.wait(cloud.compute.servers, self.servers, "active")
        self.wait(cloud.volume.volumes, self.volumes, "available")
        self.each(
            lambda pair: cloud.compute.create_volume_attachment(pair[0], volume_id=pair[1]),
            zip(self.servers, self.volumes, strict=True),
        )
        self.wait(cloud.volume.volumes, self.volumes, "in-use")

    def delete(self) -> None:
        cloud = self.cloud
        self.each(
            lambda pair: cloud.compute.delete_volume_attachment(*pair), zip(self.servers, self.volumes, strict=True)
        )
        self.wait(cloud.volume.volumes, self.volumes, "available")
        self.each(cloud.compute.delete_server, self.servers)
        self.each(cloud.volume.delete_volume, self.volumes)
        self.wait(cloud.compute.servers, self.servers, None)
        self.each(cloud.network.delete_port, self.ports)
        self.wait(cloud.volume.volumes, self.volumes, None)
        cloud.network.delete_security_group(self.group)
        cloud.network.delete_network(self.network)
        self.pool.shutdown()


async def _timed(work: Any) -> float:
    began = time.perf_counter()
    await work
    return round(time.perf_counter() - began, 2)


async def _by_calor(heat: Client, kind: Kind, count: int) -> Row:
    name, body, pause = f"bench-{uuid.uuid4().hex[:8]}", template(kind, count), 0.1
    ident = ""

    async def create() -> None:
        nonlocal ident
        ident = await heat.create(name, body)
        await heat.finished(name, ident, "CREATE", pause)

    async def update() -> None:
        await heat.update(name, ident, body)
        await heat.finished(name, ident, "UPDATE", pause)

    async def delete() -> None:
        await heat.delete(name, ident)
        await heat.finished(name, ident, "DELETE", pause)

    return {
        "create_s": await _timed(create()),
        "noop_update_s": await _timed(update()),
        "delete_s": await _timed(delete()),
    }


async def _compared(heat: Client, connection: Any, kind: Kind) -> AsyncIterator[Row]:
    for repeat in range(REPEATS):
        sdk = Sdk(connection, kind, COUNT)
        bare = await _timed(asyncio.to_thread(sdk.create))
        gone = await _timed(asyncio.to_thread(sdk.delete))
        row = await _by_calor(heat, kind, COUNT)
        yield {
            "bench": "servers",
            "repeat": repeat,
            "n": COUNT,
            **row,
            "sdk_create_s": bare,
            "sdk_delete_s": gone,
            "create_ratio": round(row["create_s"] / bare, 2),
            "delete_ratio": round(row["delete_s"] / gone, 2),
            "load1": round(os.getloadavg()[0], 1),
        }


async def servers() -> AsyncIterator[Row]:
    made_of = os.environ.get("CALOR_BENCH_SERVERS", DEV)
    kind = Kind(**dict(part.split("=", 1) for part in made_of.split()))
    name = os.environ.get("CALOR_BENCH_CLOUD")
    if name:
        clouds = {"clouds_yaml": os.environ["OS_CLIENT_CONFIG_FILE"]}
        async with client(clouds, cloud=name) as heat:
            async for row in _compared(heat, openstack.connect(cloud=name), kind):
                yield row
        return
    async with dev("--driver", "record") as cloud, client(cloud.ready) as heat:
        file = str(cloud.ready["clouds_yaml"])
        loader = openstack.config.OpenStackConfig(config_files=[file])
        connection = openstack.connection.Connection(config=loader.get_one("calor"))
        async for row in _compared(heat, connection, kind):
            yield row
