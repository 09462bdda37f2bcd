"""The part of image ``host`` that is copied from this machine: /etc without its secrets, and the package state.

Shown are files that Debian's packages own or generate and that everybody on this machine may read. What makes this
machine itself (accounts of people, keys, names, addresses, mounts) stays out.
"""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

_GENERATED = (
    "alternatives", "apt/keyrings", "apt/sources.list", "apt/sources.list.d", "apt/trusted.gpg.d", "ca-certificates",
    "ca-certificates.conf", "debian_version", "default", "dpkg", "environment.d", "gss", "init.d", "java-11-openjdk",
    "java-17-openjdk", "ld.so.cache", "ld.so.conf.d", "locale.gen", "localtime", "nsswitch.conf", "os-release", "pam.d",
    "perl", "profile", "python3", "rc0.d", "rc1.d", "rc2.d", "rc3.d", "rc4.d", "rc5.d", "rc6.d", "rcS.d", "shells",
    "ssl/certs", "systemd/system", "timezone",
)  # fmt: skip
_OWN = {
    "NetworkManager", "adjtime", "apt/auth.conf", "apt/auth.conf.d", "cron.d", "docker", "environment", "exports",
    "fstab", "group", "hostname", "hosts", "issue.net", "kubernetes", "machine-id", "motd", "mtab", "netplan",
    "network", "openvpn", "passwd", "resolv.conf", "ssl/private", "subgid", "subuid", "sudoers", "wireguard",
    "wpa_supplicant",
}  # fmt: skip
_FOLDERS = (
    "boot", "dev", "home", "media", "mnt", "opt", "proc", "run", "srv", "sys", "var/backups",
    "var/cache/apt/archives/partial", "var/lib/apt/lists/partial", "var/lib/misc", "var/log/apt", "var/mail", "var/opt",
    "var/spool/cron",
)  # fmt: skip
_STATE = ("var/lib/dpkg", "var/lib/pam", "var/lib/ucf", "var/lib/python", "var/lib/systemd/deb-systemd-helper-enabled")
_PEOPLE = range(1000, 60000)
_SECRET = b"PRIVATE KEY-----"


def copy(target: Path, root: Path = Path("/")) -> None:
    """Fill ``target`` with the shown part of the machine whose files are at ``root``."""
    for folder in _FOLDERS:
        (target / folder).mkdir(parents=True, exist_ok=True)
    for folder, mode in (("tmp", 0o1777), ("var/tmp", 0o1777), ("root", 0o700), ("etc/ssl/private", 0o700)):
        (target / folder).mkdir(parents=True, exist_ok=True)
        (target / folder).chmod(mode)
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if (root / name).is_symlink():
            (target / name).symlink_to((root / name).readlink())
    (target / "var/run").symlink_to("/run")
    (target / "var/lock").symlink_to("/run/lock")
    _copy_etc(root, target)
    _copy_accounts(root / "etc", target / "etc")
    for folder in _STATE:
        if (root / folder).is_dir():
            shutil.copytree(root / folder, target / folder, symlinks=True, dirs_exist_ok=True)
    for path in _owned(root, "/var/"):
        _make_like(root / path, target / path)


def _copy_etc(root: Path, target: Path) -> None:
    wanted = set(_owned(root, "/etc/"))
    for generated in _GENERATED:
        wanted.update(_below(root, Path("etc") / generated))
    for path in sorted(wanted):
        if not _is_own(path.relative_to("etc")):
            _copy_public(root / path, target / path)


def _is_own(path: Path) -> bool:
    return any(str(each) in _OWN for each in (path, *path.parents)) or path.match("ssh/ssh_host_*")


def _owned(root: Path, prefix: str) -> Iterator[Path]:
    """Paths below ``prefix`` that installed packages own, relative to the root; parents come first in each list."""
    for listing in sorted((root / "var/lib/dpkg/info").glob("*.list")):
        for line in listing.read_text(errors="replace").splitlines():
            if line.startswith(prefix):
                yield Path(line.removeprefix("/"))


def _below(root: Path, path: Path) -> Iterator[Path]:
    if (root / path).is_symlink() or not (root / path).is_dir():
        yield path
        return
    for folder, folders, files in os.walk(root / path):
        for name in (*folders, *files):
            yield (Path(folder) / name).relative_to(root)


def _copy_public(source: Path, target: Path) -> None:
    """Copy one link, file or folder that everybody may read; skip all else."""
    try:
        status = source.lstat()
    except OSError:  # a file that the administrator has removed
        return
    if stat.S_ISLNK(status.st_mode):
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_symlink():
            target.symlink_to(source.readlink())
    elif stat.S_ISDIR(status.st_mode):
        _make_like(source, target)
    elif stat.S_ISREG(status.st_mode) and status.st_mode & stat.S_IROTH and not _has_secret(source):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
        os.chown(target, status.st_uid, status.st_gid)


def _has_secret(source: Path) -> bool:
    content = source.read_bytes()
    return _SECRET in content or ("/apt/sources.list" in str(source) and b"@" in content)


def _make_like(source: Path, target: Path) -> None:
    """An empty folder with the owner and mode of the other; nothing where that is no folder."""
    if source.is_symlink() or not source.is_dir() or target.is_symlink():
        return
    status = source.stat()
    target.mkdir(parents=True, exist_ok=True)
    target.chmod(stat.S_IMODE(status.st_mode))
    os.chown(target, status.st_uid, status.st_gid)


def _copy_accounts(source: Path, target: Path) -> None:
    """passwd and group without people; shadow files with locked passwords for those that stay."""
    locked: dict[str, list[str]] = {"passwd": [], "group": []}
    for name, shadow, rest in (("passwd", "shadow", ":*:19000:0:99999:7:::"), ("group", "gshadow", ":*::")):
        for line in (source / name).read_text().splitlines():
            fields = line.split(":")
            if len(fields) > 3 and int(fields[2]) not in _PEOPLE:
                if name == "group":
                    fields[3] = ""
                locked[name].append(":".join(fields))
        (target / name).write_text("\n".join(locked[name]) + "\n")
        secrets = target / shadow
        secrets.touch(mode=0o640)
        secrets.write_text("".join(f"{each.split(':')[0]}{rest}\n" for each in locked[name]))
        os.chown(secrets, 0, 42)
