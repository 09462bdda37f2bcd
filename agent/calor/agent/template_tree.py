"""Trees of templates as os-apply-config has them: the path below the root is the target, a Mustache template or an
executable gives the content, ``FILE.oac`` beside it says mode, owner, group and allow_empty."""

import grp
import json
import os
import pwd
import subprocess
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from calor.cfntools import mustache

ROOT = "/usr/libexec/os-apply-config/templates"
CONTROL = ".oac"


class TreeFault(Exception):
    """A template that cannot be rendered; the message names it. Nothing has been written then."""


class Control(NamedTuple):
    """What a control file says."""

    allow_empty: bool = True
    mode: Optional[int] = None
    owner: int = -1
    group: int = -1


Render = Callable[[Dict[str, Any]], bytes]
Sources = List[Tuple[str, Render, Control]]


def below(root: str) -> Sources:
    """The templates of a directory."""
    found: Sources = []
    for folder, _, names in sorted(os.walk(root)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not name.endswith(CONTROL):
                render = _executable(path) if os.access(path, os.X_OK) else _mustache(_read(path), path)
                found.append(("/" + os.path.relpath(path, root), render, _control(path)))
    return found


def given(templates: Dict[str, Any]) -> Sources:
    """Templates by the path of their target: a text, or a map with ``content`` and the keys of a control file."""
    found: Sources = []
    for path, value in sorted(templates.items()):
        if not os.path.isabs(path):
            raise TreeFault("{} is not an absolute path".format(path))
        settings = dict(value) if isinstance(value, dict) else {"content": value}
        content = settings.pop("content", None)
        text = content if isinstance(content, str) else json.dumps(content)
        found.append((path, _mustache(text, path), _settings(settings, path)))
    return found


def apply(sources: Sources, metadata: Dict[str, Any], output: str) -> Iterator[str]:
    """Render all, then write what has changed below ``output``; a line for each file. Raises TreeFault."""
    rendered = [
        (os.path.join(output, path.lstrip("/")), render(metadata), control) for path, render, control in sources
    ]
    for path, body, control in rendered:
        if not body and not control.allow_empty:
            if os.path.exists(path):
                os.unlink(path)
                yield "deleted {}".format(path)
            continue
        if _write(path, body, control):
            yield "wrote {}".format(path)


def _write(path: str, body: bytes, control: Control) -> bool:
    """Replace a file; a new one has mode 0644, an old one keeps what the control file does not name."""
    mode, owner, group = 0o644, -1, -1
    if os.path.exists(path):
        found = os.stat(path)
        mode, owner, group = found.st_mode & 0o7777, found.st_uid, found.st_gid
        same = _read_bytes(path) == body
        if same and control.mode in (None, mode) and control.owner in (-1, owner) and control.group in (-1, group):
            return False
    os.makedirs(os.path.dirname(path), exist_ok=True)
    new = "{}.calor-new".format(path)
    with open(new, "wb") as target:
        os.fchmod(target.fileno(), control.mode if control.mode is not None else mode)
        os.fchown(
            target.fileno(),
            control.owner if control.owner >= 0 else owner,
            control.group if control.group >= 0 else group,
        )
        target.write(body)
        target.flush()
        os.fsync(target.fileno())
    os.replace(new, path)
    return True


def _mustache(text: str, path: str) -> Render:
    def render(metadata: Dict[str, Any]) -> bytes:
        try:
            return mustache.render(text, metadata, _as_text).encode("utf-8", "surrogateescape")
        except mustache.TemplateFault as exc:
            raise TreeFault("template {}: {}".format(path, exc)) from exc

    return render


def _as_text(value: Any) -> str:
    """Text as it is, nothing for null, JSON for all else."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _executable(path: str) -> Render:
    def render(metadata: Dict[str, Any]) -> bytes:
        try:
            done = subprocess.run(
                [path], input=json.dumps(metadata).encode("ascii"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        except OSError as exc:
            raise TreeFault("template {} cannot be started: {}".format(path, exc)) from exc
        if done.returncode != 0:
            said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()[-500:]
            raise TreeFault("template {}: exit code {}: {}".format(path, done.returncode, said))
        return done.stdout

    return render


def _read(path: str) -> str:
    return _read_bytes(path).decode("utf-8", "surrogateescape")


def _read_bytes(path: str) -> bytes:
    with open(path, "rb") as source:
        return source.read()


def _control(path: str) -> Control:
    """``key: value`` lines, which is all the YAML that control files have."""
    if not os.path.isfile(path + CONTROL):
        return Control()
    settings: Dict[str, Any] = {}
    for line in _read(path + CONTROL).splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        if colon:
            settings[key.strip()] = value.strip().strip("'\"")
        elif key.strip() not in ("", "---", "...", "{}"):
            raise TreeFault("{}{}: not understood: {}".format(path, CONTROL, line))
    return _settings(settings, path + CONTROL)


def _settings(settings: Dict[str, Any], path: str) -> Control:
    known = set(Control._fields)
    found: Dict[str, Any] = {}
    for key, value in settings.items():
        if key not in known:
            raise TreeFault("{}: unrecognised file control key {!r}".format(path, key))
        try:
            found[key] = _setting(key, value)
        except (ValueError, KeyError) as exc:
            raise TreeFault("{}: {} {!r}: {}".format(path, key, value, exc)) from exc
    return Control(**found)


def _setting(key: str, value: Any) -> int:
    if key == "allow_empty":
        return _boolean(value)
    if key == "mode":
        return _mode(value)
    if str(value).isdigit():
        return int(value)
    return pwd.getpwnam(str(value)).pw_uid if key == "owner" else grp.getgrnam(str(value)).gr_gid


def _boolean(value: Any) -> bool:
    known = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
    if str(value).lower() not in known:
        raise ValueError("requires a boolean")
    return known[str(value).lower()]


def _mode(value: Any) -> int:
    """A number is the mode; text is octal, as in YAML with a leading 0 or 0o and as everybody means it without."""
    mode = value if isinstance(value, int) else int(str(value).replace("0o", ""), 8)
    if not 0 <= mode <= 0o777:
        raise ValueError("out of range")
    return mode
