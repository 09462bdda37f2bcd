"""The unmodified `openstack` client, run again and again without loading its modules again.

Nearly all of the 2.3 s of CPU that the client takes is Python reading its modules. This program reads them once and
then forks a process for each command line, which calls the client's own entry point with arguments, environment and
standard streams of its own. Each line on standard input is a JSON object: ``arguments``, ``environment``, ``stdout``
and ``stderr`` (the files to write to), ``limit`` (seconds after which SIGALRM ends it). The answer is a line with its
exit status, as `subprocess` has it.
"""

import contextlib
import io
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any


def loaded() -> Callable[[list[str]], int]:
    """The client's entry point, with all modules that it would load for any command."""
    from openstackclient import shell  # not before sys.argv is the client's: it takes its name from there

    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        shell.main(["help"])
    return shell.main


def become(client: Callable[[list[str]], int], order: dict[str, Any]) -> int:
    """In the child: be `openstack ARGUMENTS`, as started from a shell."""
    signal.alarm(order["limit"])
    os.environ.clear()
    os.environ.update(order["environment"])
    for name, number in (("stdout", 1), ("stderr", 2)):
        sink = os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(sink, number)
        os.close(sink)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())  # the orders are for the parent
    os.close(nothing)
    try:
        return int(client(order["arguments"]) or 0)
    except SystemExit as exc:
        return exc.code if isinstance(exc.code, int) else int(exc.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1


def serve(program: str) -> None:
    sys.argv = [program]
    client = loaded()
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            status = become(client, json.loads(line))
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
