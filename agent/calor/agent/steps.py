"""What a hook is doing right now, in its own words: the last line of the file ``step`` in its attempt's directory.

A hook writes it (``note``, or a program through ``$CALOR_STEP_FILE``, by replacing or by appending); heartbeats and
``calor-agent status`` read it. It is news, not a record: nothing depends on it, and a power cut may lose it.
"""

import os

from calor.agent import outputs

VARIABLE = "CALOR_STEP_FILE"
LENGTH = 200


def path(directory: str) -> str:
    """The file for the attempt with this directory."""
    return os.path.join(directory, "step")


def note(directory: str, text: str) -> None:
    """Say what is being done from now on."""
    target = path(directory)
    with open(target + ".new", "w", encoding="utf-8", errors="replace") as new:
        new.write(" ".join(text.split())[:LENGTH] + "\n")
    os.replace(target + ".new", target)


def current(directory: str) -> str:
    """What was said last; "" if nothing was said."""
    lines = [line.strip() for line in outputs.tail(path(directory), 4 * LENGTH).splitlines()]
    said = [line for line in lines if line]
    return said[-1][:LENGTH] if said else ""
