"""Debian's real cloud-init, run on a scratch root: its own mounts, processes and network, nothing of the host's."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "calor" / "cloud-init"
PACKAGES = [
    "cloud-init",
    "python3-attr",
    "python3-certifi",
    "python3-chardet",
    "python3-charset-normalizer",
    "python3-configobj",
    "python3-idna",
    "python3-jinja2",
    "python3-json-pointer",
    "python3-jsonpatch",
    "python3-jsonschema",
    "python3-markupsafe",
    "python3-netifaces",
    "python3-oauthlib",
    "python3-pyrsistent",
    "python3-requests",
    "python3-serial",
    "python3-six",
    "python3-urllib3",
    "python3-yaml",
]
SETTINGS = """
datasource_list: [NoCloud]
disable_root: false
network: {config: disabled}
cloud_init_modules: [bootcmd, write-files]
cloud_config_modules: [runcmd]
cloud_final_modules: [scripts-per-boot, scripts-user, final-message]
system_info: {distro: debian, paths: {cloud_dir: /var/lib/cloud, templates_dir: /etc/cloud/templates}}
"""
INSIDE = r"""
set -e
root=$1 packages=$2
mkdir -p $root/usr $root/proc $root/dev $root/opt/cloud-init
mount --rbind -o ro /usr $root/usr
mount --bind -o ro $packages $root/opt/cloud-init
mount -t proc proc $root/proc
mount -t tmpfs tmpfs $root/dev
for device in null zero random urandom; do touch $root/dev/$device; mount --bind /dev/$device $root/dev/$device; done
touch $root/dev/console
ln -s /proc/self/fd $root/dev/fd
exec chroot $root /usr/bin/env -i THEN="$THEN" PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    PYTHONPATH=/opt/cloud-init/usr/lib/python3/dist-packages /bin/sh -c '
    cloud_init() { /usr/bin/python3 -B -m cloudinit.cmd.main "$@" >>/stages.log 2>&1; }
    cloud_init init --local; cloud_init init; cloud_init modules --mode=config; cloud_init modules --mode=final
    /bin/sh -c "${THEN:-true}" >>/then.log 2>&1
    true'
"""


class Booted:
    """A scratch root after cloud-init has gone through all its stages with some user-data."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def bytes(self, path: str) -> bytes:
        return (self.root / path.lstrip("/")).read_bytes()

    def text(self, path: str) -> str:
        return self.bytes(path).decode()

    def exists(self, path: str) -> bool:
        return (self.root / path.lstrip("/")).exists()

    def mode(self, path: str) -> int:
        return (self.root / path.lstrip("/")).stat().st_mode & 0o7777

    @property
    def log(self) -> str:
        return self.text("/var/log/cloud-init.log")


@pytest.fixture(scope="session")
def cloud_init_packages() -> Path:
    """Debian's cloud-init and what it needs, unpacked (not installed)."""
    unpacked = CACHE / "root"
    if not (CACHE / "complete").exists():
        shutil.rmtree(CACHE, ignore_errors=True)
        CACHE.mkdir(parents=True)
        quietly = {"check": True, "capture_output": True}
        subprocess.run(["apt-get", "download", *PACKAGES], cwd=CACHE, **quietly)  # type: ignore[call-overload]
        for package in CACHE.glob("*.deb"):
            subprocess.run(["dpkg", "-x", str(package), str(unpacked)], **quietly)  # type: ignore[call-overload]
        (CACHE / "complete").touch()
    return unpacked


@pytest.fixture
def boot(tmp_path: Path, cloud_init_packages: Path) -> Callable[..., Booted]:
    """Boots user-data: ``prepare`` may put files into the root first, ``then`` is a shell command run at the end."""

    def run(user_data: bytes, *, prepare: Callable[[Path], None] | None = None, then: str = "true") -> Booted:
        root = tmp_path / "root"
        for directory in ("etc/cloud", "run", "tmp", "root", "var/log", "var/lib/cloud/seed/nocloud"):
            (root / directory).mkdir(parents=True)
        for link in ("bin", "sbin", "lib", "lib64"):
            (root / link).symlink_to(f"usr/{link}")
        for name in ("passwd", "group", "nsswitch.conf", "ld.so.cache", "debian_version", "os-release"):
            if Path("/etc", name).exists():
                shutil.copy(Path("/etc", name), root / "etc" / name)
        shutil.copytree(cloud_init_packages / "etc/cloud/templates", root / "etc/cloud/templates")
        (root / "etc/cloud/cloud.cfg").write_text(SETTINGS)
        (root / "var/lib/cloud/seed/nocloud/meta-data").write_text("instance-id: i-test\nlocal-hostname: scratch\n")
        (root / "var/lib/cloud/seed/nocloud/user-data").write_bytes(user_data)
        if prepare:
            prepare(root)
        command = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--net", "--uts", "--ipc"]
        command += ["--kill-child", "/bin/sh", "-c", INSIDE, "sh", str(root), str(cloud_init_packages)]
        ended = subprocess.run(command, env={**os.environ, "THEN": then}, capture_output=True, text=True, timeout=120)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return Booted(root)

    return run
