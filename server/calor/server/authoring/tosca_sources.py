"""TOSCA templates of this machine, alone or in an archive, with their files."""

from pathlib import Path

from calor.server.authoring.files import Reader
from calor.server.template.files import NotText
from calor.server.tosca import Archive, gather, is_archive, is_tosca, unpack


def tosca_at(path: Path, name: str, read: Reader) -> Archive | None:
    """None where there is another language. Raises `OSError`, and `InvalidInput` for an archive that is no CSAR."""
    if is_archive(name):
        return unpack(path.read_bytes(), name)
    text = read(path).content
    if not is_tosca(text):
        return None

    def beside(file: str) -> str | None:
        target = path.parent / file
        content = read(target).content if target.is_file() else None
        return None if isinstance(content, NotText) else content

    return Archive(name=name, template=text, files=gather(text, beside))
