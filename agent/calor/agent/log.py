"""The agent's log: on standard error, in a file that cannot fill the disk, and what matters most on the console."""

import logging
import os
import sys
from typing import List

MAX_BYTES = 1024 * 1024
CONSOLE = {"on_console": True}
"""``extra`` of what keeps this instance from its work: of one that cannot be reached only the console can be read."""


class BoundedFile(logging.Handler):
    """Appends to ``path``; beyond ``MAX_BYTES`` the file becomes ``path.1`` and a new one is begun."""

    def __init__(self, path: str) -> None:
        super(BoundedFile, self).__init__()
        self._path = path
        os.makedirs(os.path.dirname(path), exist_ok=True)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            data = (self.format(record) + "\n").encode("utf-8", "replace")
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(handle, data)
                full = os.fstat(handle).st_size > MAX_BYTES
            finally:
                os.close(handle)
            if full:
                os.replace(self._path, self._path + ".1")
        except OSError:
            self.handleError(record)


class Console(logging.Handler):
    """Writes what is meant for it to the machine's console, where there is one."""

    def __init__(self, path: str) -> None:
        super(Console, self).__init__()
        self._path = path

    def filter(self, record: logging.LogRecord) -> bool:
        return bool(getattr(record, "on_console", False))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            console = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError:
            return
        try:
            os.write(console, ("calor: " + record.getMessage() + "\n").encode("utf-8", "replace"))
        except OSError:
            self.handleError(record)
        finally:
            os.close(console)


def set_up(path: str, console: str, verbose: bool) -> None:
    logging.raiseExceptions = False  # a full disk must not flood the console
    root = logging.getLogger()
    root.setLevel(logging.DEBUG if verbose else logging.INFO)
    form = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handlers: List[logging.Handler] = [logging.StreamHandler(sys.stderr), Console(console)]
    try:
        handlers.append(BoundedFile(path))
    except OSError as exc:
        sys.stderr.write("calor-agent: no log file: {}\n".format(exc))
    for handler in handlers:
        handler.setFormatter(form)
        root.addHandler(handler)
