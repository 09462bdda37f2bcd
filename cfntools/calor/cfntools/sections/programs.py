"""Running the machine's own tools for a section."""

import subprocess
from typing import Dict, List, Optional

from calor.cfntools.sections.contract import SectionFailed


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
