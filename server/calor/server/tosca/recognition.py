"""Which templates are TOSCA, and whether this installation can read them."""

import importlib.util
import re
from collections.abc import Mapping
from typing import Any

from calor.server.errors import NotSupported
from calor.server.template.dialects import DIALECTS

KEY = "tosca_definitions_version"
ARCHIVE_SUFFIXES = (".csar", ".zip")
_LIBRARIES = ("toscaparser", "translator")
_OTHERS = "|".join(DIALECTS)
_AS_YAML = re.compile(rf"^(['\"]?){KEY}\1\s*:", re.MULTILINE)
_OTHER_AS_YAML = re.compile(rf"^(['\"]?)(?:{_OTHERS})\1\s*:", re.MULTILINE)
_AS_JSON = re.compile(rf"\"{KEY}\"\s*:")
_OTHER_AS_JSON = re.compile(rf"\"(?:{_OTHERS})\"\s*:")


def is_tosca(template: Mapping[str, Any] | str | None) -> bool:
    """By the key that each language has; a text is not parsed for it."""
    if isinstance(template, Mapping):
        return KEY in template and not any(key in template for key in DIALECTS)
    if not template:
        return False
    own, other = (_AS_JSON, _OTHER_AS_JSON) if template.lstrip()[:1] == "{" else (_AS_YAML, _OTHER_AS_YAML)
    return own.search(template) is not None and other.search(template) is None


def is_archive(name: str) -> bool:
    return name.lower().endswith(ARCHIVE_SUFFIXES)


def check_installed() -> None:
    """Raises `NotSupported` where the optional part for TOSCA is not installed."""
    if any(importlib.util.find_spec(library) is None for library in _LIBRARIES):
        raise NotSupported(
            "This is a TOSCA template, and the part of Calor that reads those is not installed here: "
            "pip install 'calor[tosca]' (tosca-parser and heat-translator)."
        )
