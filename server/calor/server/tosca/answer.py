"""What a translation comes to, as it travels from the closed process to whoever asked."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Translation:
    """HOT, and the files that it names: those of the request but for what was imported, and nested templates."""

    template: str
    files: Mapping[str, str]
