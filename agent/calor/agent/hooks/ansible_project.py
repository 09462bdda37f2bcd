"""What a playbook runs amid: a folder with roles, group_vars, templates and collections, given as an archive or file by
file, and what ansible-galaxy brings.

A bundle is a tar or zip archive as base64 text, which is how OpenStack's clients send a binary file named by get_file.
"""

import base64
import binascii
import json
import os
import re
import shutil
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from calor.agent.hooks import contract

KEYS = ("playbook", "files", "bundle")
PLAYBOOKS = ("site.yml", "site.yaml", "playbook.yml", "playbook.yaml", "main.yml", "main.yaml")
REQUIREMENTS = (
    ("requirements.yml", ["install"]),
    ("requirements.yaml", ["install"]),
    ("roles/requirements.yml", ["role", "install"]),
    ("collections/requirements.yml", ["collection", "install"]),
)
BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")
DEFAULT_ROLES = "~/.ansible/roles:/usr/share/ansible/roles:/etc/ansible/roles"
DEFAULT_COLLECTIONS = "~/.ansible/collections:/usr/share/ansible/collections"


class Given(NamedTuple):
    """What config and options together say. ``text`` is a playbook's text, ``playbooks`` names files of the folder."""

    text: str
    playbooks: List[str]
    files: Dict[str, str]
    archive: bytes

    @property
    def is_empty(self) -> bool:
        return not (self.text.strip() or self.files or self.archive)

    @property
    def has_folder(self) -> bool:
        return bool(self.files or self.archive)


def read(config: Any, options: Dict[str, Any]) -> Given:
    """The config is a playbook (text, or a list of plays), a bundle, or a map with ``playbook``, ``files`` and
    ``bundle``, which may be options as well. Raises CannotRun."""
    found = {key: options.get(key) for key in KEYS}
    text = ""
    if isinstance(config, dict):
        if not config.keys() <= set(KEYS):
            raise contract.CannotRun("a config of group ansible that is a map has playbook, files and bundle only", 1)
        found.update(config)
    elif isinstance(config, str) and _unpacked(config) is not None:
        found["bundle"] = config
    else:
        text = contract.as_text(config)
    named = found["playbook"] or []
    files = found["files"] or {}
    if not isinstance(files, dict):
        raise contract.CannotRun("ansible hook: files must map paths to contents", 1)
    archive = _unpacked(str(found["bundle"])) if found["bundle"] else b""
    if archive is None:
        raise contract.CannotRun("ansible hook: the bundle is no tar or zip archive as base64 text", 1)
    playbooks = [str(one) for one in (named if isinstance(named, list) else [named])]
    return Given(text, playbooks, {str(path): _content(one) for path, one in files.items()}, archive)


def _content(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _unpacked(text: str) -> Optional[bytes]:
    """The archive that a text is in base64; None if it is none."""
    if len(text) < 40 or not BASE64.fullmatch(text):
        return None
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except (ValueError, binascii.Error):
        return None
    is_archive = data.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"PK\x03\x04")) or data[257:262] == b"ustar"
    return data if is_archive else None


def lay_out(given: Given, folder: str, scratch: str) -> None:
    """Make the folder anew from archive and files. Raises CannotRun."""
    if os.path.isdir(folder):
        shutil.rmtree(folder)
    if given.archive:
        _unpack(given.archive, folder, os.path.join(scratch, "bundle"))
    os.makedirs(folder, mode=0o700, exist_ok=True)
    os.chmod(folder, 0o700)
    for path, content in given.files.items():
        target = os.path.normpath(os.path.join(folder, path))
        if not target.startswith(folder + os.sep):
            raise contract.CannotRun("ansible hook: the file {} lies outside the bundle".format(path), 1)
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        executable = 0o700 if content.startswith("#!") else 0o600
        contract.write_private(target, content.encode("utf-8", "surrogateescape"), executable)


def _unpack(data: bytes, folder: str, packed: str) -> None:
    from calor.cfntools.sections import archives  # a plain playbook must not pay for four compressors

    contract.write_private(packed, data)
    try:
        archives.unpack(packed, "bundle", folder)
    except (archives.Unsafe, archives.Unknown, *archives.DAMAGE) as exc:
        raise contract.CannotRun("ansible hook: the bundle cannot be unpacked: {}".format(exc), 1) from exc
    finally:
        os.unlink(packed)


def root_of(folder: str) -> str:
    """Where the content begins: an archive often holds one folder and nothing beside it."""
    names = os.listdir(folder)
    if len(names) == 1 and os.path.isdir(os.path.join(folder, names[0])) and names[0] not in ("roles", "collections"):
        return os.path.join(folder, names[0])
    return folder


def playbooks(given: Given, root: str) -> List[str]:
    """The playbooks of the folder that are to be run. Raises CannotRun."""
    if given.playbooks:
        missing = [name for name in given.playbooks if not os.path.isfile(os.path.join(root, name))]
        if missing:
            raise contract.CannotRun("ansible hook: the bundle has no playbook {}".format(", ".join(missing)), 1)
        return [os.path.join(root, name) for name in given.playbooks]
    for name in PLAYBOOKS:
        if os.path.isfile(os.path.join(root, name)):
            return [os.path.join(root, name)]
    said = "ansible hook: the bundle has none of {}; option playbook names another"
    raise contract.CannotRun(said.format(", ".join(PLAYBOOKS)), 1)


def galaxy(job: contract.Job, program: str, root: str, working: str) -> Tuple[List[List[str]], Dict[str, str]]:
    """The ansible-galaxy commands to run first, and the environment that makes what they install be found. Option
    ``requirements`` is a requirements file's text, a list or map like its content, or false for none."""
    wanted = job.deployment.options.get("requirements")
    found: List[Tuple[List[str], str]] = []
    if (wanted is None or wanted is True) and root != working:
        there = [(words, os.path.join(root, name)) for name, words in REQUIREMENTS]
        found = [(words, path) for words, path in there if os.path.isfile(path)]
    elif wanted and wanted is not True:
        path = os.path.join(root, ".calor-requirements.yml")
        contract.write_private(path, _content(wanted).encode("utf-8"))
        found = [(["install"], path)]
    if not found:
        return [], {}
    beside = os.path.join(os.path.dirname(program), "ansible-galaxy")
    tool = beside if os.access(beside, os.X_OK) else contract.find_tool(job.environment, ["ansible-galaxy"], "Ansible")
    place = os.path.join(working, "galaxy")
    environment = {}
    for name, kind, default in (
        ("ANSIBLE_ROLES_PATH", "roles", DEFAULT_ROLES),
        ("ANSIBLE_COLLECTIONS_PATH", "collections", DEFAULT_COLLECTIONS),
    ):
        os.makedirs(os.path.join(place, kind), mode=0o700, exist_ok=True)
        environment[name] = "{}:{}".format(os.path.join(place, kind), job.environment.get(name) or default)
    return [[tool, *words, "-r", path] for words, path in found], environment
