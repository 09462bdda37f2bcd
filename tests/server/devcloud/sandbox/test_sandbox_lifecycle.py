"""Servers from create to destroy: boot, reboot, power, volumes, restart of the cloud, and what is left behind."""

import asyncio
import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from calor.server.devcloud.driver import DriverError, VolumeWiring
from calor.server.devcloud.sandbox import enter

pytestmark = [pytest.mark.root, pytest.mark.slow]

BOX = f"box-{os.getpid()}"
"""Where the control group of a server's name is looked at: another run of the tests may be beside this one."""


async def test_a_server_runs_its_user_data_by_real_cloud_init(real_bench: Any) -> None:
    real_bench.told.user_data["web"] = b"#!/bin/sh\necho user-data of $(hostname) runs as $(id -un)\n"
    await real_bench.spawn("web", real_bench.port(11))
    await real_bench.said("web", "user-data of web runs as root")
    await real_bench.said("web", "boot finished")
    status, output = await real_bench.inside("web", "cloud-init status --long; ss -lnt; ansible --version")
    assert "status: done" in output, output
    assert "DataSourceOpenStack" in output
    assert "0.0.0.0:22" in output
    assert status == 0


async def test_a_reboot_keeps_the_disk_and_the_instance_but_boots_anew(real_bench: Any) -> None:
    script = b"#!/bin/sh\necho once >> /root/once\nmkdir -p /var/lib/cloud/scripts/per-boot\n"
    script += b"cd /var/lib/cloud/scripts/per-boot; printf '#!/bin/sh\\necho booted-again\\n' > a; chmod 755 a\n"
    real_bench.told.user_data["web"] = script
    spec = await real_bench.spawn("web", real_bench.port(11))
    await real_bench.said("web", "boot finished")
    _, before = await real_bench.inside("web", "cat /proc/sys/kernel/random/boot_id")
    await real_bench.driver.reboot(spec, hard=False)
    await real_bench.said("web", "booted-again")
    _, after = await real_bench.inside("web", "cat /proc/sys/kernel/random/boot_id /root/once")
    assert after.split()[0] != before.strip()
    assert after.split()[1:] == ["once"]


async def test_a_frozen_server_stands_still_and_goes_on_where_it_was(bench: Any) -> None:
    await bench.spawn("box", bench.port(11))
    await bench.said("box", "boot finished")
    await bench.inside("box", "setsid sh -c 'while sleep 0.05; do date +%N >> /run/ticks; done' >/dev/null 2>&1 &")
    count = "cat /run/ticks 2>/dev/null | wc -l"
    await until(lambda: _more(bench, count, 3), is_value=True)
    await bench.driver.freeze("box")
    _, before = await bench.inside("box", count)
    await asyncio.sleep(0.5)
    _, after = await bench.inside("box", count)
    assert after == before
    await bench.driver.thaw("box")
    await until(lambda: _more(bench, count, int(after) + 3), is_value=True)


async def _more(bench: Any, command: str, wanted: int) -> bool:
    _, output = await bench.inside("box", command)
    return int(output) >= wanted


async def test_reboot_and_poweroff_typed_inside(bench: Any) -> None:
    spec = await bench.spawn("box", bench.port(11))
    await bench.said("box", "boot finished")
    _, before = await bench.inside("box", "touch /root/kept /run/gone; cat /proc/sys/kernel/random/boot_id")
    await bench.inside("box", "reboot")
    await bench.said("box", "] reboot\n")
    await asyncio.sleep(1)
    _, after = await bench.inside("box", "ls /root/kept; ls /run/gone; cat /proc/sys/kernel/random/boot_id")
    assert before.strip() not in after
    assert "/root/kept\n" in after
    assert "'/run/gone': No such file" in after
    await bench.inside("box", "poweroff")
    await until(lambda: bench.driver.is_running("box"), is_value=False)
    await bench.driver.power_on(spec)
    assert await bench.driver.is_running("box")
    assert (await bench.inside("box", "ip -4 address show eth0"))[1].count("10.7.0.11") == 1


