"""The libraries' doors to files and URLs, replaced by the files of a request."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import toscaparser.elements.entity_type
import toscaparser.imports
import toscaparser.tosca_template
import toscaparser.utils.yamlparser
import yaml
from toscaparser.common.exception import ExceptionCollector, ValidationError

from calor.server.tosca.files import RequestFiles, is_url
from calor.server.tosca.swapping import swapped

EXTENSIONS = toscaparser.tosca_template.ToscaTemplate.exttools
DEFINITIONS: Mapping[str, str] = {
    info["defs_file"]: Path(info["defs_file"]).read_text(encoding="utf-8")
    for info in EXTENSIONS.EXTENSION_INFO.values()
}
"""The libraries' own definitions of types (of the NFV profiles), which they would open while they translate."""


@contextmanager
def only(files: RequestFiles) -> Iterator[None]:
    """While this lasts, whatever the libraries open is looked for among these files."""

    def load(path: str, a_file: bool = True) -> Any:
        if path in DEFINITIONS:
            return yaml.load(DEFINITIONS[path], Loader=yaml.CSafeLoader)  # a safe loader
        return files.tree(path)

    def imported(loader: Any, name: str | None, written: Any) -> tuple[str | None, Any]:
        return _imported(files, loader, name, written)

    with swapped(
        (toscaparser.utils.yamlparser, "load_yaml", load),
        (toscaparser.tosca_template, "YAML_LOADER", load),
        (toscaparser.imports, "YAML_LOADER", load),
        (toscaparser.imports.ImportsLoader, "_load_import_template", imported),
        (toscaparser.elements.entity_type, "ExtTools", lambda: EXTENSIONS),
    ):
        yield


def _imported(files: RequestFiles, loader: Any, name: str | None, written: Any) -> tuple[str | None, Any]:
    """One entry of ``imports``: the key of its file and its content, or two times None."""
    repository = None
    if isinstance(written, dict):
        loader._validate_import_keys(name, written)
        repository = written.get("repository")
        written = written.get("file")
    if not isinstance(written, str) or not written:
        ExceptionCollector.appendException(ValidationError(message=f"The import {name or written!r} names no file."))
        return None, None
    if repository is not None and not is_url(written):
        written = f"{_url_of(loader.repositories, repository)}/{written}"
    found = files.find(written, loader.path)
    return (None, None) if found is None else (found, files.tree(found))


def _url_of(repositories: Mapping[str, Any], name: str) -> str:
    definition = repositories.get(name)
    url = definition.get("url", "") if isinstance(definition, dict) else definition or ""
    if not url:
        ExceptionCollector.appendException(ValidationError(message=f'There is no repository "{name}" with a URL.'))
    return str(url).strip().rstrip("/")
