"""Section ``sources``: directory -> address or path of an archive (or a map of it with checksum and authentication),
which is unpacked there."""

import filecmp
import os
import re
import shutil
import stat
import tempfile
from typing import Any, Dict
from urllib.parse import unquote, urlsplit

from calor.cfntools.authentication import AuthenticationRefused
from calor.cfntools.fetching import CannotFetch, Source
from calor.cfntools.sections import archives
from calor.cfntools.sections.contract import Run, SectionFailed, known

NAME = "sources"
KEYS = ("source", "checksum", "authentication")
GITHUB = re.compile(
    r"^https?://([a-z0-9-]+\.)*github\.com/.*/(zipball|tarball|archive|zip|tar\.gz|legacy\.[a-z.]+)(/|$)"
)


def apply(wanted: Dict[str, Any], run: Run) -> None:
    for directory, value in sorted(wanted.items()):
        if not os.path.isabs(directory):
            raise SectionFailed("sources: {} is not an absolute path".format(directory))
        source = _source(directory, value, run)
        work = tempfile.mkdtemp(prefix="cfn-init-")
        try:
            changed = _put(source, directory, work, run)
        except (AuthenticationRefused, CannotFetch) as exc:
            raise SectionFailed("sources: {}: {}".format(directory, exc)) from exc
        except (archives.Unsafe, archives.Unknown, *archives.DAMAGE) as exc:
            reason = getattr(exc, "strerror", None) or exc
            raise SectionFailed("sources: {}: {}".format(source.url, reason)) from exc
        finally:
            shutil.rmtree(work)  # F091
        run.note(NAME, directory, changed)


def _source(directory: str, value: Any, run: Run) -> Source:
    if isinstance(value, str):
        return Source(value)
    item = known(run, NAME, directory, value, KEYS)
    if not item.get("source"):
        raise SectionFailed("sources: {} has no source".format(directory))
    return Source(str(item["source"]), item.get("authentication"), item.get("checksum"))


def _put(source: Source, directory: str, work: str, run: Run) -> bool:
    """Whether anything in the directory is another than before."""
    packed, tree = os.path.join(work, "archive"), os.path.join(work, "tree")
    source.save(packed, run.authentication)
    archives.unpack(packed, os.path.basename(unquote(urlsplit(source.url).path)) or "source", tree)
    if GITHUB.match(source.url.lower()):
        tree = _inside(tree)
    return _merge(tree, directory)


def _inside(tree: str) -> str:
    """GitHub wraps an archive in one directory, which is not wanted."""
    entries = os.listdir(tree)
    only = os.path.join(tree, entries[0]) if len(entries) == 1 else tree
    return only if os.path.isdir(only) else tree


def _merge(tree: str, directory: str) -> bool:
    """Bring what is in ``tree`` to ``directory``; files that are there already, the same to the byte, are left."""
    changed = False
    for folder, folders, files in os.walk(tree):
        target = os.path.normpath(os.path.join(directory, os.path.relpath(folder, tree)))
        if not os.path.isdir(target):
            os.makedirs(target)
            if folder != tree:
                shutil.copymode(folder, target)
            changed = True
        for name in files + [one for one in folders if os.path.islink(os.path.join(folder, one))]:
            changed = _place(os.path.join(folder, name), os.path.join(target, name)) or changed
    return changed


def _place(new: str, there: str) -> bool:
    if os.path.lexists(there):
        if _same(new, there):
            return False
        if os.path.isdir(there) and not os.path.islink(there):
            raise OSError("{} is a directory".format(there))
    half = there + ".cfn-init-new"
    if os.path.lexists(half):
        os.unlink(half)
    shutil.move(new, half)
    os.replace(half, there)
    return True


def _same(one: str, other: str) -> bool:
    left, right = os.lstat(one), os.lstat(other)
    if stat.S_IFMT(left.st_mode) != stat.S_IFMT(right.st_mode):
        return False
    if stat.S_ISLNK(left.st_mode):
        return os.readlink(one) == os.readlink(other)
    if (left.st_size, left.st_mode) != (right.st_size, right.st_mode):
        return False
    return filecmp.cmp(one, other, shallow=False)
