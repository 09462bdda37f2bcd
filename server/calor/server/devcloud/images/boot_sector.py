"""What lies before the root file system of a disk: GRUB's first sector with the partition table and GRUB's core, for
BIOSes, and the system partition, for UEFI.

No loop device and no mount: GRUB's images are laid down as ``grub-install`` would, which for a core that starts in
sector 1 changes nothing in them. The root is the first partition by number and the last by place: it can grow.
"""

import struct
import uuid
from pathlib import Path

SECTOR = 512
SYSTEM_START = 1 << 20  # bytes; what lies before it belongs to BIOSes
SYSTEM_SIZE = 3 << 20
PARTITION_START = SYSTEM_START + SYSTEM_SIZE
MODULES = (
    "part_msdos", "part_gpt", "ext2", "search", "search_fs_uuid", "configfile", "linux", "normal", "echo",
    "serial", "terminal", "test", "minicmd",
)  # fmt: skip

_LINUX = 0x83
_SYSTEM = 0xEF
_BOOTABLE = 0x80
_CODE = 440  # bytes of the first sector that are GRUB's
_BEYOND_CHS = bytes((0xFE, 0xFF, 0xFF))


def layout(boot: bytes, core: bytes, system: bytes, *, size: int, ident: uuid.UUID) -> bytes:
    """The bytes before the root, which fills the rest of ``size``. Raises `ValueError` for what is too long."""
    space = SYSTEM_START - SECTOR
    if len(core) > space:
        raise ValueError(f"the boot loader's core has {len(core)} bytes, and there is room for {space}")
    if len(system) > SYSTEM_SIZE:
        raise ValueError(f"the system partition has {len(system)} bytes, and there is room for {SYSTEM_SIZE}")
    table = _entry(_BOOTABLE, _LINUX, PARTITION_START, size - PARTITION_START)
    table += _entry(0, _SYSTEM, SYSTEM_START, SYSTEM_SIZE)
    head = boot[:_CODE].ljust(_CODE, b"\0") + ident.bytes[:4] + b"\0\0" + table.ljust(64, b"\0") + b"\x55\xaa"
    return (head + core).ljust(SYSTEM_START, b"\0") + system.ljust(SYSTEM_SIZE, b"\0")


def _entry(flag: int, kind: int, start: int, size: int) -> bytes:
    return struct.pack("<B3sB3sII", flag, _BEYOND_CHS, kind, _BEYOND_CHS, start // SECTOR, size // SECTOR)


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
