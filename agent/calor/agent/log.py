"""The agent's log: on the console and in a file that cannot fill the disk."""

import logging
import os
import sys
from typing import List

MAX_BYTES = 1024 * 1024


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


def set_up(path: str, verbose: bool) -> None:
    logging.raiseExceptions = False  # a full disk must not flood the console
    root = logging.getLogger()
    root.setLevel(logging.DEBUG if verbose else logging.INFO)
    form = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handlers: List[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    try:
        handlers.append(BoundedFile(path))
    except OSError as exc:
        sys.stderr.write("calor-agent: no log file: {}\n".format(exc))
    for handler in handlers:
        handler.setFormatter(form)
        root.addHandler(handler)
