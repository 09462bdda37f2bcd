"""The nearest known name to one that is not known."""

import difflib
import re
from collections.abc import Iterable
from itertools import islice

_MOST = 2000  # names looked at: difflib is slow, and a template of thousands of resources may have many faults
_MEANT = re.compile(r"\(did you mean ('[^']+'(?: or '[^']+')*)\?\)")


def did_you_mean(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> str:
    """`` (did you mean 'server'?)``, with up to ``most`` names that are as like as ``cutoff`` says, or nothing."""
    near = difflib.get_close_matches(str(name), list(islice(known, _MOST)), n=most, cutoff=cutoff)
    return f" (did you mean {' or '.join(map(repr, near))}?)" if near else ""


def meant(message: str) -> list[str]:
    """The names that a message of `did_you_mean` offers."""
    return [name for offer in _MEANT.findall(message) for name in re.findall("'([^']+)'", offer)]
