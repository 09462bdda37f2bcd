"""GRUB for a disk that BIOSes and UEFI boot: a core for these, one program in a small FAT file system for that.

Made by grub-mkimage and mtools, without loop devices; both find the file system by its UUID and read the same menu.
"""

import os
import uuid
from pathlib import Path

from calor.server.devcloud.images import boot_sector
from calor.server.devcloud.images.commands import run

BIOS = Path("/usr/lib/grub/i386-pc")
UEFI = Path("/usr/lib/grub/x86_64-efi")
TOOLS = {"grub-mkimage": "grub-common", "mformat": "mtools", "mcopy": "mtools"}
REMOVABLE = "::/EFI/BOOT/BOOTX64.EFI"
"""Where firmware looks on a disk that it has no entry for."""


def missing() -> set[str]:
    """Debian packages whose files are not there."""
    found = {"grub-pc-bin"} if not (BIOS / "boot.img").exists() else set()
    return found | ({"grub-efi-amd64-bin"} if not (UEFI / "normal.mod").exists() else set())


async def head(work: Path, size: int, ident: uuid.UUID, log: Path) -> bytes:
    """What lies before the root file system on a disk of this size. Raises ImageError."""
    core = await _image(work, "i386-pc", ("biosdisk", *boot_sector.MODULES), ident, log)
    efi = await _image(work, "x86_64-efi", ("efi_gop", "fat", *boot_sector.MODULES), ident, log)
    system = await _system_partition(work, efi, ident, log)
    boot = (BIOS / "boot.img").read_bytes()
    return boot_sector.layout(boot, core.read_bytes(), system.read_bytes(), size=size, ident=ident)


async def _image(work: Path, platform: str, modules: tuple[str, ...], ident: uuid.UUID, log: Path) -> Path:
    early, made = work / "early.cfg", work / f"{platform}.img"
    early.write_text(boot_sector.early_configuration(ident))
    argv = ["grub-mkimage", "-O", platform, "-p", "/boot/grub", "-c", str(early), "-o", str(made), *modules]
    await run(argv, what="The boot loader", log=log, environment=os.environ, package="grub-common")
    return made


async def _system_partition(work: Path, program: Path, ident: uuid.UUID, log: Path) -> Path:
    """A FAT file system with the program, of just the size that there is room for."""
    made = work / "efi.fat"
    sectors = boot_sector.SYSTEM_SIZE // boot_sector.SECTOR
    words = ["-C", "-i", str(made), "-v", "EFI", "-N", ident.hex[:8], "-T", str(sectors), "-h", "16", "-s", "63", "::"]
    for argv in (
        ["mformat", *words],
        ["mmd", "-i", str(made), "::/EFI", "::/EFI/BOOT"],
        ["mcopy", "-i", str(made), str(program), REMOVABLE],
    ):
        await run(argv, what="The boot loader", log=log, environment=os.environ, package="mtools")
    return made
