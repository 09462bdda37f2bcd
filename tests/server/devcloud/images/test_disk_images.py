"""Bootable images: what lies in front of the file system, when one is built anew, and the agent's Debian package."""

import asyncio
import os
import shutil
import struct
import subprocess
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from calor.server.devcloud.images import Image, ImageError, agent_package, boot_loader, boot_sector, disk
from calor.server.devcloud.images.catalog import load

IDENT = uuid.UUID("6f1c3a52-6f0e-4b59-9d0c-6a7d3d1a9b11")
SIZE = 1 << 30


def test_the_first_sector_holds_the_loader_the_root_and_the_partition_of_uefi() -> None:
    head = boot_sector.layout(b"\xeb" * 512, b"core", b"fat", size=SIZE, ident=IDENT)
    assert len(head) == boot_sector.PARTITION_START
    assert head[:440] == b"\xeb" * 440
    assert head[510:512] == b"\x55\xaa"
    active, _chs, kind, _end, first, count = struct.unpack("<B3sB3sII", head[446:462])
    assert (active, kind) == (0x80, 0x83)
    assert (first + count) * 512 == SIZE, "the root is last: it can grow"
    active, _chs, kind, _end, start, length = struct.unpack("<B3sB3sII", head[462:478])
    assert (active, kind, start + length) == (0, 0xEF, first)
    assert head[478:510] == bytes(32)
    assert head[512:516] == b"core"
    assert head[start * 512 :][:3] == b"fat"


@pytest.mark.parametrize(("core", "system"), [(boot_sector.SYSTEM_START, 0), (0, boot_sector.SYSTEM_SIZE + 1)])
def test_what_would_reach_into_the_next_partition_is_refused(core: int, system: int) -> None:
    with pytest.raises(ValueError, match="there is room for"):
        boot_sector.layout(b"", bytes(core), bytes(system), size=SIZE, ident=IDENT)


def test_the_kernel_finds_its_root_by_what_it_is_and_gets_the_users_options() -> None:
    menu = boot_sector.menu(IDENT, "net.ifnames=0")
    assert f"linux /vmlinuz root=UUID={IDENT} ro" in menu
    assert menu.splitlines()[2].endswith("quiet net.ifnames=0")
    assert str(IDENT) in boot_sector.early_configuration(IDENT)


def test_another_wish_is_another_image_over_the_same_debian() -> None:
    one = disk.Wanted(format="qcow2")
    others = [
        replace(one, agent=False),
        replace(one, format="raw"),
        replace(one, kernel_options="x"),
        replace(one, size=9),
    ]
    assert len({each.fingerprint() for each in (one, *others)}) == 5
    assert {repr(each.base_recipe()) for each in others} == {repr(one.base_recipe())}
    assert replace(one, ansible=False).base_recipe() != one.base_recipe()


def test_the_catalog_keeps_what_a_disk_is(tmp_path: Path) -> None:
    Image(name="vm", path=tmp_path, layers={}, disk="disk.qcow2", disk_format="qcow2").save()
    found = load(tmp_path)
    assert (found.disk, found.disk_format) == ("disk.qcow2", "qcow2")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root comes as far")
def test_missing_programs_are_named_by_their_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(boot_loader, "BIOS", tmp_path)
    monkeypatch.setattr(boot_loader, "UEFI", tmp_path)
    said = "apt-get install e2fsprogs grub-common grub-efi-amd64-bin grub-pc-bin mmdebstrap mtools qemu-utils"
    with pytest.raises(ImageError, match=said):
        asyncio.run(disk.build_disk(tmp_path, disk.Wanted(format="qcow2"), None, print))
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")
def test_the_agents_package_has_its_commands_and_is_the_same_each_time(tmp_path: Path) -> None:
    first = asyncio.run(agent_package.build_deb(tmp_path / "a"))
    second = asyncio.run(agent_package.build_deb(tmp_path / "b"))
    assert first.read_bytes() == second.read_bytes()
    listing = subprocess.run(["dpkg-deb", "-c", str(first)], capture_output=True, text=True, check=True).stdout
    names = {line.split()[5].removeprefix("./") for line in listing.splitlines()}
    assert {f"usr/bin/{each}" for each in agent_package.commands()} <= names
    assert {"lib/systemd/system/calor-agent.service", "etc/init.d/calor-agent"} <= names
    assert {line.split()[1] for line in listing.splitlines()} == {"root/root"}
    assert not [name for name in names if name.endswith(".pyc") or name.startswith("usr/local")]
    subprocess.run(["dpkg-deb", "-x", str(first), str(tmp_path / "x")], check=True)
    command = [
        "python3",
        "-IS",
        "-c",
        "import sys; sys.path.insert(0, sys.argv[1]); import calor.agent.cli, calor.cfntools.init",
    ]
    subprocess.run([*command, str(tmp_path / "x/usr/lib/calor")], check=True)
