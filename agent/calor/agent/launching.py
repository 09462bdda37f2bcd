"""How this agent starts another process of itself, from an installed package, a checkout or a ``.pyz`` alike."""

import os
import subprocess
import sys
from typing import List, Mapping

import calor.agent
import calor.cfntools
from calor.agent.attempts import Attempt
from calor.agent.runs import Run

BOOT = (
    "import sys; sys.path[:0] = sys.argv[1].split(':'); del sys.argv[1]; "
    "import calor.agent.__main__ as agent; sys.exit(agent.main())"
)


def command(*arguments: str) -> List[str]:
    """The command line for ``calor-agent ARGUMENTS`` by this interpreter, without site packages or user settings."""
    roots = []
    for package in (calor.agent, calor.cfntools):
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(str(package.__file__)))))
        if root not in roots:
            roots.append(root)
    return [sys.executable or "python3", "-I", "-S", "-c", BOOT, ":".join(roots), *list(arguments)]


def supervise(environment: Mapping[str, str], run: Run, attempt: Attempt) -> None:
    """Start a supervisor and wait until it stands on its own (milliseconds)."""
    with open(os.path.join(attempt.directory, "supervisor.log"), "ab") as log:
        subprocess.Popen(
            [*command("supervise"), run.directory, attempt.directory],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            cwd="/",
            env=dict(environment),
            start_new_session=True,
        ).wait()
