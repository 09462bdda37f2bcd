"""Bootable images: a whole Debian 12 with kernel and boot loader as one raw or qcow2 file, for Nova or `calor dev`.

Built from Debian's packages without loop devices: mmdebstrap fills a folder, mke2fs makes a file system of it inside
the disk file, and the boot loader is laid in front.
"""

import hashlib
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from calor.server.devcloud.images import agent_package, apt_sources, boot_loader, boot_sector, building, disk_guest
from calor.server.devcloud.images.catalog import DESCRIPTION, Image, ImageError
from calor.server.devcloud.images.commands import run

NAME = "debian-12-vm"
SUITE = "bookworm"
MIB = 1 << 20
_RECIPE = 1  # raised when the way of making it changes
_ROOM = 160 * MIB  # free space of an image whose size is not given: cloud-init grows it at the first boot
_SMALLEST = 1024 * MIB
_SMALLEST_FILES = 350 * MIB  # Debian with its kernel and cloud-init, without Ansible
_TOOLS = {
    "mmdebstrap": "mmdebstrap", "mke2fs": "e2fsprogs", "qemu-img": "qemu-utils", **boot_loader.TOOLS,
}  # fmt: skip
_NAMESPACE = uuid.UUID("6f1c3a52-6f0e-4b59-9d0c-6a7d3d1a9b11")


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """``size`` in MiB; None: what fits, at least 1 GiB. ``kernel_options`` are added to the kernel's command line."""

    format: str  # qcow2 | raw
    size: int | None = None
    agent: bool = True
    ansible: bool = True
    packages: Sequence[str] = ()
    kernel_options: str = ""

    def base_recipe(self) -> object:
        """All that makes the tree below the agent."""
        packages = disk_guest.packages(self.packages, ansible=self.ansible)
        return (_RECIPE, packages, sorted(disk_guest.FILES.items()), disk_guest.DPKG_OPTIONS, disk_guest.CUSTOMIZE)

    def fingerprint(self) -> str:
        """Changes with what is asked for, with the agent and with our recipe."""
        menu = boot_sector.menu(uuid.UUID(int=0), self.kernel_options)
        agent = agent_package.fingerprint() if self.agent else None
        return _digest((self.base_recipe(), self.format, self.size, menu, agent, boot_sector.PARTITION_START))


Progress = Callable[[str], None]


async def build_disk(cache: Path, wanted: Wanted, output: Path | None, progress: Progress) -> Path:
    """The disk file: at ``output``, else in the cache, where dev clouds find it as image ``debian-12-vm``.

    Needs root. Raises `ImageError`."""
    _check_output(output)
    _check_machine(wanted)
    _check_size(cache, wanted)
    if output is not None:
        return await _build_at(output, cache, wanted, progress)
    folder = cache / f"{NAME}-{wanted.fingerprint()}"
    async with building.exclusively(cache, "disk.lock"):
        if not (folder / DESCRIPTION).exists():
            shutil.rmtree(folder, ignore_errors=True)
            disk = await _build(folder, cache, wanted, progress)
            properties = {"os_distro": "debian", "os_version": "12", "description": _description(wanted)}
            image = Image(
                name=NAME, path=folder, layers={}, properties=properties, disk=disk.name, disk_format=wanted.format
            )
            image.save()
    return folder / f"disk.{wanted.format}"


async def _build_at(output: Path, cache: Path, wanted: Wanted, progress: Progress) -> Path:
    """Not kept in the cache: dev clouds show what was built for them only."""
    async with building.exclusively(cache, "disk.lock"):
        with tempfile.TemporaryDirectory(prefix=".calor-image-", dir=output.parent) as scratch:
            made = await _build(Path(scratch), cache, wanted, progress)
            made.replace(output)
    return output


async def _build(folder: Path, cache: Path, wanted: Wanted, progress: Progress) -> Path:
    """Make the disk in the folder, where nothing else is left."""
    work, raw, disk = folder / "work", folder / "disk.raw", folder / f"disk.{wanted.format}"
    work.mkdir(parents=True)
    log, began = cache / f"{NAME}.log", time.monotonic()
    log.write_bytes(b"")
    ident = uuid.uuid5(_NAMESPACE, wanted.fingerprint())

    def say(text: str) -> None:
        progress(f"[{time.monotonic() - began:4.0f} s] {text}")

    base, root = await _base(cache, wanted, say, log), work / "root"
    await run(
        ["cp", "-a", "--reflink=auto", str(base), str(root)], what=f"Image {NAME}", log=log, environment=os.environ
    )
    if wanted.agent:
        say("installing the agent's package")
        await _bake(root, work, log)
    _boot_files(root, ident, wanted.kernel_options)
    size = _size(root, wanted)
    say(f"making the file system of a disk of {size // MIB} MiB")
    await _file_system(raw, root, size, ident, log)
    say("laying down the boot loader")
    boot_sector.write(raw, await boot_loader.head(work, size, ident, log))
    if wanted.format == "qcow2":
        say("compressing it to qcow2")
        await run(
            ["qemu-img", "convert", "-c", "-f", "raw", "-O", "qcow2", str(raw), str(disk)],
            what=f"Image {NAME}", log=log, environment=os.environ, package="qemu-utils",
        )  # fmt: skip
        raw.unlink()
    shutil.rmtree(work)
    say(f"done: {_used(disk) // MIB} MiB on disk")
    return disk


def _used(path: Path) -> int:
    return path.lstat().st_blocks * 512


def _description(wanted: Wanted) -> str:
    parts = [
        "Debian 12 with cloud-init",
        *(["Ansible"] if wanted.ansible else []),
        *(["agent"] if wanted.agent else []),
    ]
    return ", ".join(parts)


