"""A CSAR, the archive of a TOSCA template with its files, as texts by name. Nothing is written to disk."""

import io
import posixpath
import zipfile
from dataclasses import dataclass, field
from typing import Any

import yaml

from calor.server.errors import InvalidInput, Problem, RequestLimitExceeded
from calor.server.template.files import NotText, text_of
from calor.server.tosca.recognition import is_tosca

META = "TOSCA-Metadata/TOSCA.meta"
MOST_FILES = 1000
MOST_BYTES = 16 << 20
_TEMPLATES = (".yaml", ".yml")


@dataclass(frozen=True)
class Archive:
    """``files`` are named as seen from the template's folder, as the template itself names them."""

    name: str
    template: str
    files: dict[str, str] = field(default_factory=dict)


def unpack(content: bytes, file: str) -> Archive:
    """Raises `InvalidInput` where this is no CSAR, and `RequestLimitExceeded`. Files that are no texts stay away."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            texts = _texts(archive, file)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise _fault(file, f"This is no archive that can be read: {error}.") from error
    entry = _entry(texts, file)
    folder = posixpath.dirname(entry)
    return Archive(
        name=entry,
        template=texts[entry],
        files={posixpath.relpath(name, folder or "."): text for name, text in texts.items() if name != entry},
    )


def _texts(archive: zipfile.ZipFile, file: str) -> dict[str, str]:
    members = [member for member in archive.infolist() if not member.is_dir()]
    if len(members) > MOST_FILES:
        raise RequestLimitExceeded(f"{file} has {len(members)} files; an archive may have {MOST_FILES}.")
    left, found = MOST_BYTES, {}
    for member in members:
        name = member.filename
        if name.startswith("/") or "\\" in name or ":" in name or ".." in name.split("/"):
            raise _fault(file, f"The archive has a file {name!r}, whose name leads out of the archive.")
        with archive.open(member) as opened:
            content = opened.read(left + 1)  # as many as there are, whatever the archive says of itself
        left -= len(content)
        if left < 0:
            raise RequestLimitExceeded(f"{file} unpacks to more than {MOST_BYTES >> 20} MiB.")
        text = text_of(content)
        if not isinstance(text, NotText):
            found[posixpath.normpath(name)] = text
    return found


def _entry(texts: dict[str, str], file: str) -> str:
    """The template: what TOSCA.meta names, else the only one at the root."""
    if META in texts:
        name = posixpath.normpath(str(_meta(texts[META], file).get("Entry-Definitions") or ""))
        if name not in texts:
            raise _fault(file, f"{META} names the template {name!r}, which is not in the archive.")
        return name
    at_root = [name for name in texts if "/" not in name and name.endswith(_TEMPLATES) and is_tosca(texts[name])]
    if len(at_root) != 1:
        raise _fault(
            file, f"The archive has no {META}, so exactly one template must be at its root; there are {len(at_root)}."
        )
    return at_root[0]


def _meta(text: str, file: str) -> dict[str, Any]:
    try:
        read = yaml.load(text, Loader=yaml.CSafeLoader)  # a safe loader
    except yaml.YAMLError as error:
        raise _fault(file, f"{META} cannot be read: {error}") from error
    return read if isinstance(read, dict) else {}


def _fault(file: str, message: str) -> InvalidInput:
    return InvalidInput([Problem(message=message, file=file, code="tosca-archive")])
