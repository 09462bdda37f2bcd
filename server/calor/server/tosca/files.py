"""The files of a request as the only ones that there are: what imports of a TOSCA template can lead to."""

import posixpath
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin

import yaml

from calor.server.errors import InvalidInput, Problem
from calor.server.template.reader import Limits, read

ROOT = "<template>.yaml"
"""The template's own name; no file of a request has it, and names are relative to its folder."""


class RequestFiles:
    """``imported`` are the names that were asked for and found, ``absent`` those that were not."""

    def __init__(self, root: Any, files: Mapping[str, str], limits: Limits) -> None:
        self._root = root
        self._files = files
        self._limits = limits
        self.imported: set[str] = set()
        self.absent: list[str] = []

    def find(self, name: str, base: str) -> str | None:
        """The key of the file that a name in the file ``base`` stands for: as written, beside that file, beside the
        template, or (as Heat's tools do) beside that file although its folder is named once more."""
        for candidate in candidates(name, base):
            if candidate in self._files:
                self.imported.add(candidate)
                return candidate
        self.absent.append(name)
        return None

    def tree(self, key: str) -> Any:
        """A file's content, fresh at each call since the libraries change what they get. Raises `InvalidInput`."""
        return self._root if key == ROOT else tree_of(self._files[key], key, self._limits)


def tree_of(text: str, file: str, limits: Limits) -> Any:
    """A document as Heat's tools read it, once it is known to keep the limits. Raises `InvalidInput`."""
    read(text, file=file, limits=limits)
    try:
        return yaml.load(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, TypeError) as error:  # CloudFormation's tags, dates that no calendar has
        message = f"TOSCA has no such value: {' '.join(str(error).split())}"
        raise InvalidInput([Problem(message=message, file=file, code="yaml-content")]) from error


def is_url(name: str) -> bool:
    return "://" in name


def candidates(name: str, base: str) -> list[str]:
    if is_url(name) or name.startswith(("/", "file:")):
        return [name]
    if is_url(base):
        return [urljoin(base, name)]
    folder, own = posixpath.dirname(base), posixpath.dirname(name)
    found = [name, posixpath.normpath(posixpath.join(folder, name)), posixpath.normpath(name)]
    if own and folder and (f"/{folder}".endswith(f"/{own}") or f"/{own}".endswith(f"/{folder}")):
        found.append(posixpath.join(folder, posixpath.basename(name)))
    return found
