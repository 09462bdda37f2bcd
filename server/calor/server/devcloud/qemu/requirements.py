"""What this machine must have before it can run virtual machines, and how fast they can be."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from calor.server.devcloud.driver import DriverError

PROGRAM = "qemu-system-x86_64"
TOOLS = {PROGRAM: "qemu-system-x86", "qemu-img": "qemu-utils"}
"""Program to the Debian package that brings it."""

UEFI = Path("/usr/share/ovmf/OVMF.fd")


def missing() -> list[str]:
    """One sentence for each thing that is not there; empty where VMs can run."""
    packages = sorted(package for tool, package in TOOLS.items() if shutil.which(tool) is None)
    return (
        [f"Servers of disk images are VMs, and QEMU is missing: apt-get install {' '.join(packages)}"]
        if packages
        else []
    )


def firmware(properties: Mapping[str, str], uefi: Path = UEFI) -> Path | None:
    """What an image's ``hw_firmware_type`` asks for; None is QEMU's own, a BIOS. Raises DriverError."""
    kind = properties.get("hw_firmware_type", "bios")
    if kind not in ("bios", "uefi"):
        raise DriverError(f"hw_firmware_type of the image is {kind}: servers here boot by bios and uefi.")
    if kind == "bios":
        return None
    if not uefi.exists():
        raise DriverError("The image boots by UEFI, and its firmware is missing: apt-get install ovmf")
    return uefi


def accelerator(kvm: Path = Path("/dev/kvm"), cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """``kvm`` where the processor virtualises and this user may ask it to, else ``tcg`` (20 to 50 times slower).

    A /dev/kvm without these processor flags emulates in the kernel, more slowly than TCG does."""
    flags = next((line.split() for line in cpuinfo.read_text().splitlines() if line.startswith("flags")), [])
    virtualises = {"vmx", "svm"} & set(flags)
    return "kvm" if virtualises and kvm.exists() and os.access(kvm, os.R_OK | os.W_OK) else "tcg"
