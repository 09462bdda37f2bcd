"""Section ``files``: path -> content or source, owner, group, mode, encoding."""

import base64
import binascii
import grp
import json
import os
import pwd
import tempfile
from typing import Any, Dict, Optional

from calor.cfntools import httpclient
from calor.cfntools.sections.contract import Changes, SectionFailed, entry

NAME = "files"


def apply(wanted: Dict[str, Any], changes: Changes) -> None:
    for path, value in sorted(wanted.items()):
        if not os.path.isabs(path):
            raise SectionFailed("files: {} is not an absolute path".format(path))
        try:
            if _put(path, entry(NAME, path, value)):
                changes.note(NAME, path)
        except OSError as exc:
            raise SectionFailed("files: {}: {}".format(path, exc.strerror or exc)) from exc


def _put(path: str, item: Dict[str, Any]) -> bool:
    """Whether the file is another than before."""
    owner, group = _owner(path, item)
    mode = _mode(path, item)
    data = _data(path, item)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if mode is not None and mode & 0o170000 == 0o120000:
        return _link(path, data.decode("utf-8"), owner, group)
    before: Optional[bytes] = _read(path)
    handle, half = tempfile.mkstemp(prefix=".cfn-init-", dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as target:
            target.write(data)
        os.chown(half, owner, group)
        os.chmod(half, 0o644 if mode is None else mode & 0o7777)
        os.replace(half, path)
    except BaseException:
        os.unlink(half)
        raise
    return before != data


def _link(path: str, target: str, owner: int, group: int) -> bool:
    if os.path.islink(path) and os.readlink(path) == target:
        return False
    if os.path.lexists(path):
        os.unlink(path)
    os.symlink(target, path)
    os.chown(path, owner, group, follow_symlinks=False)
    return True


def _read(path: str) -> Optional[bytes]:
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as source:
        return source.read()


def _data(path: str, item: Dict[str, Any]) -> bytes:
    """Text as UTF-8, any other JSON value as indented JSON (F079), or what the source's address answers."""
    if "content" in item:
        content = item["content"]
        if not isinstance(content, str):
            return (json.dumps(content, indent=4, ensure_ascii=False) + "\n").encode("utf-8")
        if str(item.get("encoding") or "plain") != "base64":
            return content.encode("utf-8")
        try:
            return base64.b64decode(content, validate=True)
        except (binascii.Error, ValueError) as exc:
            raise SectionFailed("files: {}: content is not base64: {}".format(path, exc)) from exc
    if not item.get("source"):
        raise SectionFailed("files: {} has neither content nor source".format(path))
    try:
        answer = httpclient.request("GET", str(item["source"]), timeout=300.0)
    except httpclient.TransportError as exc:
        raise SectionFailed("files: {}: {}".format(path, exc)) from exc
    if not answer.ok:
        raise SectionFailed("files: {}: {} answered {}".format(path, item["source"], answer.status))
    return answer.body


def _mode(path: str, item: Dict[str, Any]) -> Any:
    text = item.get("mode")
    if text in (None, ""):
        return None
    try:
        return int(str(text), 8)
    except ValueError as exc:
        raise SectionFailed("files: {}: mode {!r} is not octal".format(path, text)) from exc


def _owner(path: str, item: Dict[str, Any]) -> Any:
    """Numbers of owner and group; a name that is not known is an error (F081). Absent: whoever runs this."""
    found = []
    for key, ask, mine in (("owner", pwd.getpwnam, os.getuid()), ("group", grp.getgrnam, os.getgid())):
        name = item.get(key)
        if name in (None, ""):
            found.append(mine)
        elif str(name).isdigit():
            found.append(int(name))
        else:
            try:
                found.append(ask(str(name))[2])
            except KeyError as exc:
                raise SectionFailed("files: {}: there is no {} {}".format(path, key, name)) from exc
    return found
