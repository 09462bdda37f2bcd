"""One worker process: does the work it is sent, within limits of the operating system (see `workers`).

Run as `python -m calor.server.engine.workers.worker CPU_SECONDS MEMORY_BYTES [MODULE:FUNCTION]`. On its standard input
and output each message is a length of four bytes and a pickle: (function, arguments) comes in, (outcome, value) goes
out.
The function that is named is called once, before the first message is read: it may take rights from the process.
"""

import enum
import importlib
import os
import pickle
import resource
import struct
import sys
from typing import Any, BinaryIO

LENGTH = struct.Struct(">I")


class Outcome(enum.Enum):
    """What became of one piece of work."""

    DONE = "done"
    RAISED = "raised"
    OUT_OF_MEMORY = "out of memory"


def packed(message: Any) -> bytes:
    body = pickle.dumps(message)
    return LENGTH.pack(len(body)) + body


def unpacked(body: bytes) -> Any:
    return pickle.loads(body)  # noqa: S301  # the two ends are the server and a process that it started


def _next(source: BinaryIO) -> Any:
    """The next message; None at the end."""
    head = source.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    return unpacked(source.read(LENGTH.unpack(head)[0]))


def _renew_cpu(seconds: int) -> None:
    """The limit counts a process's whole life: each piece of work has its own share."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds + 1, most))


def _outcome(function: Any, arguments: tuple[Any, ...]) -> bytes:
    try:
        return packed((Outcome.DONE.value, function(*arguments)))
    except MemoryError:
        return packed((Outcome.OUT_OF_MEMORY.value, None))
    except Exception as error:  # the outermost frame: it is raised again in the server
        return packed((Outcome.RAISED.value, error))


def main() -> None:
    cpu_seconds, memory = int(sys.argv[1]), int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that prints can break the protocol
    for preparation in sys.argv[3:]:
        module, _, name = preparation.partition(":")
        getattr(importlib.import_module(module), name)()
    while (message := _next(sys.stdin.buffer)) is not None:
        _renew_cpu(cpu_seconds)
        answers.write(_outcome(*message))
        answers.flush()


if __name__ == "__main__":
    main()
