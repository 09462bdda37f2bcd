"""Image ``debian-12``: a whole Debian from its packages (mmdebstrap) under a layer with the agent baked in.

The Debian is kept for itself, so that a new agent costs seconds and no download.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from calor.server.devcloud.images import apt_sources, building, guest_parts
from calor.server.devcloud.images.catalog import DESCRIPTION, Image, ImageError, load
from calor.server.devcloud.images.commands import run
from calor.server.devcloud.images.sources import sources_root

NAME = "debian-12"
SUITE = "bookworm"
_RECIPE = 1  # raised when the way of making it changes
_PACKAGES = (*guest_parts.PACKAGES, "less", "netbase", "openssl", "vim-tiny")

_BAKE = r"""
set -e
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=$BASE,upperdir=$IMAGE/root,workdir=$IMAGE/work" "$IMAGE/mnt"
cd "$IMAGE/mnt"
mount -t proc proc proc
mount --rbind /dev dev
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs mnt
mkdir mnt/calor
mount --bind "$SOURCE" mnt/calor
mount -o remount,bind,ro mnt/calor
export HOME=/run LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin ANSIBLE_NOCOLOR=1
chroot . ansible-playbook -i localhost, -c local -e calor_hosts=localhost /mnt/calor/playbooks/bake-agent.yml
"""


async def build_debian(cache: Path, progress: Callable[[str], None]) -> Image:
    """The image with the agent of this version: from the cache, or made (a minute or two). Needs root, mmdebstrap."""
    source = sources_root()
    path = cache / f"{NAME}-{_agent_fingerprint(source)}"
    if (path / DESCRIPTION).exists():
        return load(path)
    if os.geteuid() != 0:
        raise ImageError(f"Image {NAME} is made by root only: its files belong to many users.")
    async with building.exclusively(cache):
        if (path / DESCRIPTION).exists():
            return load(path)
        base = await _base(cache, progress)
        return await _build(path, base, source, progress)


async def _build(path: Path, base: Path, source: Path, progress: Callable[[str], None]) -> Image:
    progress("baking the agent into it")
    shutil.rmtree(path, ignore_errors=True)
    for name in ("root", "work", "mnt"):
        (path / name).mkdir(parents=True)
    await run(
        ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "sh", "-c", _BAKE],
        what=f"Image {NAME}",
        log=path / "build.log",
        environment={**os.environ, "BASE": str(base), "IMAGE": str(path), "SOURCE": str(source)},
    )
    for name in ("work", "mnt"):
        shutil.rmtree(path / name)
    properties = {"os_distro": "debian", "os_version": "12", "description": "Debian 12 with cloud-init, Ansible, agent"}
    image = Image(name=NAME, path=path, layers={"/": [path / "root", base]}, properties=properties)
    image.save()
    return image


async def _base(cache: Path, progress: Callable[[str], None]) -> Path:
    """The Debian below the agent: from the cache, or made."""
    path = cache / "bases" / f"{NAME}-{_base_fingerprint()}"
    if path.exists():
        return path
    progress(f"making image {NAME} from Debian's packages (a minute or two)")
    work = path.with_suffix(".partial")
    shutil.rmtree(work, ignore_errors=True)
    root = work / "root"
    work.mkdir(parents=True)
    sources = work / "sources.list"
    sources.write_text(apt_sources.lines(SUITE))
    argv = ["mmdebstrap", "--mode=root", "--variant=minbase", f"--include={','.join(_PACKAGES)}", "--quiet"]
    argv += [SUITE, str(root), *([str(sources)] if sources.read_text() else [])]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    await run(argv, what=f"Image {NAME}", log=work / "build.log", environment=environment)
    guest_parts.install(root / "etc", root / "usr/local")
    for name in ("hostname", "resolv.conf"):
        (root / "etc" / name).unlink(missing_ok=True)
    root.rename(path)
    shutil.rmtree(work)
    return path


def _base_fingerprint() -> str:
    """Changes with our recipe."""
    recipe = (_RECIPE, _PACKAGES, guest_parts.CLOUD_INIT, sorted(guest_parts.SCRIPTS.items()))
    return hashlib.sha256(repr(recipe).encode()).hexdigest()[:12]


def _agent_fingerprint(source: Path) -> str:
    """Changes with the Debian below and with what is baked in."""
    digest = hashlib.sha256((_base_fingerprint() + _BAKE).encode())
    for file in _baked(source):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def _baked(source: Path) -> Iterator[Path]:
    for folder in ("playbooks", "agent", "cfntools"):
        for suffix in ("py", "yml", "j2"):
            yield from sorted((source / folder).rglob(f"*.{suffix}"))