async def test_power_off_lets_programs_end_and_forces_what_will_not(bench: Any) -> None:
    spec = await bench.spawn("box")
    loop = 'trap "echo ended > /root/ended; exit" TERM; while :; do sleep 0.1; done'
    await bench.inside("box", f"nohup sh -c '{loop}' >/dev/null 2>&1 & sleep 0.3")
    await bench.driver.power_off("box", timeout=10)
    assert not await bench.driver.is_running("box")
    await bench.driver.power_on(spec)
    assert (await bench.inside("box", "cat /root/ended"))[1] == "ended\n"


async def test_a_rebuild_starts_from_the_image_again(bench: Any) -> None:
    spec = await bench.spawn("box", bench.port(11))
    await bench.inside("box", "touch /root/old")
    await bench.driver.rebuild(spec)
    assert (await bench.inside("box", "ls /root"))[1] == ""


async def test_servers_run_on_without_the_cloud_and_are_served_again(bench: Any) -> None:
    await bench.spawn("box", bench.port(11))
    first = enter.find(bench.state, "box")
    await bench.driver.stop(keep=True)
    assert first.is_alive
    await bench.restart()
    assert await bench.driver.is_running("box")
    assert enter.find(bench.state, "box") == first
    status, output = await bench.inside("box", "curl -s -m 2 http://169.254.169.254/latest/meta-data/instance-id")
    assert (status, output) == (0, "box")
    await bench.inside("box", "poweroff")
    await until(lambda: bench.driver.is_running("box"), is_value=False)


