"""The nearest known name to one that is not known."""

import difflib
from collections.abc import Iterable
from itertools import islice

_MOST = 2000  # names looked at: difflib is slow, and a template of thousands of resources may have many faults


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`` (did you mean 'server'?)`` or nothing."""
    near = difflib.get_close_matches(str(name), list(islice(known, _MOST)), n=1, cutoff=0.6)
    return f" (did you mean {near[0]!r}?)" if near else ""
