"""Files that are there whole or not at all, also after a power cut."""

import errno
import json
import os
from typing import Any, Optional


def make_directory(path: str) -> None:
    """Make a private directory (and its parents); when this returns, a power cut does not undo it."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    make_directory(parent)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return
    sync_directory(parent)


def write(path: str, data: bytes, mode: int = 0o600) -> None:
    """Replace ``path`` atomically; when this returns, a power cut does not undo it."""
    folder = os.path.dirname(path)
    temporary = _draft(folder, data, mode)
    try:
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    sync_directory(folder)


def _draft(folder: str, data: bytes, mode: int) -> str:
    """A new file with the data, on disk; nothing is left of it where there was no room."""
    temporary = os.path.join(folder, ".new-" + os.urandom(8).hex())
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as target:
            os.fchmod(target.fileno(), mode)
            target.write(data)
            target.flush()
            os.fsync(target.fileno())
    except BaseException:
        os.unlink(temporary)
        raise
    return temporary


def write_json(path: str, value: Any) -> None:
    write(path, json.dumps(value, sort_keys=True).encode("utf-8"))


def create_once(path: str, data: bytes) -> bool:
    """Create ``path``, whole or not at all; False if it was there already. Two processes never both get True."""
    folder = os.path.dirname(path)
    temporary = _draft(folder, data, 0o600)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        os.unlink(temporary)
    sync_directory(folder)
    return True


def read_json(path: str) -> Optional[Any]:
    """The parsed file; None if it is absent or damaged (a caller that must tell the two apart asks ``exists``)."""
    try:
        with open(path, "rb") as source:
            return json.loads(source.read().decode("utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def read_map(path: str) -> dict:  # type: ignore[type-arg]  # Python 3.6 has no dict[str, Any]
    """As ``read_json``, but anything that is not a map counts as damaged: {}."""
    value = read_json(path)
    return value if isinstance(value, dict) else {}


def remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    sync_directory(os.path.dirname(path))


def sync_directory(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as exc:
        if exc.errno not in (errno.EINVAL, errno.EROFS):  # some file systems cannot sync a directory
            raise
    finally:
        os.close(handle)