def _check_machine(wanted: Wanted) -> None:
    if os.geteuid() != 0:
        raise ImageError("A bootable image is made by root only: its files belong to many users.")
    needed = {tool: package for tool, package in _TOOLS.items() if tool != "qemu-img" or wanted.format == "qcow2"}
    missing = {package for tool, package in needed.items() if shutil.which(tool) is None}
    missing |= boot_loader.missing()
    if missing:
        raise ImageError(f"Programs are missing: apt-get install {' '.join(sorted(missing))}")


def _check_output(output: Path | None) -> None:
    """Before minutes of work: whether there is a place for what they make."""
    if output is None:
        return
    if not output.parent.is_dir():
        raise ImageError(f"There is no folder {output.parent} for {output.name}: make it, or give another --output.")
    if not os.access(output.parent, os.W_OK | os.X_OK) or (output.exists() and not os.access(output, os.W_OK)):
        raise ImageError(f"{output} cannot be written by this user.")


def _check_size(cache: Path, wanted: Wanted) -> None:
    """By the base where one is kept; else by what the smallest takes. `_size` has the last word."""
    base = _base_path(cache, wanted)
    least = _least(base) if base.exists() else _SMALLEST_FILES
    if wanted.size is not None and wanted.size * MIB < least:
        raise ImageError(f"--size must be at least {-(-least // MIB)} (MiB) for this image.")


def _base_path(cache: Path, wanted: Wanted) -> Path:
    return cache / "bases" / f"{NAME}-{_digest(wanted.base_recipe())}"


async def _base(cache: Path, wanted: Wanted, progress: Progress, log: Path) -> Path:
    """The Debian below the agent: from the cache, or made. A new agent costs no download."""
    path = _base_path(cache, wanted)
    if path.exists():
        return path
    progress(f"installing Debian 12 with its kernel into a folder (a minute or two; log: {log})")
    work = path.with_suffix(".partial")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    root, sources, script, extra = work / "root", work / "sources.list", work / "customize.sh", work / "extra"
    sources.write_text(apt_sources.lines(SUITE))
    script.write_text(disk_guest.CUSTOMIZE)
    script.chmod(0o755)
    _write_files(extra)
    argv = ["mmdebstrap", "--mode=root", "--variant=minbase", "--format=directory", "--quiet"]
    argv += ["--aptopt=Acquire::Languages none", "--aptopt=Apt::Install-Recommends false"]
    argv += [f"--dpkgopt={each}" for each in disk_guest.DPKG_OPTIONS]
    argv += [f"--include={','.join(disk_guest.packages(wanted.packages, ansible=wanted.ansible))}"]
    argv += [f'--essential-hook=cp -a "{extra}/." "$1/"', f"--customize-hook={script}"]
    argv += [SUITE, str(root), *([str(sources)] if sources.read_text() else [])]
    await run(argv, what=f"Image {NAME}", log=log, environment=_environment())
    root.rename(path)
    shutil.rmtree(work)
    return path


def _write_files(extra: Path) -> None:
    for name, text in disk_guest.FILES.items():
        path = extra / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for path in (extra, *extra.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


async def _bake(root: Path, work: Path, log: Path) -> None:
    """Install the agent's package."""
    deb = await agent_package.build_deb(work)
    shutil.copy(deb, root / deb.name)
    argv = ["chroot", str(root), "dpkg", "--install", f"/{deb.name}"]
    environment = {**_environment(), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    await run(argv, what=f"Image {NAME}", log=log, environment=environment)
    (root / deb.name).unlink()


def _environment() -> dict[str, str]:
    settings = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": agent_package.EPOCH}
    return {**os.environ, **settings}


def _digest(recipe: object) -> str:
    return hashlib.sha256(repr(recipe).encode()).hexdigest()[:12]


def _boot_files(root: Path, ident: uuid.UUID, kernel_options: str) -> None:
    (root / "etc/fstab").write_text(f"UUID={ident} / ext4 defaults,errors=remount-ro 0 1\n")
    menu = root / "boot/grub/grub.cfg"
    menu.parent.mkdir(parents=True, exist_ok=True)
    menu.write_text(boot_sector.menu(ident, kernel_options))
    for name in ("vmlinuz", "initrd.img"):
        if not (root / name).exists():
            raise ImageError(f"Image {NAME} could not be made: the kernel's package left no /{name}.")


def _size(root: Path, wanted: Wanted) -> int:
    least = _least(root)
    if wanted.size is None:
        return max(_SMALLEST, -(-(least + _ROOM) // MIB) * MIB)
    if wanted.size * MIB < least:
        raise ImageError(f"--size must be at least {-(-least // MIB)} (MiB) for this image.")
    return wanted.size * MIB


def _least(root: Path) -> int:
    """Bytes of the smallest disk that these files fit on."""
    used = sum(_used(path) for path in root.rglob("*"))
    return boot_sector.PARTITION_START + used * 21 // 20 + 32 * MIB


async def _file_system(raw: Path, root: Path, size: int, ident: uuid.UUID, log: Path) -> None:
    with raw.open("wb") as file:
        file.truncate(size)
    kib = (size - boot_sector.PARTITION_START) // 1024
    argv = ["mke2fs", "-q", "-F", "-t", "ext4", "-L", "root", "-m", "1", "-U", str(ident), "-d", str(root)]
    argv += ["-E", f"offset={boot_sector.PARTITION_START},hash_seed={ident},lazy_itable_init=0,lazy_journal_init=0"]
    environment = {**os.environ, "E2FSPROGS_FAKE_TIME": agent_package.EPOCH}
    await run([*argv, str(raw), f"{kib}k"], what=f"Image {NAME}", log=log, environment=environment, package="e2fsprogs")
