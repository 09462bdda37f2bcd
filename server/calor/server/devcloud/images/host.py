"""Image ``host``: this machine's /usr and package state under a layer of cloud-init, Ansible and sshd.

Two overlays make it: ``/`` over a copied base (see `base_tree`) and ``/usr`` over the machine's own /usr, so that no
upper folder ever lies below its lower one.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from calor.server.devcloud.images import base_tree, building, guest_parts
from calor.server.devcloud.images.catalog import DESCRIPTION, Image, ImageError, load
from calor.server.devcloud.images.commands import run

NAME = "host"
_RECIPE = 1  # raised when the way of making it changes

_BUILD = r"""
set -e
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=$IMAGE/base,upperdir=$IMAGE/root,workdir=$IMAGE/work-root" "$IMAGE/mnt"
mkdir -p "$IMAGE/mnt/usr"
mount -t overlay overlay -o "lowerdir=/usr,upperdir=$IMAGE/usr,workdir=$IMAGE/work-usr" "$IMAGE/mnt/usr"
cd "$IMAGE/mnt"
mount -t proc proc proc
mount --rbind /dev dev
for scratch in run tmp var/lib/apt/lists var/cache/apt; do mount -t tmpfs -o mode=755 tmpfs $scratch; done
chmod 1777 tmp
mkdir -p etc/apt var/cache/apt/archives/partial
mount --bind /etc/apt etc/apt
cat /etc/resolv.conf > etc/resolv.conf
printf '#!/bin/sh\nexit 101\n' > usr/sbin/policy-rc.d
chmod 755 usr/sbin/policy-rc.d
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin
chroot . apt-get -q update
chroot . apt-get -q -y --no-install-recommends -o Dpkg::Options::=--force-confnew -o Dpkg::Options::=--force-unsafe-io \
    install $PACKAGES
rm -f usr/sbin/policy-rc.d etc/resolv.conf
"""


async def ensure_host(cache: Path, progress: Callable[[str], None]) -> Image:
    """The image for the packages that this machine has now: from the cache, or made (some 15 s). Needs root."""
    path = cache / f"{NAME}-{fingerprint()}"
    if (path / DESCRIPTION).exists():
        return load(path)
    _check_machine()
    async with building.exclusively(cache):
        if (path / DESCRIPTION).exists():
            return load(path)
        return await _build(path, progress)


async def _build(path: Path, progress: Callable[[str], None]) -> Image:
    progress("making image host from this machine's packages (once; some 15 s)")
    shutil.rmtree(path, ignore_errors=True)
    for name in ("base", "root", "usr/local", "work-root", "work-usr", "mnt"):
        (path / name).mkdir(parents=True)
    os.setxattr(path / "usr/local", "trusted.overlay.opaque", b"y")  # the machine's /usr/local stays unseen
    base_tree.copy(path / "base")
    environment = {**os.environ, "IMAGE": str(path), "PACKAGES": " ".join(guest_parts.PACKAGES)}
    await run(
        ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "sh", "-c", _BUILD],
        what="Image host",
        log=path / "build.log",
        environment=environment,
    )
    guest_parts.install(path / "root/etc", path / "usr/local")
    for name in ("work-root", "work-usr", "mnt"):
        shutil.rmtree(path / name)
    image = Image(
        name=NAME,
        path=path,
        layers={"/": [path / "root", path / "base"], "/usr": [path / "usr", Path("/usr")]},
        properties={"os_distro": "debian", "description": "this machine's /usr with cloud-init, Ansible and sshd"},
    )
    image.save()
    return image


def _check_machine() -> None:
    if os.geteuid() != 0:
        raise ImageError(
            "Image `host` is made by root only (it takes mounts). Without root: calor dev --driver record."
        )
    if not Path("/etc/debian_version").exists() or not Path("/bin").is_symlink():
        raise ImageError("Image `host` can be made on Debian 12 or newer only (it needs apt-get and a merged /usr).")


def fingerprint(status: Path = Path("/var/lib/dpkg/status")) -> str:
    """Changes with the machine's packages and with our recipe."""
    digest = hashlib.sha256(status.read_bytes())
    for text in _recipe():
        digest.update(text.encode())
    return digest.hexdigest()[:12]


def _recipe() -> Iterable[str]:
    return (str(_RECIPE), _BUILD, guest_parts.CLOUD_INIT, *guest_parts.PACKAGES, *guest_parts.SCRIPTS.values())
