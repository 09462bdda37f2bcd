"""Section ``sources``: directory -> address or path of an archive, which is unpacked there."""

import os
import shutil
import tarfile
import tempfile
import zipfile
from typing import Any, Dict, List
from urllib.parse import urlsplit

from calor.cfntools import httpclient
from calor.cfntools.sections.contract import Changes, SectionFailed

NAME = "sources"


def apply(wanted: Dict[str, Any], changes: Changes) -> None:
    for directory, source in sorted(wanted.items()):
        if not os.path.isabs(directory):
            raise SectionFailed("sources: {} is not an absolute path".format(directory))
        work = tempfile.mkdtemp(prefix="cfn-init-")
        try:
            _unpack(str(source), directory, work)
        except (OSError, tarfile.TarError, zipfile.BadZipFile) as exc:
            raise SectionFailed("sources: {}: {}".format(source, exc)) from exc
        finally:
            shutil.rmtree(work)  # F091
        changes.note(NAME, directory)


def _unpack(source: str, directory: str, work: str) -> None:
    path = _fetched(source, work)
    tree = os.path.join(work, "tree")
    if tarfile.is_tarfile(path):
        with tarfile.open(path) as tar:
            members = tar.getmembers()
            _check(source, [member.name for member in members])
            _check(source, [os.path.join(os.path.dirname(m.name), m.linkname) for m in members if m.issym()])
            _check(source, [member.linkname for member in members if member.islnk()])
            if any(member.isdev() for member in members):
                raise SectionFailed("sources: {} holds a device".format(source))
            tar.extractall(tree)
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            _check(source, archive.namelist())
            archive.extractall(tree)
    else:
        raise SectionFailed("sources: {} is neither a tar nor a zip archive".format(source))
    _move(_top(tree, source), directory)


def _fetched(source: str, work: str) -> str:
    if os.path.isabs(source):
        return source
    try:
        answer = httpclient.request("GET", source, timeout=600.0)
    except httpclient.TransportError as exc:
        raise SectionFailed("sources: {}".format(exc)) from exc
    if not answer.ok:
        raise SectionFailed("sources: {} answered {}".format(source, answer.status))
    path = os.path.join(work, "archive")
    with open(path, "wb") as target:
        target.write(answer.body)
    return path


def _check(source: str, names: List[str]) -> None:
    for name in names:
        inside = os.path.normpath(name)
        if os.path.isabs(name) or inside == ".." or inside.startswith("../"):
            raise SectionFailed("sources: {} holds {}, outside the target".format(source, name))


def _top(tree: str, source: str) -> str:
    """GitHub wraps an archive in one directory, which is not wanted."""
    host = urlsplit(source).hostname or ""
    entries = os.listdir(tree) if os.path.isdir(tree) else []
    if host in ("github.com", "codeload.github.com", "api.github.com") and len(entries) == 1:
        return os.path.join(tree, entries[0])
    return tree


def _move(tree: str, directory: str) -> None:
    for folder, folders, files in os.walk(tree):
        names = files + [name for name in folders if os.path.islink(os.path.join(folder, name))]
        target = os.path.normpath(os.path.join(directory, os.path.relpath(folder, tree)))
        os.makedirs(target, exist_ok=True)
        for name in names:
            there = os.path.join(target, name)
            if os.path.lexists(there):
                os.unlink(there)
            shutil.move(os.path.join(folder, name), there)
