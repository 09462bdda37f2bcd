"""Running the machine's own tools for a section."""

import os
import shutil
import subprocess
from typing import Dict, List, NamedTuple, Optional

from calor.cfntools.sections.contract import SectionFailed


class Said(NamedTuple):
    """How a question to a tool ended, and its standard output."""

    code: int
    text: str


def run(argv: List[str], environment: Optional[Dict[str, str]] = None) -> None:
    """Run a tool to its end; its output goes to ours. Raises SectionFailed."""
    code = status(argv, environment)
    if code != 0:
        raise SectionFailed("{}: exit code {}".format(" ".join(argv), code))


def status(argv: List[str], environment: Optional[Dict[str, str]] = None, quiet: bool = False) -> int:
    output = subprocess.DEVNULL if quiet else None
    try:
        return subprocess.call(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment)
    except OSError as exc:
        raise SectionFailed("{}: {}".format(argv[0], exc.strerror)) from exc


def ask(argv: List[str]) -> Said:
    """Run a tool that answers on standard output, in English whatever the machine speaks."""
    environment = dict(os.environ, LC_ALL="C")
    try:
        done = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        said, _ = done.communicate()
    except OSError as exc:
        raise SectionFailed("{}: {}".format(argv[0], exc.strerror)) from exc
    return Said(done.returncode, said.decode("utf-8", "replace"))


def need(name: str, hint: str) -> None:
    """Raises SectionFailed, with how to get it, where this machine does not have the tool."""
    if shutil.which(name) is None:
        raise SectionFailed("{} is not installed on this machine ({})".format(name, hint))
