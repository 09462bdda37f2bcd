"""Which language a text is in; the front ends register here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calor.server.template.model import Template


@dataclass(frozen=True, kw_only=True)
class Limits:
    size: int = 524288  # bytes of template text
    nodes: int = 200_000  # after aliases are expanded
    depth: int = 100


def parse_template(
    text: str | Mapping[str, Any], *, file: str = "template", strict: bool = False, limits: Limits | None = None
) -> Template:
    """Parse text or an already parsed mapping. Raises `InvalidInput` with all problems, `RequestLimitExceeded`.

    ``strict`` makes warnings (a duplicate key) errors.
    """
    raise NotImplementedError
