"""Virtual machines of the dev cloud, with real QEMU and no guest in them: what is around a machine, not what it does.

scripts/test-vm boots real guests."""

import asyncio
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from calor.server.devcloud.driver import DriverError, VolumeWiring
from calor.server.devcloud.qemu.qmp import monitor
from calor.server.devcloud.sandbox import commands

pytestmark = [
    pytest.mark.slow,
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="networks of the dev cloud need root"),
    pytest.mark.skipif(shutil.which("qemu-system-x86_64") is None, reason="needs qemu-system-x86"),
]
SERVER = "7642b26f-e852-47b5-9691-82565c7f1d01"


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


async def status(machines: Any) -> str:
    async with monitor(machines.state / "servers" / SERVER) as qemu:
        return str((await qemu.run("query-status"))["status"])


async def devices(machines: Any) -> set[str]:
    """What is plugged into the machine, by QEMU's names."""
    async with monitor(machines.state / "servers" / SERVER) as qemu:
        return {each["name"] for each in await qemu.run("qom-list", {"path": "/machine/peripheral"})}


async def test_a_machine_runs_outlives_the_clouds_process_and_leaves_nothing(machines: Any) -> None:
    await machines.driver.spawn(machines.spec(machines.port(5)))
    pid = machines.pid
    assert await machines.driver.is_running(SERVER)
    await machines.restart()
    assert machines.pid == pid
    assert runs(pid)
    assert await machines.driver.is_running(SERVER)
    await machines.driver.destroy(SERVER)
    assert not runs(pid)
    assert not list((machines.state / "servers").iterdir())
    assert not list((machines.state / "run/netns").glob("s*"))
    network = next((machines.state / "run/netns").glob("n*"))
    assert {each["ifname"] for each in await commands.ip_show(network, "link")} == {"lo", "br0"}


async def test_a_machine_stands_still_and_goes_on(machines: Any) -> None:
    await machines.driver.spawn(machines.spec())
    await machines.driver.freeze(SERVER)
    assert await status(machines) == "paused"
    await machines.driver.thaw(SERVER)
    assert await status(machines) == "running"


async def test_volumes_and_ports_come_while_it_runs(machines: Any, tmp_path: Path) -> None:
    await machines.driver.spawn(machines.spec(machines.port(5)))
    file = tmp_path / "volume"
    file.write_bytes(bytes(1 << 20))
    before = await devices(machines)
    await machines.driver.attach(SERVER, VolumeWiring(volume_id="v1", path=file, device="/dev/vdb"))
    await machines.driver.plug(SERVER, machines.port(6))
    assert len(await devices(machines) - before) == 2
    await machines.driver.attach(SERVER, VolumeWiring(volume_id="v1", path=file, device="/dev/vdb"))
    assert len(await devices(machines) - before) == 2, "told again, nothing happens"


async def test_a_killed_machine_is_down_and_starts_again_over_its_disk(machines: Any) -> None:
    spec = machines.spec(machines.port(5))
    await machines.driver.spawn(spec)
    pid = machines.pid
    os.kill(pid, signal.SIGKILL)
    async with asyncio.timeout(10):
        while (machines.state / "servers" / SERVER / "running.json").exists():
            await asyncio.sleep(0.05)
    assert not await machines.driver.is_running(SERVER)
    await machines.driver.power_on(spec)
    assert machines.pid != pid


async def test_one_that_was_started_and_not_yet_written_down_is_ended(machines: Any) -> None:
    await machines.driver.spawn(machines.spec(machines.port(5)))
    pid = machines.pid
    await machines.driver.stop(keep=True)
    (machines.state / "servers" / SERVER / "running.json").unlink()
    await machines.restart()
    assert not runs(pid)


async def test_an_image_that_reads_another_file_is_refused(machines: Any, tmp_path: Path) -> None:
    evil = tmp_path / "evil.qcow2"
    create = ["qemu-img", "create", "-q", "-f", "qcow2", "-b", "/etc/shadow", "-F", "raw", str(evil), "1M"]
    subprocess.run(create, check=True)
    with pytest.raises(DriverError, match="refers to another file"):
        await machines.driver.spawn(machines.spec(image_path=evil, image_format="qcow2"))
    assert not list((machines.state / "servers" / SERVER).glob("disk/*"))


async def test_an_image_of_another_format_or_too_large_is_refused_in_novas_words(machines: Any) -> None:
    with pytest.raises(DriverError, match="boot from qcow2 and raw"):
        await machines.driver.spawn(machines.spec(image_format="vmdk"))
    with machines.image.open("r+b") as file:
        file.truncate(2 << 30)
    with pytest.raises(DriverError, match="Flavor's disk is too small for requested image"):
        await machines.driver.spawn(machines.spec())


async def test_a_machine_that_cannot_start_says_why_and_leaves_no_wires(machines: Any) -> None:
    with pytest.raises(DriverError, match="QEMU could not start the machine"):
        await machines.driver.spawn(machines.spec(machines.port(5), ram_mb=10**9))
    assert not list((machines.state / "run/netns").glob("s*"))
