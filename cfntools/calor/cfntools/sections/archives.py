"""Archives as sources name them: what kind one is, by its content, and unpacking it without leaving the target."""

import bz2
import gzip
import lzma
import os
import shutil
import stat
import tarfile
import zipfile
import zlib
from typing import Any, Callable, Dict, List, Optional

COMPRESSED: Dict[bytes, Callable[[str], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
SUFFIXES = (".gz", ".bz2", ".xz")
DAMAGE = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, RuntimeError)
"""What reading an archive raises that is damaged, encrypted (RuntimeError) or names a file as no file system can
(ValueError)."""


class Unsafe(Exception):
    """The archive holds what would lie outside the target, or what is no file; nothing of it was unpacked."""


class Unknown(Exception):
    """It is none of the kinds that are known."""


def unpack(path: str, name: str, tree: str) -> None:
    """Unpack into the directory ``tree``. A file that is compressed but no archive becomes ``name`` without its
    suffix. Raises Unsafe, Unknown, and one of DAMAGE."""
    os.makedirs(tree)
    if tarfile.is_tarfile(path):
        with tarfile.open(path) as tar:
            _unpack_tar(tar, tree)
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            _unpack_zip(archive, tree)
    else:
        opened = _compressed(path)
        if opened is None:
            raise Unknown("neither tar, zip, gzip, bzip2 nor xz")
        with opened(path) as source, open(os.path.join(tree, _bare(name)), "wb") as target:
            shutil.copyfileobj(source, target, 1024 * 1024)


def _compressed(path: str) -> Optional[Callable[[str], Any]]:
    with open(path, "rb") as source:
        head = source.read(6)
    return next((opened for magic, opened in COMPRESSED.items() if head.startswith(magic)), None)


def _bare(name: str) -> str:
    return next((name[: -len(one)] for one in SUFFIXES if name.lower().endswith(one) and len(name) > len(one)), name)


def _unpack_tar(tar: tarfile.TarFile, tree: str) -> None:
    """Owners in the archive mean nothing on this machine: everything belongs to whoever runs this."""
    members = tar.getmembers()
    _check([member.name for member in members])
    _check([os.path.join(os.path.dirname(one.name), one.linkname) for one in members if one.issym()])
    _check([member.linkname for member in members if member.islnk()])
    _check_links({os.path.normpath(one.name) for one in members if one.issym()}, [one.name for one in members])
    for member in members:
        if not (member.isfile() or member.isdir() or member.issym() or member.islnk()):
            raise Unsafe("{} is a device".format(member.name))
        member.uid, member.gid = os.getuid(), os.getgid()
        member.uname = member.gname = ""
        member.mode &= 0o777
        member.mode |= 0o700 if member.isdir() else 0
    if hasattr(tarfile, "fully_trusted_filter"):
        tar.extraction_filter = tarfile.fully_trusted_filter  # what is checked above is checked for every Python
    tar.extractall(tree, members)


def _unpack_zip(archive: zipfile.ZipFile, tree: str) -> None:
    """``extractall`` knows neither permissions nor symbolic links, which archives made on Unix have."""
    infos = archive.infolist()
    links = {os.path.normpath(info.filename): archive.read(info).decode("utf-8") for info in infos if _is_link(info)}
    _check([info.filename for info in infos])
    _check([os.path.join(os.path.dirname(name), target) for name, target in links.items()])
    _check_links(set(links), [info.filename for info in infos])
    for info in infos:
        if os.path.normpath(info.filename) in links:
            continue
        path = archive.extract(info, tree)
        mode = (info.external_attr >> 16) & 0o777
        if mode:
            os.chmod(path, mode | 0o700 if os.path.isdir(path) else mode)
    for name, target in links.items():
        os.makedirs(os.path.dirname(os.path.join(tree, name)), exist_ok=True)
        os.symlink(target, os.path.join(tree, name))


def _is_link(info: zipfile.ZipInfo) -> bool:
    return info.create_system == 3 and stat.S_ISLNK(info.external_attr >> 16)


def _check(names: List[str]) -> None:
    for name in names:
        inside = os.path.normpath(name)
        if os.path.isabs(name) or inside == ".." or inside.startswith("../"):
            raise Unsafe("it holds {}, outside the target".format(name))


def _check_links(links: Any, names: List[str]) -> None:
    """Nothing is put through a link that the archive itself makes."""
    for name in names:
        folder = os.path.dirname(os.path.normpath(name))
        while folder:
            if folder in links:
                raise Unsafe("it holds {}, outside the target by its link {}".format(name, folder))
            folder = os.path.dirname(folder)
