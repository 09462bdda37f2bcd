"""Section ``files``: path -> content or source, encoding, context, authentication, owner, group, mode."""

import base64
import binascii
import filecmp
import grp
import json
import os
import pwd
import shutil
import stat
import tempfile
from typing import Any, BinaryIO, Callable, Dict, NamedTuple, Optional

from calor.cfntools import mustache
from calor.cfntools.authentication import AuthenticationRefused
from calor.cfntools.fetching import CannotFetch, Source
from calor.cfntools.sections.contract import Run, SectionFailed, known

NAME = "files"
KEYS = ("content", "source", "encoding", "context", "authentication", "owner", "group", "mode", "checksum")
BACKUP = ".bak"
LARGEST_MODE = 0o177777


class Owner(NamedTuple):
    """Whose the file becomes, in numbers."""

    user: int
    group: int


def apply(wanted: Dict[str, Any], run: Run) -> None:
    for path, value in sorted(wanted.items()):
        if not os.path.isabs(path):
            raise SectionFailed("files: {} is not an absolute path".format(path))
        try:
            run.note(NAME, path, _put(path, known(run, NAME, path, value, KEYS), run))
        except (AuthenticationRefused, CannotFetch) as exc:
            raise SectionFailed("files: {}: {}".format(path, exc)) from exc
        except (OSError, ValueError) as exc:  # a ValueError is a path or target that no file system takes
            raise SectionFailed("files: {}: {}".format(path, getattr(exc, "strerror", None) or exc)) from exc


