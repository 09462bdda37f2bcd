"""What a tool says: on its standard streams, and in its log file as heat-cfntools keeps one."""

import os
import sys
import time
from typing import Optional


class Narrator:
    """``tool`` is the name in front of warnings and of ``/var/log/TOOL.log``; where that cannot be written (nobody but
    root may), the streams have to do."""

    def __init__(self, tool: str, root: str = "/", verbose: bool = False) -> None:
        self._tool = tool
        self._path: Optional[str] = os.path.join(root, "var/log", tool + ".log")
        self._verbose = verbose

    def say(self, line: str) -> None:
        """One line on standard output, at once: what is run next may print, too."""
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
        self._log(line)

    def detail(self, line: str) -> None:
        """As ``say``, but shown with ``--verbose`` only."""
        if self._verbose:
            self.say(line)
        else:
            self._log(line)

    def warn(self, line: str) -> None:
        """One line on standard error with the tool's name."""
        sys.stderr.write("{}: {}\n".format(self._tool, line))
        sys.stderr.flush()
        self._log("warning: " + line)

    def fail(self, reason: object) -> int:
        """The one line that says why the tool failed; the exit code 1."""
        self.warn(" ".join(str(reason).split()))
        return 1

    def _log(self, line: str) -> None:
        if self._path is None:
            return
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        try:
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError:
            self._path = None
            return
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as target:
            target.write("{} {}\n".format(stamp, line))
