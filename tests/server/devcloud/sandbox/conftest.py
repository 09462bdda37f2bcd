"""Real sandboxes for the tests of this folder, on a dev cloud state directory of their own."""

import asyncio
import json
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from calor.server.devcloud.driver import FixedIp, GuestDocument, PortWiring, Rule, ServerSpec
from calor.server.devcloud.images import Image, cache_dir
from calor.server.devcloud.images.host import ensure_host
from calor.server.devcloud.sandbox import enter
from calor.server.devcloud.sandbox.driver import SandboxDriver


def rule(direction: str, protocol: str | None = None, port: int | None = None, remotes: Sequence[str] = ()) -> Rule:
    return Rule(
        direction=direction,
        ethertype="IPv4",
        protocol=protocol,
        port_min=port,
        port_max=port,
        remotes=remotes or ["0.0.0.0/0"],
    )


ALLOW_OUT = (rule("egress"),)
ALLOW_ALL = (rule("egress"), rule("ingress"))


def port(
    number: int, *, network: str = "net-a", rules: Sequence[Rule] | None = ALLOW_ALL, subnet: str = "10.7.0"
) -> PortWiring:
    return PortWiring(
        port_id=f"port-{network}-{number}",
        network_id=network,
        mac=f"fa:16:3e:00:00:{number:02x}",
        fixed_ips=[FixedIp(address=f"{subnet}.{number}", prefix=24, gateway=f"{subnet}.1")],
        mtu=1450,
        rules=rules,
    )


class Told:
    """The metadata that the APIs would serve."""

    def __init__(self) -> None:
        self.user_data: dict[str, bytes] = {}

    def get(self, server_id: str, path: str) -> GuestDocument | None:
        answers: Mapping[str, bytes] = {
            "openstack": b"2018-08-27\nlatest",
            "openstack/2018-08-27/meta_data.json": json.dumps({"uuid": server_id, "hostname": server_id}).encode(),
            "openstack/2018-08-27/user_data": self.user_data.get(server_id, b"#!/bin/sh\n"),
            "latest/meta-data": b"instance-id",
            "latest/meta-data/instance-id": server_id.encode(),
        }
        body = answers.get(path.strip("/"))
        return None if body is None else GuestDocument(body=body)


class Bench:
    """A driver with what the tests say to it again and again."""

    rule, port = staticmethod(rule), staticmethod(port)
    nothing_in = ALLOW_OUT

    def __init__(self, state: Path, image: Image) -> None:
        self.state, self.image = state, image
        self.told = Told()
        self.driver = SandboxDriver(state)
        self.forwards: dict[int, tuple[str, int]] = {}

    async def start(self) -> None:
        await self.driver.start(self.told, self.forwards)

    async def restart(self) -> None:
        """As if the cloud's process had ended and come back."""
        await self.driver.stop(keep=True)
        self.driver = SandboxDriver(self.state)
        await self.start()

    def spec(self, server_id: str, *ports: PortWiring) -> ServerSpec:
        return ServerSpec(
            id=server_id,
            name=server_id,
            hostname=server_id,
            image_id="image",
            image_path=self.image.path,
            image_properties={},
            vcpus=1,
            ram_mb=512,
            disk_gb=1,
            key_name=None,
            public_key=None,
            admin_pass=None,
            ports=ports,
            volumes=[],
        )

    async def spawn(self, server_id: str, *ports: PortWiring) -> ServerSpec:
        for each in ports:
            await self.driver.ensure_network(each.network_id, external=False, mtu=each.mtu)
        spec = self.spec(server_id, *ports)
        await self.driver.spawn(spec)
        return spec

    async def inside(self, server_id: str, script: str) -> tuple[int, str]:
        """Status and output of a shell script that runs in the server as its root."""
        command = enter.command(enter.find(self.state, server_id), ["/bin/sh", "-c", script])
        process = await asyncio.create_subprocess_exec(
            *command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        output, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, output.decode()

    async def said(self, server_id: str, text: str, seconds: float = 30) -> float:
        """Wait until the console shows the text; the seconds it took."""
        begun = time.monotonic()
        while text not in await self.driver.console(server_id, None):
            assert time.monotonic() < begun + seconds, await self.driver.console(server_id, 40)
            await asyncio.sleep(0.02)
        return time.monotonic() - begun


@pytest.fixture(scope="session")
def host_image() -> Image:
    return asyncio.run(ensure_host(cache_dir(), lambda _text: None))


@pytest.fixture(scope="session")
def quiet_image(host_image: Image, tmp_path_factory: pytest.TempPathFactory) -> Image:
    """Image `host` without cloud-init: for tests of what is around it."""
    path = tmp_path_factory.mktemp("quiet-image")
    stub = path / "usr/bin/cloud-init"
    stub.parent.mkdir(parents=True)
    stub.write_text("#!/bin/sh\n")
    stub.chmod(0o755)
    layers = {**host_image.layers, "/usr": [path / "usr", *host_image.layers["/usr"]]}
    image = replace(host_image, name="quiet", path=path, layers=layers)
    image.save()
    return image


@pytest.fixture
async def bench(tmp_path: Path, quiet_image: Image) -> AsyncIterator[Bench]:
    made = Bench(tmp_path / "state", quiet_image)
    await made.start()
    yield made
    await made.driver.stop(keep=False)
    shutil.rmtree(made.state)


@pytest.fixture
async def real_bench(tmp_path: Path, host_image: Image) -> AsyncIterator[Bench]:
    """With real cloud-init inside."""
    made = Bench(tmp_path / "state", host_image)
    await made.start()
    yield made
    await made.driver.stop(keep=False)
    shutil.rmtree(made.state)
