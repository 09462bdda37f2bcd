"""What is asked of a closed process, as whoever asks sees it: without the libraries, which only that process loads."""

from collections.abc import Mapping
from typing import Any

from calor.server.template.reader import Limits
from calor.server.tosca.answer import Translation


def translate(
    template: Mapping[str, Any] | str, files: Mapping[str, str], given: Mapping[str, Any], file: str, limits: Limits
) -> Translation:
    """See `translation.translate`."""
    from calor.server.tosca import translation

    return translation.translate(template, files, given, file=file, limits=limits)
