"""A driver on a state directory of its own, and images that are empty disks: their machines run and do nothing."""

import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from calor.server.devcloud.driver import FixedIp, GuestDocument, PortWiring, ServerSpec
from calor.server.devcloud.sandbox.driver import SandboxDriver

SERVER = "7642b26f-e852-47b5-9691-82565c7f1d01"


class Told:
    """The metadata that the APIs would serve: to each server its own id."""

    def get(self, server_id: str, path: str) -> GuestDocument | None:
        return GuestDocument(body=server_id.encode()) if path == "/who" else None


def port(number: int, network: str = "net-a") -> PortWiring:
    return PortWiring(
        port_id=f"port-{network}-{number}",
        network_id=network,
        mac=f"fa:16:3e:00:00:{number:02x}",
        fixed_ips=[FixedIp(address=f"10.7.0.{number}", prefix=24, gateway="10.7.0.1")],
        mtu=1450,
        rules=None,
    )


class Machines:
    """A driver, and what the tests ask of it."""

    port = staticmethod(port)

    def __init__(self, state: Path) -> None:
        self.state = state
        self.image = state / "empty.raw"
        self.driver = SandboxDriver(state)

    async def start(self) -> None:
        self.state.mkdir(exist_ok=True)
        with self.image.open("wb") as file:
            file.truncate(1 << 20)
        await self.driver.start(Told(), {})
        await self.driver.ensure_network("net-a", external=False, mtu=1450)

    async def restart(self) -> None:
        """As if the cloud's process had ended and come back."""
        await self.driver.stop(keep=True)
        self.driver = SandboxDriver(self.state)
        await self.driver.start(Told(), {})

    def spec(self, *ports: PortWiring, **changes: object) -> ServerSpec:
        made = ServerSpec(
            id=SERVER, name="vm", hostname="vm", image_id="image", image_path=self.image, image_properties={},
            image_format="raw", vcpus=1, ram_mb=64, disk_gb=1, key_name=None, public_key=None, admin_pass=None,
            ports=ports, volumes=[],
        )  # fmt: skip
        return replace(made, **changes)  # type: ignore[arg-type]  # a table of changes

    @property
    def pid(self) -> int:
        return int((self.state / "servers" / SERVER / "qemu.pid").read_text())


@pytest.fixture
async def machines(tmp_path: Path) -> AsyncIterator[Machines]:
    made = Machines(tmp_path / "state")
    await made.start()
    yield made
    await made.driver.stop(keep=False)
    shutil.rmtree(made.state)
