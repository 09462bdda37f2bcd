"""How this agent starts another process of itself, from an installed package, a checkout or a ``.pyz`` alike."""

import os
import sys
from typing import List

import calor.agent
import calor.cfntools

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
