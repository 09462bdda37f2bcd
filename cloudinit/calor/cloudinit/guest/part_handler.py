"""cloud-init's handler for text/x-cfninitdata: each such part becomes a file for the cfn tools and loguserdata.py."""

import datetime
import errno
import os

DIRECTORIES = ("/var/lib/heat-cfntools", "/var/lib/cloud/data")
LOG = "/var/log/part-handler.log"


def list_types():
    # type: () -> list[str]
    return ["text/x-cfninitdata"]


def handle_part(data, ctype, filename, payload):
    # type: (object, str, str, object) -> None
    """Called by cloud-init for each part, and with ``__begin__`` and ``__end__`` around them."""
    if ctype == "__begin__":
        make_directory(DIRECTORIES[0])
        return
    if ctype == "__end__":
        return
    content = payload if isinstance(payload, bytes) else str(payload).encode("utf-8", "surrogateescape")
    name = os.path.basename(filename)
    for directory in DIRECTORIES:
        make_directory(directory)
        write(os.path.join(directory, name), content)
    log("%s part %s: %d bytes" % (datetime.datetime.now().isoformat(), name, len(content)))


def make_directory(path):
    # type: (str) -> None
    try:
        os.makedirs(path, 0o700)
    except OSError as error:
        if error.errno != errno.EEXIST:
            raise


def write(path, content):
    # type: (str, bytes) -> None
    """Readable by root only: user-data and metadata may hold secrets."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    os.chmod(path, 0o600)


def log(line):
    # type: (str) -> None
    descriptor = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(line + "\n")