def _put(path: str, item: Dict[str, Any], run: Run) -> bool:
    """Whether the file is another than before, in its content, owner or mode."""
    owner, mode = _owner(path, item), _mode(path, item, run)
    if os.path.isdir(path) and not os.path.islink(path):
        raise SectionFailed("files: {} is a directory".format(path))
    made = _make_parents(os.path.dirname(path))
    handle, half = tempfile.mkstemp(prefix=".cfn-init-", dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as target:
            _write(path, item, run, target, half)
        if stat.S_ISLNK(mode):
            with open(half, "rb") as source:
                return _link(path, source.read().decode("utf-8"), owner) or made
        os.chown(half, owner.user, owner.group)
        os.chmod(half, stat.S_IMODE(mode))
        return _replace(half, path)
    finally:
        if os.path.lexists(half):
            os.unlink(half)


def _make_parents(folder: str) -> bool:
    if os.path.isdir(folder):
        return False
    os.makedirs(folder, 0o755)
    return True


def _replace(half: str, path: str) -> bool:
    """Put the new file in its place unless that is what is there; what it takes the place of stays beside it."""
    if os.path.isfile(path) and not os.path.islink(path) and filecmp.cmp(half, path, shallow=False):
        before, after = os.lstat(path), os.lstat(half)
        if (before.st_uid, before.st_gid, before.st_mode) == (after.st_uid, after.st_gid, after.st_mode):
            return False
        os.chown(path, after.st_uid, after.st_gid)
        os.chmod(path, stat.S_IMODE(after.st_mode))
        return True
    if os.path.isfile(path):
        _back_up(path)
    _sync(half)
    os.replace(half, path)
    return True


def _back_up(path: str) -> None:
    """The file stays in its place meanwhile: a reader never finds it missing."""
    other = path + BACKUP
    if os.path.lexists(other):
        os.unlink(other)
    shutil.copy2(path, other, follow_symlinks=False)
    if not os.path.islink(path):
        found = os.stat(path)
        os.chown(other, found.st_uid, found.st_gid)


def _sync(path: str) -> None:
    """A crash leaves the old file or the new one, never an empty one."""
    with open(path, "rb") as content:
        os.fsync(content.fileno())


def _link(path: str, target: str, owner: Owner) -> bool:
    if os.path.islink(path) and os.readlink(path) == target:
        return False
    if os.path.lexists(path):
        if os.path.isfile(path) and not os.path.islink(path):
            _back_up(path)
        os.unlink(path)
    os.symlink(target, path)
    os.chown(path, owner.user, owner.group, follow_symlinks=False)
    return True


def _write(path: str, item: Dict[str, Any], run: Run, target: BinaryIO, half: str) -> None:
    """Text as UTF-8, any other JSON value as indented JSON (F079), or what the source holds; with a ``context`` as a
    Mustache template."""
    context = item.get("context")
    if item.get("content") is not None:
        data = _content(path, item)
    elif item.get("source"):
        source = Source(str(item["source"]), item.get("authentication"), item.get("checksum"))
        source.save(half, run.authentication)
        if context is None:
            return
        with open(half, "rb") as fetched:
            data = fetched.read()
    else:
        raise SectionFailed("files: {} has neither content nor source".format(path))
    if context is not None:
        data = _rendered(path, data, context)
    target.truncate(0)
    target.write(data)


def _rendered(path: str, template: bytes, context: Any) -> bytes:
    try:
        return mustache.render(template.decode("utf-8"), context).encode("utf-8")
    except (mustache.TemplateFault, UnicodeDecodeError) as exc:
        raise SectionFailed("files: {}: as a Mustache template: {}".format(path, exc)) from exc


def _content(path: str, item: Dict[str, Any]) -> bytes:
    content = item["content"]
    if not isinstance(content, str):
        return (json.dumps(content, indent=4, ensure_ascii=False) + "\n").encode("utf-8")
    encoding = str(item.get("encoding") or "plain")
    if encoding == "plain":
        return content.encode("utf-8")
    if encoding != "base64":
        raise SectionFailed("files: {}: encoding {} is neither plain nor base64".format(path, encoding))
    try:
        return base64.b64decode("".join(content.split()), validate=True)
    except (binascii.Error, ValueError) as exc:
        raise SectionFailed("files: {}: content is not base64: {}".format(path, exc)) from exc


def _mode(path: str, item: Dict[str, Any], run: Run) -> int:
    """As asked for, with the bits that say what kind of file it is; else that of the file that is there."""
    asked = item.get("mode")
    if asked in (None, ""):
        before = _there(path)
        return 0o644 if before is None else stat.S_IMODE(before.st_mode)
    mode = _meant(asked)
    if not 0 <= mode <= LARGEST_MODE:
        raise SectionFailed("files: {}: mode {!r} is not octal".format(path, asked))
    if mode != _octal(asked):
        run.narrator.warn("files: {}: mode {} is taken for 0{:o}, as YAML reads it: quote it".format(path, asked, mode))
    return mode


def _meant(asked: Any) -> int:
    """The octal digits; -1 where they are none. An unquoted ``0644`` of a YAML template reaches us as the number 420:
    digits that make no mode to ask for, and a value that does."""
    mode = _octal(asked)
    is_number = isinstance(asked, int) and not isinstance(asked, bool)
    return int(asked) if is_number and not _is_likely(mode) and _is_likely(asked) else mode


def _octal(asked: Any) -> int:
    try:
        return int(str(asked), 8)
    except ValueError:
        return -1


def _is_likely(mode: int) -> bool:
    """Whether the owner may read, and everybody may do only what the owner may."""
    owner, group, others = mode >> 6 & 7, mode >> 3 & 7, mode & 7
    return mode >= 0 and bool(owner & 4) and not group & ~owner and not others & ~group


def _owner(path: str, item: Dict[str, Any]) -> Owner:
    """A name that is not known is an error (F081). Absent: that of the file that is there, else whoever runs this."""
    before = _there(path)
    mine = Owner(os.getuid(), os.getgid()) if before is None else Owner(before.st_uid, before.st_gid)
    user = _number(path, "owner", item.get("owner"), lambda name: pwd.getpwnam(name).pw_uid)
    group = _number(path, "group", item.get("group"), lambda name: grp.getgrnam(name).gr_gid)
    return Owner(mine.user if user is None else user, mine.group if group is None else group)


def _there(path: str) -> Optional[os.stat_result]:
    return os.stat(path) if os.path.isfile(path) and not os.path.islink(path) else None


def _number(path: str, key: str, name: Any, ask: Callable[[str], int]) -> Optional[int]:
    if name in (None, ""):
        return None
    if str(name).isdigit():
        return int(str(name))
    try:
        return ask(str(name))
    except KeyError as exc:
        raise SectionFailed("files: {}: there is no {} {}".format(path, key, name)) from exc
