"""QEMU's command line and the objects of its monitor for a server. Pure: what is wanted in, words out."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calor.server.devcloud.driver import VolumeWiring
from calor.server.devcloud.qemu.requirements import PROGRAM

_CONFINED = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"
SOCKET = "qmp.sock"
_CPU = {"kvm": ("kvm", "host"), "tcg": ("tcg,thread=multi,tb-size=256", "qemu64")}


@dataclass(frozen=True, kw_only=True)
class Nic:
    """``network``: the words of -netdev that say where its frames go."""

    port_id: str
    mac: str
    network: str


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One boot of a VM. ``root`` is its overlay; None: it boots from its first volume."""

    id: str
    name: str
    vcpus: int
    ram_mb: int
    folder: Path
    root: Path | None
    volumes: Sequence[VolumeWiring]
    nics: Sequence[Nic]
    accelerator: str
    firmware: Path | None = None
    confined: bool = True


def device_id(kind: str, ident: str) -> str:
    """Names in QEMU: letters first, 31 characters at most."""
    return kind + hashlib.sha256(ident.encode()).hexdigest()[:16]


def pid_path(folder: Path) -> Path:
    return folder / "qemu.pid"


def console_path(folder: Path) -> Path:
    return folder / "console.log"


def argv(machine: Machine) -> list[str]:
    """Relative names are those of the folder, where the program is started: a socket's path may have 107 bytes only."""
    accelerator, cpu = _CPU[machine.accelerator]
    words = [
        PROGRAM, "-nodefaults", "-no-user-config", "-display", "none", "-name", f"calor-{machine.id}",
        "-machine", "pc,usb=off", "-accel", accelerator, "-cpu", cpu,
        "-smp", str(max(machine.vcpus, 1)), "-m", str(machine.ram_mb), "-uuid", machine.id,
        "-smbios", "type=1,manufacturer=Calor,product=OpenStack Compute",
        "-chardev", f"file,id=console,append=on,path={_escaped(console_path(machine.folder))}",
        "-serial", "chardev:console",
        "-qmp", f"unix:{SOCKET},server=on,wait=off",
        "-object", "rng-random,id=random,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=random",
        *(["-sandbox", _CONFINED] if machine.confined else []),
        *(["-bios", str(machine.firmware)] if machine.firmware is not None else []),
        "-pidfile", str(pid_path(machine.folder)),
    ]  # fmt: skip
    if machine.root is not None:
        words += ["-blockdev", json.dumps(root_node(machine.root))]
        words += ["-device", "virtio-blk-pci,drive=root,serial=root,bootindex=1"]
    for place, volume in enumerate(machine.volumes, start=2):
        words += ["-blockdev", json.dumps(volume_node(volume))]
        words += ["-device", json.dumps({**volume_device(volume), "bootindex": place})]
    for nic in machine.nics:
        ident = device_id("net", nic.port_id)
        words += ["-netdev", f"{nic.network},id={ident}", "-device", json.dumps(nic_device(nic.port_id, nic.mac))]
    return words


def root_node(path: Path) -> Mapping[str, Any]:
    """Host crashes may lose writes of a dev cloud's server; the end of QEMU does not."""
    file = {"driver": "file", "filename": str(path), "cache": {"no-flush": True}}
    return {"driver": "qcow2", "node-name": "root", "file": file, "cache": {"no-flush": True}, "discard": "unmap"}


def volume_node(volume: VolumeWiring) -> dict[str, Any]:
    file = {"driver": "file", "filename": str(volume.path)}
    return {"driver": "raw", "node-name": device_id("vol", volume.volume_id), "file": file, "discard": "unmap"}


def volume_device(volume: VolumeWiring) -> dict[str, Any]:
    """The guest finds it as /dev/disk/by-id/virtio-<first 20 characters of the id>, as Nova's."""
    ident = device_id("vol", volume.volume_id)
    return {"driver": "virtio-blk-pci", "id": f"d{ident}", "drive": ident, "serial": volume.volume_id[:20]}


def nic_device(port_id: str, mac: str) -> dict[str, Any]:
    """Without a ROM: nothing boots from the network."""
    ident = device_id("net", port_id)
    return {"driver": "virtio-net-pci", "id": f"d{ident}", "netdev": ident, "mac": mac, "romfile": ""}


def _escaped(path: Path) -> str:
    return str(path).replace(",", ",,")
