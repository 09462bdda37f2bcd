"""The first MiB of a disk that BIOSes boot: GRUB's first sector, the partition table and GRUB's core.

No loop device and no mount: GRUB's images are laid down as ``grub-install`` would, which for a core that starts in
sector 1 changes nothing in them.
"""

import struct
import uuid
from pathlib import Path

SECTOR = 512
PARTITION_START = 1 << 20  # bytes; what lies before it belongs to the boot loader
MODULES = (
    "biosdisk", "part_msdos", "part_gpt", "ext2", "search", "search_fs_uuid", "configfile", "linux", "normal", "echo",
    "serial", "terminal", "test", "minicmd",
)  # fmt: skip

_LINUX = 0x83
_BOOTABLE = 0x80
_CODE = 440  # bytes of the first sector that are GRUB's
_BEYOND_CHS = bytes((0xFE, 0xFF, 0xFF))


def layout(boot: bytes, core: bytes, *, size: int, ident: uuid.UUID) -> bytes:
    """The bytes before the one partition, which fills the rest of ``size``. Raises `ValueError` for a core too long."""
    space = PARTITION_START - SECTOR
    if len(core) > space:
        raise ValueError(f"the boot loader's core has {len(core)} bytes, and there is room for {space}")
    first, count = PARTITION_START // SECTOR, (size - PARTITION_START) // SECTOR
    entry = struct.pack("<B3sB3sII", _BOOTABLE, _BEYOND_CHS, _LINUX, _BEYOND_CHS, first, count)
    disk_id = ident.bytes[:4]
    head = boot[:_CODE].ljust(_CODE, b"\0") + disk_id + b"\0\0" + entry + bytes(48) + b"\x55\xaa"
    return (head + core).ljust(PARTITION_START, b"\0")


def early_configuration(ident: uuid.UUID) -> str:
    """Built into the core: finds the file system by what it is, not by where the BIOS has put the disk."""
    return f"search --no-floppy --fs-uuid --set=root {ident}\nset prefix=($root)/boot/grub\n"


def menu(ident: uuid.UUID, kernel_options: str) -> str:
    """grub.cfg. The links /vmlinuz and /initrd.img follow kernel updates, so that this file never changes."""
    # an emulated machine beside other load may not pass the kernel's check of its timer
    always = "ro console=tty0 console=ttyS0,115200n8 no_timer_check quiet"
    options = f"root=UUID={ident} {always} {kernel_options}".rstrip()
    return (
        "serial --unit=0 --speed=115200\n"
        "terminal_output console serial\n"
        f"linux /vmlinuz {options}\n"
        "initrd /initrd.img\n"
        "boot\n"
    )


def write(disk: Path, head: bytes) -> None:
    with disk.open("r+b") as file:
        file.write(head)