async def test_a_program_that_is_not_there_is_named_in_words(bench: Any) -> None:
    await bench.spawn("box", bench.port(11))
    inside = enter.command(enter.find(bench.state, "box"), ["no-such-program", "status"])
    ended = subprocess.run(inside, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    assert (ended.returncode, ended.stderr) == (127, "box has no program no-such-program\n")


async def test_a_server_that_died_while_the_cloud_was_away_can_be_started(bench: Any) -> None:
    spec = await bench.spawn("box", bench.port(11))
    first = enter.find(bench.state, "box")
    await bench.driver.stop(keep=True)
    os.kill(first.pid, 9)
    assert await first.wait(5)
    await bench.restart()
    assert not await bench.driver.is_running("box")
    await bench.driver.power_on(spec)
    assert (await bench.inside("box", "ip -br -4 address show eth0"))[1].split()[2] == "10.7.0.11/24"


async def test_a_volume_is_a_disk_inside_and_keeps_its_data(bench: Any, tmp_path: Path) -> None:
    disk = tmp_path / "volume"
    with disk.open("wb") as file:
        file.truncate(64 << 20)
    volume = VolumeWiring(volume_id="v", path=disk, device="/dev/vdb")
    spec = await bench.spawn("box")
    await bench.driver.attach("box", volume)
    status, output = await bench.inside(
        "box", "test -b /dev/vdb && mkfs.ext4 -q /dev/vdb && blockdev --getsize64 /dev/vdb"
    )
    assert (status, output) == (0, f"{64 << 20}\n")
    await bench.driver.detach("box", "v")
    assert (await bench.inside("box", "ls /dev/vdb"))[0] != 0
    await bench.driver.power_off("box", timeout=5)
    await bench.driver.power_on(replace(spec, volumes=[volume]))
    assert (await bench.inside("box", "blkid /dev/vdb"))[1].count('TYPE="ext4"') == 1


async def test_files_of_the_create_call_and_names_arrive(bench: Any) -> None:
    spec = replace(bench.spec("box"), hostname="box.example.org", files=[("/etc/motd", b"h\xc3\xa9llo\n")])
    await bench.driver.spawn(spec)
    await bench.said("box", "boot finished")
    _, output = await bench.inside("box", "cat /etc/motd /etc/hostname; hostname; getent hosts box")
    assert output.split() == ["h\u00e9llo", "box", "box.example.org", "127.0.1.1", "box.example.org", "box"]


async def test_several_servers_start_at_once(bench: Any) -> None:
    await bench.driver.ensure_network("net-a", external=False, mtu=1450)
    specs = [bench.spec(f"box-{number}", bench.port(20 + number)) for number in range(6)]
    await asyncio.gather(*(bench.driver.spawn(each) for each in specs))
    assert all([await bench.driver.is_running(each.id) for each in specs])
    assert (await bench.inside("box-0", "ping -c1 -W1 10.7.0.25"))[0] == 0


async def test_memory_is_limited_where_this_machine_allows_it(bench: Any) -> None:
    if "memory" not in bench.driver.describe()["limits"]:
        pytest.skip("this machine's control groups are read-only")
    spec = replace(bench.spec(BOX), ram_mb=64)
    await bench.driver.spawn(spec)
    status, _ = await bench.inside(BOX, "python3 -c 'x = bytearray(200 << 20)'")
    limit = [
        each.read_text()
        for each in Path("/sys/fs/cgroup").glob(f"**/calor/{BOX}/memory.*")
        if each.name in ("memory.limit_in_bytes", "memory.max")
    ]
    assert [int(each) for each in limit] == [64 << 20]
    assert status != 0


async def test_an_image_that_is_no_tree_is_refused_in_words(bench: Any, tmp_path: Path) -> None:
    spec = replace(bench.spec("box"), image_path=tmp_path / "cirros.qcow2")
    with pytest.raises(DriverError, match="calor image build"):
        await bench.driver.spawn(spec)
    assert not await bench.driver.is_running("box")


async def test_a_network_that_is_not_there_fails_the_server_and_leaves_nothing(bench: Any) -> None:
    with pytest.raises(DriverError, match="Network nowhere"):
        await bench.driver.spawn(bench.spec("box", bench.port(11, network="nowhere")))
    assert not await bench.driver.is_running("box")
    assert not list((bench.state / "run/netns").glob("s*"))


async def test_nothing_is_left_and_this_machine_is_as_it_was(bench: Any, tmp_path: Path) -> None:
    before = await host_state()
    disk = tmp_path / "volume"
    disk.write_bytes(b"\0" * (1 << 20))
    await bench.driver.ensure_network("net-x", external=True, mtu=1500)
    await bench.spawn(BOX, bench.port(11), bench.port(12, network="net-b", subnet="10.8.0"))
    await bench.driver.attach(BOX, VolumeWiring(volume_id="v", path=disk, device="/dev/vdb"))
    assert await host_state() == before, "running servers change nothing here either"
    inner = enter.find(bench.state, BOX)
    namespaces = {os.readlink(inner.namespace(kind)) for kind in ("net", "mnt", "pid", "user")}
    await bench.driver.stop(keep=False)
    assert not inner.is_alive
    assert str(bench.state) not in Path("/proc/self/mountinfo").read_text()
    assert str(disk) not in await output_of("losetup", "--list", "--output", "BACK-FILE")
    assert not namespaces & {each for each in (await output_of("lsns", "-n", "-o", "NS")).split()}
    assert not list((bench.state / "servers").iterdir())
    assert not list(Path("/sys/fs/cgroup").glob(f"**/calor/{BOX}"))
    await bench.start()


async def host_state() -> list[str]:
    commands = (
        ["ip", "-o", "link"],
        ["ip", "route", "show", "table", "all"],
        ["ip", "rule"],
        ["nft", "list", "ruleset"],
        ["ip", "netns"],
    )
    return [await output_of(*each) for each in (*commands, ["ip", "-br", "address"])]


async def output_of(*argv: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *argv, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    return output.decode()


async def until(ask: Any, *, is_value: bool, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while await ask() is not is_value:
        assert time.monotonic() < end
        await asyncio.sleep(0.05)
